package gguf

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	_ "github.com/weightmap/weightmap/format/onnx"
	_ "github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	_ "github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/tensor"
)

// unlisted are tensors of types whose size is written down nowhere, between others.
func unlisted() []info {
	return []info{
		{name: "new", dims: []uint64{5}, typ: 99, data: bytes.Repeat([]byte{9}, 64)},
		{name: "old", dims: []uint64{32}, typ: 4, data: bytes.Repeat([]byte{4}, 32)},
		{name: "known", dims: []uint64{2}, typ: 0, data: floats(2)},
		{name: "last", dims: []uint64{7, 2}, typ: 300, data: []byte("the last has no padding")},
	}
}

// TestCopy: a copy has every value with its type, and every tensor of a type that is not known, byte for byte.
func TestCopy(t *testing.T) {
	f := fields{magic: "GGUF", version: 3, tensors: unlisted(), unpadded: true}
	for _, v := range values {
		f.entries = append(f.entries, kv{v.name, v.typ, v.value})
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.gguf"), filepath.Join(dir, "out.gguf")
	expect.OK(t, os.WriteFile(in, f.bytes(), 0o666))
	if _, err := convert.File(t.Context(), in, out, nil); err != nil {
		t.Fatal(err)
	}
	got := expect.Read(t, out)
	expect.Equal(t, f.bytes(), got)
	for _, to := range []string{"safetensors", "mag", "onnx"} {
		_, err := convert.File(t.Context(), in, filepath.Join(dir, "x."+to), &convert.Options{Lossy: true})
		if !errors.Is(err, format.ErrUnsupported) || !strings.Contains(err.Error(), "type 99") {
			t.Errorf("to %s: %v", to, err)
		}
	}
}

// TestCopyChanged: what changed in a schema is written as it is there, what did not as it was in the file, and
// a Native that no file has is of no use.
func TestCopyChanged(t *testing.T) {
	f := fields{magic: "GGUF", version: 3, entries: []kv{
		{"same", 0, []byte{7}}, {"other", 0, []byte{7}}, {"list", 9, arr(0, []byte{1})}, {"nan", 6, le32(0x7fc00001)},
	}}
	m := open(t, f.bytes())
	p, err := m.Schema()
	expect.OK(t, err)
	p.Metadata[1].Value, p.Metadata[2].Value = int64(8), json.RawMessage("[2]")
	again := open(t, write(t, p, nil, nil))
	want := schema.Metadata{{Key: "same", Value: uint8(7)}, {Key: "other", Value: uint32(8)}, {Key: "list", Value: []int32{2}}}
	expect.Equal(t, want, expect.Got(t, again.Typed)[:3])
	whole := p.Native.Raw
	for n := range len(whole) {
		p.Native = &schema.Native{Format: formatName, Raw: whole[:n]}
		open(t, write(t, p, nil, nil)).Close()
	}
	p.Tensors = []tensor.Info{{Name: "t", Shape: tensor.Shape{3}, Encoding: &tensor.Encoding{Name: "type 99"}}}
	expect.Refused(t, format.ErrUnsupported, "elements without bytes")(newWriter(new(bytes.Buffer), p, nil))
	p.Tensors[0].Size, p.Native = 3, nil
	expect.Refused(t, format.ErrUnsupported, "a type that is not known, of no file")(newWriter(new(bytes.Buffer), p, nil))
}

// TestArraysLimited: arrays become no more values and text than Options.MaxMemory has room for.
func TestArraysLimited(t *testing.T) {
	for _, tt := range []struct {
		name string
		elem []byte
		typ  uint32
		most int64 // for each byte of the file
		room bool  // for the array
	}{{"numbers", []byte{200}, 0, 4, false}, {"escapes", str(strings.Repeat("\x01", 40)), 8, 4, false}, {"strings", str(""), 8, 8, true}} {
		t.Run(tt.name, func(t *testing.T) {
			value := cat(le32(tt.typ), le64(100_000), bytes.Repeat(tt.elem, 100_000))
			b := fields{magic: "GGUF", version: 3, entries: []kv{{"k", 9, value}}}.bytes()
			m, err := openBytes(b, &format.Options{MaxMemory: tt.most * int64(len(b))})
			expect.OK(t, err)
			defer m.Close()
			var want error
			if !tt.room {
				want = format.ErrLimit
			}
			typed, err := m.Typed()
			meta, neutral := m.Metadata()
			_, schemaErr := m.Schema()
			for what, err := range map[string]error{"Typed": err, "Metadata": neutral, "Schema": schemaErr} {
				expect.Refused(t, want, what)(nil, err)
			}
			if tt.room != (len(typed) == 1) || tt.room != (len(meta) == 1) {
				t.Errorf("%d and %d entries", len(typed), len(meta))
			}
		})
	}
}

// TestSharedUnknown is cases/attack/gguf-shared-unknown.gguf: two tensors of types that are not known, at one offset, with 8 bytes
// to the end of the file. A copy would read more of one of them, so it is refused. One such tensor is written behind the others.
func TestSharedUnknown(t *testing.T) {
	at := ptr(uint64(64))
	shared := []info{
		{name: "new", dims: []uint64{10, 2}, typ: 99, data: repeated(40)},
		{name: "none", dims: []uint64{1 << 41}, typ: math.MaxUint32, offset: at},
		{name: "last", dims: []uint64{7}, typ: 5, offset: at, data: repeated(8)},
	}
	dir := t.TempDir()
	for _, tt := range []struct {
		name    string
		tensors []info
		want    error
		sizes   []int64
	}{
		{"two", shared, format.ErrUnsupported, nil},
		{"one, not described last", []info{
			{name: "none", dims: []uint64{7}, typ: 99, offset: ptr(uint64(32))},
			{name: "known", dims: []uint64{8}, typ: 24, data: repeated(8), offset: ptr(uint64(0))},
			{name: "end", dims: []uint64{0}, typ: 24},
		}, nil, []int64{8, 8, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fields{magic: "GGUF", version: 3, tensors: tt.tensors, unpadded: true}
			b := f.bytes()
			if tt.want == nil {
				b = append(f.header(), make([]byte, up(len(f.header()), 32)-len(f.header()))...)
				b = cat(b, repeated(8), make([]byte, 24), []byte("ABCDEFGH"))
			}
			in, out := filepath.Join(dir, "in.gguf"), filepath.Join(dir, "out.gguf")
			expect.OK(t, os.WriteFile(in, b, 0o666))
			_, err := convert.File(t.Context(), in, out, &convert.Options{Lossy: true})
			if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			m := open(t, expect.Read(t, out))
			var sizes []int64
			for _, v := range m.Tensors() {
				sizes = append(sizes, v.Size())
			}
			expect.Equal(t, tt.sizes, sizes)
			got, err := m.At(0).Bytes()
			expect.OK(t, err)
			expect.Equal(t, "ABCDEFGH", string(got))
		})
	}
}
