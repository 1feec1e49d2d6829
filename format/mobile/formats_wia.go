//go:build weightmap_wia

package mobile

import _ "github.com/weightmap/weightmap/wia"
