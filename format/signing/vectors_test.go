package signing

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// foreign has the specification's test vectors and bundles of the reference implementation.
const foreign = "../../../shared/foreign/oms"

// TestForeign verifies the vectors of the specification and the bundles of the reference
// implementation.
func TestForeign(t *testing.T) {
	if _, err := os.Stat(foreign); err != nil {
		t.Skip("no bundles of others:", err)
	}
	in := func(name string) string { return filepath.Join(foreign, name) }
	key, err := ReadTrust(in("signing-key-pub.pem"))
	must(t, err)
	ca, err := ReadTrust(in("ca-cert.pem"))
	must(t, err)
	// The certificates of the reference implementation are valid from 2025 to 2035.
	ca.Time = at2025.AddDate(1, 0, 0)
	sig := &Options{Ignore: []string{"model.sig"}}
	byKey, byCert := in("v1.1.0-elliptic-key"), in("v1.1.0-certificate")
	for _, test := range []struct {
		bundle, model string
		trust         *Trust
		o             *Options
		want          error
	}{
		{"v1.1.0-elliptic-key/model.sig", byKey, key, nil, nil},
		{"v1.1.0-elliptic-key/model.sig", byKey, ca, nil, format.ErrSignature},
		{"v1.1.0-elliptic-key/model.sig", byCert, key, nil, format.ErrChecksum},
		{"v1.1.0-certificate/model.sig", byCert, ca, nil, nil},
		{"v1.1.0-certificate/model.sig", byCert, key, nil, format.ErrSignature},
		{"v1.1.0-certificate/model.sig", byCert, &Trust{Roots: ca.Roots, Time: at2025}, nil, format.ErrSignature},
		{"v1.1.0-certificate/model.sig", byKey, ca, nil, format.ErrChecksum},
		{"vector-valid-key.json", byKey, key, sig, nil},
		{"vector-valid-key.json", byKey, key, nil, format.ErrSignature}, // model.sig is not listed
		{"vector-valid-certificate.json", byKey, ca, sig, nil},
		{"vector-invalid-payload-wrong-predicate.json", byKey, key, sig, format.ErrSignature},
	} {
		b, err := Read(in(test.bundle))
		must(t, err)
		if _, err := Verify(context.Background(), b, test.model, test.trust, test.o); !errors.Is(err, test.want) {
			t.Errorf("%s of %s: %v, want %v", test.bundle, test.model, err, test.want)
		}
	}
	for _, name := range []string{"empty", "missing-envelope", "missing-tlog-entries", "missing-verification-material"} {
		if _, err := Read(in("vector-invalid-" + name + ".json")); !errors.Is(err, format.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
