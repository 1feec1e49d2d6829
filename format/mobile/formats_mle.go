//go:build weightmap_mle

package mobile

import _ "github.com/weightmap/weightmap/mle"
