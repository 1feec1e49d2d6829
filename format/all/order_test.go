package all_test

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// ordered has tensors that formats store in another order than this.
func ordered() *schema.Schema {
	return &schema.Schema{Tensors: []tensor.Info{
		{Name: "z", DType: tensor.Int8, Shape: tensor.Shape{3}},
		{Name: "b", DType: tensor.Float32, Shape: tensor.Shape{2, 4}},
		{Name: "a", DType: tensor.Float32, Shape: tensor.Shape{4, 2}},
		{Name: "m", DType: tensor.Float16, Shape: tensor.Shape{2, 2}},
	}}
}

// TestWriterOrder writes each format to a writer, in the order that needs no copy, and compares the size that is known before.
func TestWriterOrder(t *testing.T) {
	cases := []struct {
		format  string
		isKnown bool
	}{
		{"safetensors", true},
		{"gguf", true},
		{"onnx", true},
		{"mag", true},
		{"mle", false},
		{"wia", false},
	}
	for _, c := range cases {
		t.Run(c.format, func(t *testing.T) {
			s := ordered()
			if c.format == "mag" {
				s.Tensors[0].DType = tensor.Int32 // it has no int8
			}
			var out bytes.Buffer
			w, err := format.NewWriter(&out, s, &format.WriteOptions{Spool: format.SpoolMemory, Format: formatNamed(c.format)})
			expect.OK(t, err)
			defer w.Abort()
			size, ok := w.Size()
			expect.Equal(t, c.isKnown, ok)
			order := slices.Collect(w.Order())
			for _, name := range order {
				i := slices.IndexFunc(s.Tensors, func(t tensor.Info) bool { return t.Name == name })
				n, err := s.Tensors[i].ByteSize()
				expect.OK(t, err)
				expect.OK(t, w.WriteTensor(name, bytes.NewReader(bytes.Repeat([]byte(name), int(n)))))
			}
			expect.OK(t, w.Close())
			if ok {
				expect.Equal(t, int64(out.Len()), size)
			}
			slices.Sort(order)
			expect.Equal(t, []string{"a", "b", "m", "z"}, order)
			expect.Equal(t, order, slices.Sorted(w.Order()))
		})
	}
}

// Nothing may be spooled: only the order of the file works.
func TestWriterOrderStreams(t *testing.T) {
	s := ordered()
	var out bytes.Buffer
	w, err := format.NewWriter(&out, s, &format.WriteOptions{Spool: format.SpoolNever, Format: safetensors.Format{}})
	expect.OK(t, err)
	defer w.Abort()
	var order []string
	for name := range w.Order() {
		order = append(order, name)
		i := slices.IndexFunc(s.Tensors, func(t tensor.Info) bool { return t.Name == name })
		n, err := s.Tensors[i].ByteSize()
		expect.OK(t, err)
		expect.OK(t, w.WriteTensor(name, bytes.NewReader(make([]byte, n))))
	}
	expect.OK(t, w.Close())
	if slices.Equal(order, []string{"z", "b", "a", "m"}) {
		t.Error("the order is that of the schema: the test shows nothing")
	}
	m, err := format.OpenBytes(out.Bytes(), nil)
	expect.OK(t, err)
	defer m.Close()
	var stored []string
	for name := range m.InFileOrder() {
		stored = append(stored, name)
	}
	expect.Equal(t, order, stored)
}

// sharded returns a model in shards whose records are not in the order of the files.
func sharded(t *testing.T) *format.Model {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.safetensors")
	w, err := format.Create(path, ordered(), &format.WriteOptions{MaxShard: 40})
	expect.OK(t, err)
	for name := range w.Order() {
		n := map[string]int{"z": 3, "b": 32, "a": 32, "m": 8}[name]
		expect.OK(t, w.WriteTensor(name, bytes.NewReader(bytes.Repeat([]byte(name), n))))
	}
	_, ok := w.Size()
	expect.Equal(t, false, ok) // several files
	expect.OK(t, w.Close())
	m, err := format.Open(path+".index.json", nil)
	expect.OK(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

func TestInFileOrder(t *testing.T) {
	m := sharded(t)
	var last tensor.Info
	var names []string
	for name, v := range m.InFileOrder() {
		info := v.Info()
		expect.Equal(t, name, info.Name)
		if info.File < last.File || info.File == last.File && info.Offset < last.Offset {
			t.Errorf("%v of file %d at %d comes behind %v of file %d at %d", info, info.File, info.Offset, last, last.File, last.Offset)
		}
		names = append(names, name)
		last = info
	}
	if last.File < 2 {
		t.Errorf("the last file is %d: the model is in one", last.File)
	}
	slices.Sort(names)
	expect.Equal(t, []string{"a", "b", "m", "z"}, names)
	for name := range m.InFileOrder() { // and may end early
		expect.Equal(t, 1, len(name))
		break
	}
	for name := range (*format.Model)(nil).InFileOrder() {
		t.Errorf("nil has %s", name)
	}
}

func TestShardRequests(t *testing.T) {
	m := sharded(t)
	rule := func(name string) (int, bool) {
		axis, isSplit := map[string]int{"a": 0, "b": -1, "m": 1}[name]
		return axis, isSplit
	}
	got, err := format.ShardRequests(m, 1, 2, rule)
	expect.OK(t, err)
	whole := tensor.Range{To: tensor.End}
	want := map[string][]tensor.Range{
		"z": nil,
		"a": {{From: 2, To: 4}},
		"b": {whole, {From: 2, To: 4}},
		"m": {whole, {From: 1, To: 2}},
	}
	expect.Equal(t, len(want), len(got))
	for _, q := range got {
		expect.Equal(t, want[q.Tensor], q.Slice)
	}

	// The parts of all ranks are the tensor.
	halves := map[string][][]byte{}
	for rank := range 2 {
		got, err := format.ShardRequests(m, rank, 2, rule)
		expect.OK(t, err)
		for i := range got {
			v, err := m.Tensor(got[i].Tensor)
			expect.OK(t, err)
			n := v.Size()
			if got[i].Slice != nil {
				n /= 2
			}
			got[i].Bytes = make([]byte, n)
		}
		expect.OK(t, m.Load(context.Background(), got, nil))
		for _, q := range got {
			halves[q.Tensor] = append(halves[q.Tensor], q.Bytes)
		}
	}
	for name, parts := range halves {
		v, err := m.Tensor(name)
		expect.OK(t, err)
		b, err := v.Bytes()
		expect.OK(t, err)
		switch name {
		case "z":
			expect.Equal(t, [][]byte{b, b}, parts)
		case "a":
			expect.Equal(t, b, slices.Concat(parts...))
		default: // by columns
			row := len(b) / 4
			want := slices.Concat(b[:row], b[2*row:3*row])
			expect.Equal(t, want, parts[0])
		}
	}
}

func TestShardRequestsRefused(t *testing.T) {
	m := sharded(t)
	axis := func(name string, axis int) func(string) (int, bool) {
		return func(n string) (int, bool) { return axis, n == name }
	}
	cases := []struct {
		name       string
		rank, size int
		rule       func(string) (int, bool)
		want       error
	}{
		{"a dim that does not divide", 0, 2, axis("z", 0), format.ErrShape},
		{"no such axis", 0, 2, axis("b", 2), format.ErrShape},
		{"no such axis from the end", 0, 2, axis("b", -3), format.ErrShape},
		{"a rank behind the group", 2, 2, nil, format.ErrOption},
		{"a negative rank", -1, 2, nil, format.ErrOption},
		{"no group", 0, 0, nil, format.ErrOption},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := format.ShardRequests(m, c.rank, c.size, c.rule)
			expect.Refused(t, c.want)(got, err)
		})
	}
	got, err := format.ShardRequests(m, 0, 3, nil)
	expect.OK(t, err)
	for _, q := range got {
		if q.Slice != nil {
			t.Errorf("%s is split without a rule", q.Tensor)
		}
	}
	m.Close()
	got, err = format.ShardRequests(m, 0, 1, nil)
	expect.Refused(t, format.ErrClosed)(got, err)
}
