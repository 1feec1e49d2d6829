//go:build weightmap_mle || weightmap_wia || (!weightmap_mobi && !weightmap_mag && !weightmap_tsr && !weightmap_safetensors && !weightmap_gguf && !weightmap_npy && !weightmap_onnx)

package mobile

import (
	"crypto"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/keys"
)

func init() { parseKey, fingerprint = parsePublicKey, fingerprintOf }

// parsePublicKey reads a PKIX public key, DER or PEM.
func parsePublicKey(b []byte) (crypto.PublicKey, error) {
	key, err := keys.ParseAny(b)
	if err != nil { // its text is about x509's internals
		return nil, fmt.Errorf("%w: not a public key (PKIX, DER or PEM)", format.ErrKey)
	}
	return key, nil
}

// fingerprintOf returns "SHA256:..." of a key, and "" for nil.
func fingerprintOf(key crypto.PublicKey) string {
	text, err := keys.Fingerprint(key)
	if err != nil {
		return ""
	}
	return "SHA256:" + text
}
