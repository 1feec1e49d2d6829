package hostile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

// small limits the time of an input.
func small(dir string) *format.Options {
	return &format.Options{Key: secret, Dir: dir, MaxMemory: 64 << 20}
}

const mostData = 1 << 22

// size returns the size of all tensors.
func size(m *format.Model) (n int64) {
	for _, v := range m.Tensors() {
		n += v.Info().Size
	}
	return n
}

// FuzzAgree: bytes, a mapped file, a file read on demand and a reader give the same verdict and data,
// with one worker or many.
func FuzzAgree(f *testing.F) {
	for _, s := range samples(f) {
		if b := s.bytes(0); b != nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "m")
		expect.OK(t, os.WriteFile(path, b, 0o666))
		o := small(dir)
		mapped, err := format.Open(path, o)
		held, heldErr := format.OpenBytes(b, o)
		remote, remoteErr := format.OpenReaderAt(bytes.NewReader(b), int64(len(b)), o)
		models := []*format.Model{mapped, held, remote}
		for _, err := range []error{err, heldErr, remoteErr} {
			if errors.Is(err, format.ErrLimit) {
				return // the readers count different things against the limits
			}
		}
		if (err == nil) != (heldErr == nil) || (err == nil) != (remoteErr == nil) {
			t.Fatalf("file: %v\nbytes: %v\nreader: %v", err, heldErr, remoteErr)
		}
		if err != nil {
			return
		}
		for _, m := range models {
			defer m.Close()
		}
		if size(mapped) > mostData {
			return
		}
		agree(t, models)
	})
}

// agree compares models of the same bytes.
func agree(t *testing.T, models []*format.Model) {
	t.Helper()
	_, first := models[0].Verify(t.Context(), &format.VerifyOptions{Workers: 1})
	for i, m := range models {
		_, err := m.Verify(t.Context(), &format.VerifyOptions{Workers: 4})
		if errors.Is(err, format.ErrLimit) || errors.Is(first, format.ErrLimit) {
			return
		}
		if (err == nil) != (first == nil) {
			t.Fatalf("Verify by one worker: %v, model %d by four: %v", first, i, err)
		}
		if m.Len() != models[0].Len() {
			t.Fatalf("%d tensors, model %d has %d", models[0].Len(), i, m.Len())
		}
	}
	for i := range models[0].Len() {
		want, err := models[0].At(i).Bytes()
		for k, m := range models[1:] {
			got, e := m.At(i).Bytes()
			if (err == nil) != (e == nil) || !bytes.Equal(got, want) {
				t.Fatalf("tensor %d: %d bytes, %v; model %d: %d bytes, %v", i, len(want), err, k+1, len(got), e)
			}
		}
	}
}
