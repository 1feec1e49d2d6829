package mle

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// forgery is a reader that returns each byte of one file on its first read, and of another
// file afterwards.
type forgery struct {
	first, then []byte
	shown       []bool
}

func (r *forgery) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, r.then[off:])
	for i := range p[:n] {
		if k := int(off) + i; !r.shown[k] {
			r.shown[k], p[i] = true, r.first[k]
		}
	}
	return n, nil
}

// TestSignedIsWhatWasParsed checks that a file that changes between parsing and hashing
// fails verification, even if every checksum matches.
func TestSignedIsWhatWasParsed(t *testing.T) {
	signed := written(t, mixedPlan(), &WriteOptions{Signer: testSigner})
	forged := bytes.Clone(signed)
	at := bytes.Index(forged, []byte(`"tensor_names":["`)) + len(`"tensor_names":["`)
	forged[at] = 'Q'
	fixSums(forged)
	open := func(first []byte, o *format.Options) (*File, error) {
		return OpenReaderAt(&forgery{first, signed, make([]bool, len(signed))}, int64(len(signed)), o)
	}
	o := &format.Options{Trusted: trusted(testSigner)}
	if f, err := open(signed, o); err != nil {
		t.Fatal(err)
	} else {
		f.Close()
	}
	if _, err := open(forged, o); !errors.Is(err, format.ErrSignature) {
		t.Errorf("forged: %v", err)
	}
	f, err := open(forged, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if status, err := f.CheckSignature(t.Context(), trusted(testSigner)); status != Tampered || err != nil {
		t.Errorf("CheckSignature: %v, %v", status, err)
	}
}
