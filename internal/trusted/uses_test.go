package trusted

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/digest"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/onnx"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tensor/quant"
	"github.com/weightmap/weightmap/tsr"
	"github.com/weightmap/weightmap/wia"
)

// see takes a result of a use: what it is of, and its bytes or an error.
type see func(what string, b []byte, err error)

// use is a way to the bytes of an open model.
type use struct {
	name    string
	api     []string // the functions of internal/api/api.txt that it is about
	inPlace bool     // it lends the bytes of the model
	private bool     // it may have read all it needs when the model was opened
	always  bool     // all changes are tried: few kinds have what it uses
	run     func(m *format.Model, see see)
}

// ofViews is a use of each tensor of a model.
func ofViews(f func(v tensor.View) ([]byte, error)) func(*format.Model, see) {
	return func(m *format.Model, see see) {
		for i := range m.Len() {
			v := m.At(i)
			b, err := f(v)
			see(v.Name(), b, err)
		}
	}
}

// read copies the bytes of a view.
func read(v tensor.View) ([]byte, error) {
	b := make([]byte, v.Size())
	_, err := v.ReadInto(b)
	return b, err
}

// readOf is read for the results of a function that returns a view.
func readOf(v tensor.View, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return read(v)
}

// rows is a part of each tensor.
func rows(v tensor.View) []tensor.Range {
	n := v.Shape()[0]
	return []tensor.Range{{From: n / 4, To: n - n/4}}
}

// load returns a use of Model.Load, with a request for a tensor and the bytes that it has read.
func load(request func(v tensor.View) (r format.Request, b func() []byte)) func(*format.Model, see) {
	return func(m *format.Model, see see) {
		for i := range m.Len() {
			v := m.At(i)
			r, b := request(v)
			err := m.Load(context.Background(), []format.Request{r}, nil)
			if err != nil {
				see(v.Name(), nil, err)
				continue
			}
			see(v.Name(), b(), nil)
		}
	}
}

// asBytes returns the numbers of a view in place, as bytes.
func asBytes(v tensor.View) ([]byte, error) {
	if v.DType() == tensor.Int8 {
		list, err := tensor.As[int8](v)
		var b []byte
		for _, n := range list {
			b = append(b, byte(n))
		}
		return b, err
	}
	list, err := tensor.As[float32](v)
	return float32s(list), err
}

// used returns the bytes that View.Use lends.
func used(v tensor.View) (b []byte, err error) {
	err = v.Use(func(p []byte) error {
		b = bytes.Clone(p)
		return nil
	})
	return b, err
}

// planOf is a schema of the tensors of m only.
func schemaOf(m *format.Model) *schema.Schema {
	p := &schema.Schema{}
	for _, v := range m.Tensors() {
		p.Tensors = append(p.Tensors, v.Info())
	}
	return p
}

// output is the path of a file that uses write.
func output() string { return filepath.Join(outputs, "copy.safetensors") }

// outputs is a directory.
var outputs string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "trusted")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	outputs = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// written returns the file that f wrote to output.
func written(f func(path string) error) ([]byte, error) {
	err := f(output())
	if err != nil {
		return nil, err
	}
	return os.ReadFile(output())
}

// text sees a value as text.
func text(see see, what string, v any, err error) { see(what, fmt.Appendf(nil, "%+v", v), err) }

// encoded returns a value as JSON: the values of this module print themselves on one short line.
func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// notes returns the notes about what the files have.
func notes(m *format.Model) []string {
	return slices.DeleteFunc(m.Notes(), func(note string) bool { return strings.Contains(note, "is not mapped") })
}

// uses are all ways to the bytes of a model.
var uses = []use{
	{name: "ReadInto", api: []string{"tensor (View).ReadInto", "format (*Model).At"}, run: ofViews(read)},
	{name: "ReadIntoContext", api: []string{"tensor (View).ReadIntoContext"}, run: ofViews(func(v tensor.View) ([]byte, error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		b := make([]byte, v.Size())
		_, err := v.ReadIntoContext(ctx, b)
		return b, err
	})},
	{name: "ReadAt", api: []string{"tensor (View).ReadAt"}, run: ofViews(func(v tensor.View) ([]byte, error) {
		b := make([]byte, v.Size())
		for off := 0; off < len(b); off += 9999 {
			_, err := v.ReadAt(b[off:min(off+9999, len(b))], int64(off))
			if err != nil && err != io.EOF {
				return nil, err
			}
		}
		return b, nil
	})},
	{name: "Clone", api: []string{"tensor (View).Clone"}, run: ofViews(func(v tensor.View) ([]byte, error) { return readOf(v.Clone()) })},
	{name: "digest of tensors", api: []string{"format/digest Tensors"}, run: func(m *format.Model, see see) {
		sum, err := digest.Tensors(context.Background(), m, nil)
		text(see, "digest", fmt.Sprintf("%x", sum), err)
	}},
	{name: "Slice", api: []string{"tensor (View).Slice"}, run: ofViews(func(v tensor.View) ([]byte, error) { return readOf(v.Slice(rows(v)...)) })},
	{name: "WithInfo", api: []string{"tensor (View).WithInfo"}, run: ofViews(func(v tensor.View) ([]byte, error) { return readOf(v.WithInfo(v.Info())) })},
	{name: "Tensor", api: []string{"format (*Model).Tensor"}, run: func(m *format.Model, see see) {
		for i := range m.Len() {
			name := m.At(i).Name()
			b, err := readOf(m.Tensor(name))
			see(name, b, err)
		}
	}},
	{name: "InFileOrder", api: []string{"format (*Model).InFileOrder"}, run: func(m *format.Model, see see) {
		for name, v := range m.InFileOrder() {
			b, err := readOf(v, nil)
			see(name, b, err)
		}
	}},
	{name: "Tensors", api: []string{"format (*Model).Tensors"}, run: func(m *format.Model, see see) {
		for name, v := range m.Tensors() {
			b, err := read(v)
			see(name, b, err)
		}
	}},
	{name: "Constant", always: true, api: []string{"mobi (*File).Constant"}, run: func(m *format.Model, see see) {
		f, ok := mobi.From(m)
		if !ok {
			return
		}
		for id := range f.Constants() {
			b, err := readOf(f.Constant(id))
			see(fmt.Sprint(id), b, err)
		}
	}},
	{name: "Constants", always: true, api: []string{"mobi (*File).Constants"}, run: func(m *format.Model, see see) {
		f, ok := mobi.From(m)
		if !ok {
			return
		}
		for id, v := range f.Constants() {
			b, err := read(v)
			see(fmt.Sprint(id), b, err)
		}
	}},
	{name: "Join", always: true, api: []string{"tensor/quant Join"}, run: ofViews(func(v tensor.View) ([]byte, error) {
		if v.DType() != tensor.Int8 {
			return nil, nil
		}
		scale, err := tensor.Of("scale", tensor.Shape{1}, []float32{2})
		if err != nil {
			return nil, err
		}
		joined, err := quant.Join(v, scale)
		if err != nil {
			return nil, err
		}
		list, err := tensor.Decode[float32](nil, joined)
		return float32s(list), err
	})},
	{name: "Linear", always: true, api: []string{"tensor/quant Linear"}, run: ofViews(func(v tensor.View) ([]byte, error) {
		if v.DType() != tensor.Int8 {
			return nil, nil
		}
		scale, err := tensor.Of("scale", tensor.Shape{}, []float32{2})
		if err != nil {
			return nil, err
		}
		linear, err := quant.Linear(v, scale, tensor.View{}, 0)
		if err != nil {
			return nil, err
		}
		list, err := tensor.Decode[float32](nil, linear)
		return float32s(list), err
	})},
	{name: "Decode", api: []string{"tensor Decode"}, run: ofViews(func(v tensor.View) ([]byte, error) {
		list, err := tensor.Decode[float32](nil, v)
		return float32s(list), err
	})},
	{name: "DecodeAt", api: []string{"tensor DecodeAt"}, run: ofViews(func(v tensor.View) ([]byte, error) {
		list := make([]float32, v.Elems()-7)
		err := tensor.DecodeAt(list, v, 7)
		return float32s(list), err
	})},
	{name: "Digest", api: []string{"tensor (View).Digest"}, run: ofViews(func(v tensor.View) ([]byte, error) {
		sum, err := v.Digest()
		return binary.LittleEndian.AppendUint64(nil, sum), err
	})},
	{name: "Load, bytes", api: []string{"format (*Model).Load"}, run: load(func(v tensor.View) (format.Request, func() []byte) {
		b := make([]byte, v.Size())
		return format.Request{Tensor: v.Name(), Bytes: b}, func() []byte { return b }
	})},
	{name: "Load, slice", api: []string{"format (*Model).Load"}, run: load(func(v tensor.View) (format.Request, func() []byte) {
		b := make([]byte, v.Size())
		return format.Request{Tensor: v.Name(), Bytes: b, Slice: rows(v)}, func() []byte { return b }
	})},
	{name: "Load, floats", api: []string{"format (*Model).Load"}, run: load(func(v tensor.View) (format.Request, func() []byte) {
		list := make([]float32, v.Elems())
		return format.Request{Tensor: v.Name(), Floats: list}, func() []byte { return float32s(list) }
	})},
	{name: "Load of all", api: []string{"format (*Model).Load"}, run: func(m *format.Model, see see) {
		var requests []format.Request
		var all []byte
		for range 3 { // more than a megabyte, for which files are opened again
			for _, v := range m.Tensors() {
				b := make([]byte, v.Size())
				requests = append(requests, format.Request{Tensor: v.Name(), Bytes: b})
			}
		}
		err := m.Load(context.Background(), requests, nil)
		for _, r := range requests {
			all = append(all, r.Bytes...)
		}
		see("", all, err)
	}},
	{name: "Stream", api: []string{"format (*Model).Stream"}, run: func(m *format.Model, see see) {
		var requests []format.Request
		for _, v := range m.Tensors() {
			requests = append(requests, format.Request{Tensor: v.Name()}, format.Request{Tensor: v.Name(), Slice: rows(v)})
		}
		all := make([][]byte, len(requests))
		ring := [][]byte{make([]byte, 5000), make([]byte, pieceSize)}
		err := m.Stream(context.Background(), requests, ring, func(p format.Piece) error {
			all[p.Request] = append(all[p.Request], p.Data...)
			return nil
		})
		see("", slices.Concat(all...), err)
	}},
	{name: "Bytes", api: []string{"tensor (View).Bytes"}, inPlace: true, run: ofViews(tensor.View.Bytes)},
	{name: "As", api: []string{"tensor As"}, inPlace: true, run: ofViews(asBytes)},
	{name: "Use", api: []string{"tensor (View).Use"}, inPlace: true, run: ofViews(used)},
	{name: "Guard", api: []string{"format (*Model).Guard"}, inPlace: true, run: func(m *format.Model, see see) {
		for i := range m.Len() {
			v := m.At(i)
			var b []byte
			err := m.Guard(func() (err error) {
				b, err = v.Bytes()
				return err
			})
			see(v.Name(), b, err)
		}
	}},
	{name: "Load, in place", api: []string{"format (*Model).Load"}, inPlace: true, run: func(m *format.Model, see see) {
		for i := range m.Len() {
			v := m.At(i)
			err := m.Load(context.Background(), []format.Request{{Tensor: v.Name()}}, nil)
			if err != nil {
				see(v.Name(), nil, err)
				continue
			}
			b, err := v.Bytes()
			see(v.Name(), b, err)
		}
	}},
	{name: "WithInfo, in place", api: []string{"tensor (View).WithInfo"}, inPlace: true, run: ofViews(func(v tensor.View) ([]byte, error) {
		s, err := v.WithInfo(v.Info())
		if err != nil {
			return nil, err
		}
		return s.Bytes()
	})},
	{name: "Slice, in place", api: []string{"tensor (View).Slice"}, inPlace: true, run: ofViews(func(v tensor.View) ([]byte, error) {
		s, err := v.Slice(rows(v)...)
		if err != nil {
			return nil, err
		}
		return s.Bytes()
	})},
	{name: "metadata", private: true, api: []string{"format (*Model).Metadata", "format (*Model).Value", "format (*Model).Notes", "format (*Model).Signature", "format (*Model).Version", "format (*Model).Part"}, run: func(m *format.Model, see see) {
		meta, err := m.Metadata()
		text(see, "metadata", encoded(meta), err)
		for _, e := range meta {
			value, err := m.Value(e.Key)
			text(see, "value of "+e.Key, encoded(value), err)
		}
		text(see, "others", fmt.Sprint(m.Version(), notes(m), m.NeedsKey(), m.Len(), encoded(m.Signature())), nil)
		for _, v := range m.Tensors() {
			info := v.Info()
			info.Encoding, info.Quant = nil, nil // pointers
			text(see, v.Name(), info, nil)
		}
	}},
	{name: "Graph", private: true, api: []string{"format (*Model).Graph"}, run: func(m *format.Model, see see) {
		g, err := m.Graph()
		if g == nil {
			g = &schema.Graph{}
		}
		text(see, "", encoded(g), err)
	}},
	{name: "Native", private: true, api: []string{"format (*Model).Native"}, run: func(m *format.Model, see see) {
		n, err := m.Native()
		if n == nil {
			n = &schema.Native{}
		}
		see("", n.Raw, err)
	}},
	{name: "Schema", private: true, api: []string{"format (*Model).Schema", "format (*Model).RestoreNames"}, run: func(m *format.Model, see see) {
		p, err := m.Schema()
		if err == nil {
			err = m.RestoreNames(p)
		}
		if err != nil {
			see("", nil, err)
			return
		}
		text(see, "", fmt.Sprint(len(p.Tensors), encoded(p.Metadata), p.Docs, p.Part, p.Parts), err)
	}},
	{name: "Verify", api: []string{"format (*Model).Verify"}, run: func(m *format.Model, see see) {
		_, err := m.Verify(context.Background(), nil)
		see("", nil, err)
	}},
	{name: "CheckClaim", private: true, api: []string{"format (*Model).CheckClaim"}, run: func(m *format.Model, see see) {
		see("", nil, m.CheckClaim())
	}},
	{name: "CheckSignature", api: []string{"format (*Model).CheckSignature"}, run: func(m *format.Model, see see) {
		state, err := m.CheckSignature(context.Background(), nil)
		if state == format.SignatureBad {
			err = format.ErrSignature
		}
		see("", nil, err)
	}},
	{name: "File", private: true, api: []string{
		"mag (*File).Timestamp", "mag (*File).Digest", "mag (*File).Snapshot", "mle (*File).Header", "mle (*File).MetadataJSON", "mle (*File).IR",
		"mle (*File).Compression", "mobi (*File).Header", "mobi (*File).Name", "mobi (*File).FrameworkVersion",
		"mobi (*File).Timestamp", "mobi (*File).Inputs", "mobi (*File).Outputs", "mobi (*File).Operators", "format/gguf (*File).Typed",
		"format/onnx (*File).OperatorSets", "wia (*File).Compression", "wia (*File).Encrypted", "wia (*File).External", "wia (*File).OperatorSets",
		"mag From", "mle From", "mobi From", "tsr From", "wia From", "format/gguf From", "format/onnx From", "format (*Model).Own",
	}, run: func(m *format.Model, see see) {
		if f, ok := mag.From(m); ok {
			sum, has := f.Digest("1")
			text(see, "mag", fmt.Sprint(f.Timestamp(), sum, has, f.Snapshot()), nil)
		}
		if f, ok := mle.From(m); ok {
			c, has := f.Compression()
			text(see, "mle", fmt.Sprint(f.Header(), string(f.MetadataJSON()), *f.IR(), c, has), nil)
		}
		if f, ok := mobi.From(m); ok {
			text(see, "mobi", fmt.Sprint(f.Header(), f.Name(), f.FrameworkVersion(), f.Timestamp(), f.Inputs(), f.Outputs(), f.Operators()), nil)
		}
		if f, ok := gguf.From(m); ok {
			meta, err := f.Typed()
			text(see, "gguf", encoded(meta), err)
		}
		if f, ok := onnx.From(m); ok {
			text(see, "onnx", f.OperatorSets(), nil)
		}
		if f, ok := wia.From(m); ok {
			text(see, "wia", fmt.Sprint(f.Compression(), f.Encrypted(), f.External("1"), f.OperatorSets()), nil)
		}
		if f, ok := tsr.From(m); ok {
			b, err := read(f.At(0))
			see("tsr", b, err)
		}
	}},
	{name: "WriteView", api: []string{"format (*Writer).WriteView"}, run: func(m *format.Model, see see) {
		var b bytes.Buffer
		w, err := format.NewWriter(&b, schemaOf(m), &format.WriteOptions{Format: expect.Must(format.ByName("safetensors"))})
		for i := 0; i < m.Len() && err == nil; i++ {
			err = w.WriteView(m.At(i))
		}
		if err == nil {
			err = w.Close()
		}
		see("", b.Bytes(), err)
	}},
	{name: "WriteModel", api: []string{"format (*Writer).WriteModel"}, run: func(m *format.Model, see see) {
		var b bytes.Buffer
		w, err := format.NewWriter(&b, schemaOf(m), &format.WriteOptions{Format: expect.Must(format.ByName("safetensors"))})
		if err == nil {
			err = w.WriteModel(m)
		}
		if err == nil {
			err = w.Close()
		}
		see("", b.Bytes(), err)
	}},
	{name: "Save", api: []string{"format Save"}, run: func(m *format.Model, see see) {
		b, err := written(func(path string) error {
			var views []tensor.View
			for _, v := range m.Tensors() {
				views = append(views, v)
			}
			return format.Save(context.Background(), path, nil, views, nil)
		})
		see("", b, err)
	}},
	{name: "Write", api: []string{"format Write"}, run: func(m *format.Model, see see) {
		var b bytes.Buffer
		var views []tensor.View
		for _, v := range m.Tensors() {
			views = append(views, v)
		}
		err := format.Write(context.Background(), &b, nil, views, &format.WriteOptions{Format: safetensors.Format{}})
		see("", b.Bytes(), err)
	}},
	{name: "convert.Model", api: []string{"format/convert Model"}, run: func(m *format.Model, see see) {
		b, err := written(func(path string) error {
			_, err := convert.Model(context.Background(), m, path, &convert.Options{Lossy: true, Write: &format.WriteOptions{NoSync: true}})
			return err
		})
		see("", b, err)
	}},
	{name: "convert.Write", api: []string{"format/convert Write"}, run: func(m *format.Model, see see) {
		var b bytes.Buffer
		_, err := convert.Write(context.Background(), m, &b, &convert.Options{Lossy: true, Write: &format.WriteOptions{Format: expect.Must(format.ByName("safetensors"))}})
		see("", b.Bytes(), err)
	}},
	{name: "convert.Model, another dtype", api: []string{"format/convert Model"}, run: func(m *format.Model, see see) {
		b, err := written(func(path string) error {
			_, err := convert.Model(context.Background(), m, path, &convert.Options{Lossy: true, DType: tensor.Float64, Verify: true, Write: &format.WriteOptions{NoSync: true}})
			return err
		})
		see("", b, err)
	}},
}

// reference returns what the uses of a model return before anything is changed. The model is opened without trust, unless that
// shows less of it.
func (k *kind) reference(t *testing.T, dir, bundle string) map[string]string {
	t.Helper()
	c := &cell{kind: k, dir: dir, bundle: bundle, at: -1}
	o := c.options()
	if !k.one {
		o.Trusted = nil
	}
	m, err := format.Open(c.path(), o)
	expect.OK(t, err)
	defer m.Close()
	want := make(map[string]string)
	for i := range uses {
		u := &uses[i]
		u.run(m, func(what string, b []byte, err error) {
			if err != nil {
				t.Fatalf("%s: %s of %q: %v", k.name, u.name, what, err)
			}
			want[u.name+" "+what] = string(b)
		})
	}
	return want
}

// outcome is what a use of a changed model came to.
type outcome struct{ refused, wrong int }

// try uses a model, and returns how often it was refused. Everything that is neither refused with ErrSignature nor as it was signed is an
// error of the test. Wrong bytes in place are only counted if isShown, after they were lent once.
func (k *kind) try(t *testing.T, cell string, m *format.Model, u *use, isShown bool) (o outcome) {
	t.Helper()
	u.run(m, func(what string, b []byte, err error) {
		want, ok := k.want[u.name+" "+what]
		switch {
		case errors.Is(err, format.ErrSignature):
			o.refused++
		case err != nil:
			t.Errorf("%s: %s of %q: %v", cell, u.name, what, err)
		case !ok:
			t.Errorf("%s: %s of %q: there was none", cell, u.name, what)
		case string(b) == want:
		case u.inPlace && isShown:
			o.wrong++
		default:
			t.Errorf("%s: %s of %q is not what was signed: %.200q, not %.200q", cell, u.name, what, b, want)
		}
	})
	return o
}
