//go:build weightmap_tsr

package mobile

import _ "github.com/weightmap/weightmap/tsr"
