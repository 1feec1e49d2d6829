package inspect

import (
	"errors"
	"fmt"
	"os"

	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format/signing"
)

// signatureNotes describes the claimed signer in a signature file next to the model at path.
func signatureNotes(path string) []string {
	if path == modelfile.StandardInput {
		return nil
	}
	for _, name := range (&signing.Policy{}).Paths(path) {
		b, err := signing.Read(name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return []string{fmt.Sprintf("no usable signature: %v", err)}
		case b.Method() == signing.Key:
			return []string{fmt.Sprintf("%s: signed with the key of hint %s, not checked: verify -signature does", name, b.Signer())}
		}
		return []string{fmt.Sprintf("%s: signed with the certificate of %s, not checked: verify -signature does", name, b.Signer())}
	}
	return nil
}
