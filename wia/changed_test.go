package wia

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// use calls every method of a file that may have changed since it was opened.
// Data may be wrong, but each tensor has its size, and nothing panics.
func use(t *testing.T, f *File) {
	t.Helper()
	for name, v := range f.Tensors() {
		b, err := v.Bytes()
		if err == nil && int64(len(b)) != v.Info().Size {
			t.Fatalf("%s: %d bytes, want %d", name, len(b), v.Info().Size)
		}
		_, _ = tensor.Decode[float32](nil, v)
		_, _ = f.TensorMessage(name)
	}
	_ = verify(f)
	f.Metadata()
	if _, err := f.Graph(); err != nil {
		t.Fatalf("the graph was checked on open: %v", err)
	}
	_ = rewriteTo(io.Discard, f, &WriteOptions{WriteOptions: format.WriteOptions{Spool: format.SpoolMemory}})
}

// TestChangedWhileOpen checks that a file whose bytes change while it is open
// gives an error or other data, never a panic or a slice of another length.
// Structure is not read again.
func TestChangedWhileOpen(t *testing.T) {
	for name, c := range map[string]container{"small": small(), "odd": odd()} {
		t.Run(name, func(t *testing.T) {
			good := c.bytes()
			want, err := mustOpen(t, good, nil).GraphMessage()
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(good); i += 1 + len(good)/300 {
				b := bytes.Clone(good)
				f := mustOpen(t, b, nil)
				b[i] ^= 0xff
				use(t, f)
				got, err := f.GraphMessage()
				if d := cmp.Diff(want, got); d != "" || err != nil {
					t.Fatalf("byte %d: the graph changed: %v %s", i, err, d)
				}
				f.Close()
			}
			r := rand.New(rand.NewPCG(1, 2))
			for range 50 {
				b := bytes.Clone(good)
				f := mustOpen(t, b, nil)
				for i := range b {
					b[i] = byte(r.Uint32())
				}
				use(t, f)
				f.Close()
			}
		})
	}
}

// TestZeroFile checks that the methods of a zero File return ErrClosed or zero.
func TestZeroFile(t *testing.T) {
	f := &File{}
	for what, call := range map[string]func() error{
		"GraphMessage":  func() error { _, err := f.GraphMessage(); return err },
		"TensorMessage": func() error { _, err := f.TensorMessage("w"); return err },
		"Verify":        func() error { return verify(f) },
	} {
		if err := call(); !errors.Is(err, format.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if f.Compression() != None || f.Encrypted() || f.External("w") || f.OperatorSets() != nil || f.IRVersion() != 0 {
		t.Error("a file of nothing says something")
	}
}

// TestTensorMessageOfAnother checks that TensorMessage fails if the record has
// become that of another tensor.
func TestTensorMessageOfAnother(t *testing.T) {
	b := small().bytes()
	f := mustOpen(t, b, nil)
	copy(b[f.f.hdr.blocks[tensorBlock].off:], bytes.Replace(tensorBlockOf(t, f), []byte("\x0a\x01w"), []byte("\x0a\x01v"), 1))
	for name, want := range map[string]error{"w": tensor.ErrCorrupt, "none": format.ErrNotFound} {
		if _, err := f.TensorMessage(name); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
