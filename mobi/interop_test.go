package mobi

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/adler32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
)

// referenceContainer builds a file of the reference writer, field by field: a header
// of 30 bytes, a total without the footer, a count before the tensors, and a checksum
// over four bytes too few.
func referenceContainer(name string, records ...[]byte) []byte {
	le := binary.LittleEndian
	meta := append(le.AppendUint32(nil, uint32(len(name))), name...)
	meta = le.AppendUint32(meta, 1)
	meta = le.AppendUint64(meta, 1_800_000_000)
	meta = le.AppendUint64(meta, 0) // no inputs, no outputs
	tensors := append(le.AppendUint32(nil, uint32(len(records))), bytes.Join(records, nil)...)
	graph := le.AppendUint32(nil, 0)
	tensorAt := 30 + len(meta)
	graphAt := tensorAt + len(tensors)
	b := le.AppendUint16([]byte("IBOM"), 1)
	for _, v := range []int{0, 0, graphAt + len(graph), 30, tensorAt, graphAt} {
		b = le.AppendUint32(b, uint32(v))
	}
	b = bytes.Join([][]byte{b, meta, tensors, graph}, nil)
	return le.AppendUint32(b, adler32.Checksum(b[:len(b)-4]))
}

// TestReferenceContainer checks that a file of the reference writer is refused with
// an error that identifies it.
func TestReferenceContainer(t *testing.T) {
	files := map[string][]byte{
		"empty":     referenceContainer(""),
		"constants": referenceContainer("m", recordOf(0, 0, []uint64{2}, f32s(1, 2)), recordOf(1, 2, []uint64{3}, []byte{1, 2, 3})),
	}
	shared, _ := filepath.Glob("../../shared/interop/mobi/reject/*.mobi")
	for _, path := range shared {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = b
	}
	for what, b := range files {
		for _, check := range []format.Check{format.CheckDefault, format.CheckStructure, format.CheckAll} {
			_, err := OpenBytes(b, &format.Options{Check: check})
			wantError(t, err, format.ErrUnsupported, "header")
			if err != nil && !strings.Contains(err.Error(), "MobileModelWriter") {
				t.Errorf("%s: the error does not name the container: %v", what, err)
			}
		}
	}
}

// TestInterop reads the sections of the reference writer in the specification's
// container.
func TestInterop(t *testing.T) {
	files, _ := filepath.Glob("../../shared/interop/mobi/*.mobi")
	if len(files) == 0 {
		t.Skip("no files by other implementations here")
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) { readAsDescribed(t, path) })
	}
}

// described is the JSON description next to a file.
type described struct {
	Tensors []struct {
		ID     uint32
		DType  string
		Shape  []int64
		Stored int64
		NBytes int64
		SHA256 string
		Gzip   bool `json:"gzip_unflagged"`
	}
	Operators []struct {
		Type    OpType
		Inputs  []uint32
		Outputs []uint32
		Params  map[string]any
	}
}

func readAsDescribed(t *testing.T, path string) {
	text, err := os.ReadFile(strings.TrimSuffix(path, extension) + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var want described
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unflagged := 0
	if f.Len() != len(want.Tensors) {
		t.Errorf("%d constants, want %d", f.Len(), len(want.Tensors))
	}
	for _, w := range want.Tensors {
		v, _ := f.Constant(w.ID)
		b, err := v.Bytes()
		sum := sha256.Sum256(b)
		info := v.Info()
		if err != nil || hex.EncodeToString(sum[:]) != w.SHA256 || info.DType.String() != w.DType || info.Stored != w.Stored || info.Size != w.NBytes {
			t.Errorf("constant %d: %+v, %v, sum %x", w.ID, info, err, sum)
		}
		if d := cmp.Diff(w.Shape, []int64(info.Shape)); d != "" {
			t.Errorf("constant %d (-want +got)\n%s", w.ID, d)
		}
		if w.Gzip {
			unflagged++
		}
	}
	if note := fmt.Sprintf("constants compressed without the flag: %d", unflagged); slices.Contains(f.Notes(), note) != (unflagged > 0) {
		t.Errorf("notes %q, want %q", f.Notes(), note)
	}
	ops := f.Operators()
	if len(ops) != len(want.Operators) {
		t.Fatalf("%d operators, want %d", len(ops), len(want.Operators))
	}
	for i, w := range want.Operators {
		got := ops[i]
		if d := cmp.Diff([]any{w.Type, w.Inputs, w.Outputs}, []any{got.Type, got.Inputs, got.Outputs}); d != "" {
			t.Errorf("operator %d (-want +got)\n%s", i, d)
		}
		if len(got.Params) != len(w.Params) {
			t.Errorf("operator %d has %d parameters, want %d", i, len(got.Params), len(w.Params))
		}
	}
	if err := verify(t, f); err != nil {
		t.Error(err)
	}
}
