//go:build (weightmap_mobi || weightmap_mag || weightmap_tsr || weightmap_safetensors || weightmap_gguf || weightmap_npy || weightmap_onnx) && !weightmap_mle && !weightmap_wia

package mobile

import (
	"crypto"
	"fmt"

	"github.com/weightmap/weightmap/format"
)

// parseKey refuses keys: no linked format has signatures, and code that parses keys takes half a
// megabyte.
func parseKey([]byte) (crypto.PublicKey, error) {
	return nil, fmt.Errorf("%w: no format in this app has signatures", format.ErrSignature)
}

func fingerprint(crypto.PublicKey) string { return "" }
