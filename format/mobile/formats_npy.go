//go:build weightmap_npy

package mobile

import _ "github.com/weightmap/weightmap/format/npy"
