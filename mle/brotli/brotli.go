// Package brotli lets mle write Brotli. Import it for its side effect:
//
//	import _ "github.com/weightmap/weightmap/mle/brotli"
//
// Files compressed with Brotli are read without it. The library that compresses
// imports net/http, which makes a program some megabytes larger; so programs
// that only read, phones' above all, are spared it.
package brotli

import (
	"io"

	"github.com/andybalholm/brotli"
	codec "github.com/weightmap/weightmap/internal/codec/brotli"
)

// quality maps levels. Qualities 0 and 1 are left out: their output depends on
// how the input is cut into writes.
var quality = [10]int{1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 6: 7, 7: 8, 8: 9, 9: 11}

func init() {
	codec.Register(func(w io.Writer, level int) io.WriteCloser {
		return brotli.NewWriterLevel(w, quality[level])
	})
}
