package npy

import (
	stdzip "archive/zip"
	"bytes"
	gocmp "cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/zip"
	"github.com/weightmap/weightmap/tensor"
)

// TestWrittenBytes compares a written file with what the format demands.
func TestWrittenBytes(t *testing.T) {
	var out bytes.Buffer
	w, err := newWriter(&out, &schema.Schema{Tensors: []tensor.Info{{Name: "any", DType: tensor.Float32, Shape: tensor.Shape{2, 3}}}}, &format.WriteOptions{Spool: format.SpoolNever})
	finish(t, w, err, map[string][]byte{"any": floats(6)})
	text := "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
	want := append([]byte("\x93NUMPY\x01\x00\x76\x00"+text+strings.Repeat(" ", 117-len(text))+"\n"), floats(6)...)
	expect.Equal(t, string(want), out.String())
}

// sparse is a reader of a file of which only some parts, in ascending order, are not zero. Later ones
// replace earlier ones.
type sparse struct {
	parts []driver.Part
	size  int64
}

func (s *sparse) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	i, _ := slices.BinarySearchFunc(s.parts, off, func(p driver.Part, off int64) int { return gocmp.Compare(p.Offset, off) })
	for _, part := range s.parts[max(0, i-3):] {
		if part.Offset >= off+int64(len(p)) {
			break
		}
		from, to := max(off, part.Offset), min(off+int64(len(p)), part.Offset+int64(len(part.Bytes)))
		if from < to {
			copy(p[from-off:to-off], part.Bytes[from-part.Offset:])
		}
	}
	if off+int64(len(p)) > s.size {
		return int(max(0, s.size-off)), io.EOF
	}
	return len(p), nil
}

// TestLarge writes the layout of archives beyond what 16 and 32 bits hold, and has two readers look
// at it.
func TestLarge(t *testing.T) {
	for name, dims := range map[string][]int64{
		"large array":       {5 << 30, 3},
		"large offset":      {3 << 30, 3 << 30, 3},
		"both":              {5 << 40, 6 << 30, 3},
		"at the limit":      {math.MaxUint32 - 128, math.MaxUint32 - 129, 1},
		"65,534 arrays":     make([]int64, 1<<16-2),
		"65,535 arrays":     make([]int64, 1<<16-1),
		"more than 16 bits": make([]int64, 1<<16),
	} {
		t.Run(name, func(t *testing.T) {
			p := &schema.Schema{}
			for i, d := range dims {
				p.Tensors = append(p.Tensors, tensor.Info{Name: fmt.Sprint("t", i), DType: tensor.Int8, Shape: tensor.Shape{d}, Size: d})
			}
			l, err := archiveFormat{}.Layout(p, nil)
			expect.OK(t, err)
			late, err := l.Late(make([]uint64, len(dims)))
			expect.OK(t, err)
			parts := append(l.Parts, late...)
			slices.SortStableFunc(parts, func(a, b driver.Part) int { return gocmp.Compare(a.Offset, b.Offset) })
			src := &sparse{parts, l.Size}
			m, err := openReaderAt(src, l.Size, nil)
			expect.OK(t, err)
			defer m.Close()
			z, err := stdzip.NewReader(src, l.Size)
			if err != nil || len(z.File) != len(dims) || m.Len() != len(dims) {
				t.Fatal(len(z.File), m.Len(), err)
			}
			for i, d := range dims[:min(len(dims), 3)] {
				info := m.At(i).Info()
				at, err := z.File[i].DataOffset()
				if info.Size != d || info.Offset != l.Offsets[i] || info.Offset%64 != 0 || err != nil || at+128 != info.Offset || z.File[i].UncompressedSize64 != uint64(d)+128 {
					t.Errorf("%+v, %d, %v, %+v", info, at, err, z.File[i])
				}
			}
		})
	}
}

// TestDirectoryLimit: a directory larger than the limit is refused before any entry is read.
func TestDirectoryLimit(t *testing.T) {
	const from, size = 30, driver.MaxStructure + 1
	var end wire.Buffer
	end.Str(zip.EndMagic)
	end.U32(0) // disks
	end.U16(1)
	end.U16(1)
	end.U32(size)
	end.U32(from)
	end.U16(0)
	src := &sparse{[]driver.Part{{Bytes: []byte(zip.LocalMagic)}, {Offset: from + size, Bytes: end}}, from + size + int64(len(end))}
	var e *tensor.Error
	_, err := openReaderAt(src, src.size, nil)
	if !errors.Is(err, format.ErrLimit) || !errors.As(err, &e) || e.Field != "directory" || e.Offset != from {
		t.Error(err)
	}
}

// TestTooLarge: no model exceeds 2^61 bytes.
func TestTooLarge(t *testing.T) {
	huge := func(less int64) tensor.Info {
		return tensor.Info{Name: "x", DType: tensor.Int8, Shape: tensor.Shape{math.MaxInt64 - less}}
	}
	for kind, list := range map[format.Format][][]tensor.Info{
		Format{}:  {{huge(0)}},
		Archive{}: {{huge(0)}, {{Name: "y", DType: tensor.Int8, Shape: tensor.Shape{500}}, huge(1000)}, {{Name: strings.Repeat("x", math.MaxUint16-3), DType: tensor.Int8}}},
	} {
		for _, tensors := range list {
			_, err := format.NewWriter(io.Discard, &schema.Schema{Tensors: tensors}, &format.WriteOptions{Format: kind})
			if !errors.Is(err, format.ErrSchema) || !errors.Is(err, format.ErrLimit) {
				t.Error(err)
			}
		}
	}
}

// TestLosses: all that a file cannot hold is listed.
func TestLosses(t *testing.T) {
	p := &schema.Schema{
		Metadata: schema.Metadata{{Key: "author", Value: "me"}},
		Graph:    &schema.Graph{Name: "g"},
		Tensors: []tensor.Info{
			{Name: "half", DType: tensor.BFloat16, Shape: tensor.Shape{2}},
			{Name: "eighth", DType: tensor.Float8E5M2, Shape: tensor.Shape{2}},
			{Name: "blocks", Encoding: &tensor.Encoding{Name: "Q4_0", BlockElems: 32, BlockBytes: 18}, Shape: tensor.Shape{32}},
			{Name: "deep", DType: tensor.Int8, Shape: slices.Repeat(tensor.Shape{1}, 65)},
			{Name: "quantized", DType: tensor.Int8, Shape: tensor.Shape{2}, Quant: &tensor.Quantization{Scales: []float32{1}, Axis: tensor.PerTensor}},
		},
	}
	want := []string{"quantization:quantized", "metadata:author", "graph", "dtype:half", "dtype:eighth", "dtype:blocks", "shape:deep"}
	for name, create := range map[string]func(io.Writer, *schema.Schema, *format.WriteOptions) (*format.Writer, error){"npy": newWriter, "npz": newArchiveWriter} {
		_, err := create(io.Discard, p, nil)
		var e *schema.LossError
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, l := range e.Losses {
			got = append(got, l.Item())
		}
		all := want
		if name == "npy" {
			all = append(append([]string{}, want...), "tensors")
		}
		if d := cmp.Diff(all, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
	p.Tensors = p.Tensors[4:]
	var out bytes.Buffer
	w, err := newWriter(&out, p, &format.WriteOptions{AcceptLoss: []string{"quantization", "metadata", "graph"}})
	finish(t, w, err, map[string][]byte{"quantized": {1, 2}})
	if f, err := openBytes(out.Bytes(), nil); err != nil || f.At(0).Info().Quant != nil {
		t.Error(err)
	}
}

// TestLostName: a name other than the file's gets lost only when that is accepted.
func TestLostName(t *testing.T) {
	p := &schema.Schema{Tensors: []tensor.Info{{Name: "w", DType: tensor.Int8, Shape: tensor.Shape{1}}}}
	path := filepath.Join(t.TempDir(), "other.npy")
	var e *schema.LossError
	if _, err := format.Create(path, p, nil); !errors.As(err, &e) || len(e.Losses) != 1 || e.Losses[0].Item() != "name:w" {
		t.Fatal(err)
	}
	w, err := format.Create(path, p, &format.WriteOptions{AcceptLoss: []string{"name"}})
	finish(t, w, err, map[string][]byte{"w": {1}})
}

// TestFileNames: a lone tensor is named after its file.
func TestFileNames(t *testing.T) {
	for path, want := range map[string]string{
		"w.npy": "w", "a.b.npy": "a.b", "W.NPY": "W", "plain": "plain", ".npy": "array", "x.npy.npy": "x.npy", "dir.npy/é.npy": "é",
	} {
		got, err := nameOf(filepath.FromSlash(path))
		if got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", path, got, err, want)
		}
	}
	expect.Refused(t, format.ErrCorrupt)(nameOf("\xff.npy"))
}
