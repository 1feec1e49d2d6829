//go:build weightmap_gguf

package mobile

import _ "github.com/weightmap/weightmap/format/gguf"
