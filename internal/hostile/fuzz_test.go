package hostile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// small keeps inputs from taking long, not from being tried.
func small(dir string) *format.Options {
	return &format.Options{Key: secret, Dir: dir, MaxMemory: 64 << 20}
}

const mostData = 1 << 22

// size is what all tensors take together.
func size(m *format.Model) (n int64) {
	for _, v := range m.Tensors() {
		n += v.Info().Size
	}
	return n
}

// FuzzAgree: bytes, a mapped file, one that is read on demand and a reader give the same verdict and the same data,
// one worker finds what many find. With fix, checksums are made right before, so that
// mutations get beyond them.
func FuzzAgree(f *testing.F) {
	for _, s := range samples(f) {
		if b := s.bytes(0); b != nil {
			f.Add(b, true)
			f.Add(b, false)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		if fix {
			b = fixed(b)
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "m")
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		o := small(dir)
		mapped, err := format.Open(path, o)
		held, heldErr := format.OpenBytes(b, o)
		remote, remoteErr := format.OpenReaderAt(bytes.NewReader(b), int64(len(b)), o)
		models := []*format.Model{mapped, held, remote}
		for _, err := range []error{err, heldErr, remoteErr} {
			if errors.Is(err, format.ErrLimit) {
				return // what counts for limits differs
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
	_, first := models[0].Verify(t.Context(), format.WithWorkers(1))
	for i, m := range models {
		_, err := m.Verify(t.Context(), format.WithWorkers(4))
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

// FuzzChanged changes a mapped file between calls, or all the time from another
// goroutine. Nothing panics, and what is handed out is as long as it should be.
func FuzzChanged(f *testing.F) {
	for i, s := range samples(f) {
		if b := s.bytes(i % 2); b != nil {
			f.Add(b, []byte{1, 0, 16, 255, 2, 0, 40, 3, 3, 1, 0, 128, 4, 0, 4, 1, 5, 0, 90, 7, 6, 2, 0, 9}, i%3 == 0)
			f.Add(b, []byte{4, 0, 200, 255, 7, 0, 0, 0, 4, 1, 1, 1}, i%3 == 1)
		}
	}
	f.Fuzz(func(t *testing.T, b, script []byte, background bool) {
		if len(b) == 0 || len(b) > 1<<16 || len(script) > 256 {
			return
		}
		path := filepath.Join(t.TempDir(), "m")
		if err := os.WriteFile(path, fixed(b), 0o666); err != nil {
			t.Fatal(err)
		}
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		m, err := format.Open(path, small(filepath.Dir(path)))
		if err != nil {
			return
		}
		defer m.Close()
		if size(m) > mostData {
			return
		}
		flip := func(op []byte) {
			at := (int(op[1])<<8 | int(op[2])) % len(b)
			_, _ = file.WriteAt([]byte{b[at] ^ op[3]}, int64(at))
		}
		if background {
			stop, all := make(chan struct{}), script
			var at sync.WaitGroup
			at.Go(func() {
				for s := all; len(all) >= 4; s = s[4:] {
					select {
					case <-stop:
						return
					default:
					}
					if len(s) < 4 {
						s = all
					}
					flip(s)
				}
			})
			defer at.Wait()
			defer close(stop)
		}
		for ; len(script) >= 4; script = script[4:] {
			if !background {
				flip(script)
			}
			call(t, m, script[0])
			if script[0]%16 == 7 && testhost.Cuts() == "" {
				_ = file.Truncate(int64(script[3]) << 8)
			}
		}
	})
}

// call does one of the things that can be done with a model.
func call(t *testing.T, m *format.Model, which byte) {
	switch which % 8 {
	case 0, 1:
		_, _ = m.Verify(t.Context(), format.WithWorkers(1+int(which)%2))
	case 2:
		_, _ = m.Graph()
	case 3:
		_, _, _ = m.Metadata(), m.Notes(), m.Signature()
	case 4, 5:
		for name, v := range m.Tensors() {
			c, err := v.Clone()
			if err != nil {
				continue
			}
			if got, err := c.Bytes(); err != nil || int64(len(got)) != v.Info().Size {
				t.Fatalf("%q: %d bytes of %d, %v", name, len(got), v.Info().Size, err)
			}
		}
	case 6, 7:
		for _, v := range m.Tensors() {
			_, _ = tensor.Decode[float32](nil, v)
		}
	}
}
