//go:build weightmap_mag

package mobile

import _ "github.com/weightmap/weightmap/mag"
