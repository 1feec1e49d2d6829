package tsr

import (
	"context"
	"crypto/ed25519"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
)

func TestVerifyRefuses(t *testing.T) {
	f := three(t)
	defer f.Close()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		opt  format.VerifyOption
		want error
	}{
		{"canceled", canceled, format.WithWorkers(0), context.Canceled},
		{"trusted key", t.Context(), format.WithTrustedKey(ed25519.PublicKey(make([]byte, 32))), format.ErrSignature},
		{"no such tensor", t.Context(), format.WithTensors("a", "none"), format.ErrNotFound},
	} {
		if _, err := f.Verify(c.ctx, c.opt); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
