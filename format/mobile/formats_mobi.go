//go:build weightmap_mobi

package mobile

import _ "github.com/weightmap/weightmap/mobi"
