// Package brotli adds Brotli compression to package mle. Import it for its side
// effect:
//
//	import _ "github.com/weightmap/weightmap/mle/brotli"
//
// Package mle reads files compressed with Brotli without this import. The
// compressor imports net/http, which adds some megabytes to a program; keeping
// it separate spares programs that only read, such as mobile apps.
package brotli

import (
	"github.com/andybalholm/brotli"
	codecs "github.com/weightmap/weightmap/internal/codec"
	codec "github.com/weightmap/weightmap/internal/codec/brotli"
)

// quality maps levels to Brotli's qualities. Qualities 0 and 1 are not used:
// their output depends on how the input is split into writes.
var quality = [10]int{1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 6: 7, 7: 8, 8: 9, 9: 11}

type writers struct{}

func (writers) NewWriter(level int) (codecs.Writer, error) {
	return brotli.NewWriterLevel(nil, quality[level]), nil
}

func init() { codec.Register(writers{}) }
