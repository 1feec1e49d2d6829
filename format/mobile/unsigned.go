//go:build (weightmap_mobi || weightmap_mag || weightmap_tsr || weightmap_safetensors || weightmap_gguf || weightmap_npy || weightmap_onnx) && !weightmap_mle && !weightmap_wia

package mobile

import (
	"crypto"
	"fmt"

	"github.com/weightmap/weightmap/format"
)

// parseKey refuses keys: nothing that was bound can be signed, and what reads keys is
// half a megabyte.
func parseKey([]byte) (crypto.PublicKey, error) {
	return nil, fmt.Errorf("%w: of the formats in this app none has signatures", format.ErrSignature)
}

func fingerprint(crypto.PublicKey) string { return "" }
