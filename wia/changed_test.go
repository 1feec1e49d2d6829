package wia

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

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
