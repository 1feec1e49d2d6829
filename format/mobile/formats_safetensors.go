//go:build weightmap_safetensors

package mobile

import _ "github.com/weightmap/weightmap/format/safetensors"
