package tsr

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// refusedSchemas lists schemas that neither a file nor a directory can hold.
var refusedSchemas = []struct {
	name   string
	schema *schema.Schema
	err    error // besides ErrSchema
	field  string
}{
	{"nil", nil, format.ErrUnsupported, "tensors"},
	{"no tensors", &schema.Schema{}, format.ErrUnsupported, "tensors"},
	{"float64", sampleSchema(tensor.Float64, tensor.Shape{2}), format.ErrUnsupported, `tensor "tensor"`},
	{"bool", sampleSchema(tensor.Bool, nil), format.ErrUnsupported, `tensor "tensor"`},
	{"no dtype", sampleSchema(tensor.Invalid, nil), format.ErrDType, `tensor "tensor"`},
	{"rank 5", sampleSchema(tensor.Int8, tensor.Shape{1, 1, 1, 1, 1}), format.ErrUnsupported, `tensor "tensor"`},
	{"large dim", sampleSchema(tensor.Int8, tensor.Shape{0, math.MaxInt32 + 1}), format.ErrUnsupported, `tensor "tensor"`},
	{"negative dim", sampleSchema(tensor.Int8, tensor.Shape{-1}), format.ErrShape, `tensor "tensor"`},
	{"overflow", sampleSchema(tensor.Int8, tensor.Shape{1 << 30, 1 << 30, 1 << 30}), format.ErrShape, `tensor "tensor"`},
	{"metadata", &schema.Schema{Metadata: schema.Metadata{{Key: "a", Value: "b"}}, Tensors: sampleSchema(tensor.Int8, nil).Tensors}, format.ErrUnsupported, `metadata "a"`},
	{"graph", &schema.Schema{Graph: &schema.Graph{Name: "g"}, Tensors: sampleSchema(tensor.Int8, nil).Tensors}, format.ErrUnsupported, "graph"},
}

func TestRefusedSchemas(t *testing.T) {
	for _, c := range refusedSchemas {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, nil)
			_, stream := newWriter(io.Discard, c.schema, nil)
			_, single := create(dir+"/w.tsr", c.schema, nil)
			_, many := create(dir+"/m/", c.schema, nil)
			for how, err := range map[string]error{"a stream": stream, "a file": single, "a directory": many} {
				var e *tensor.Error
				if !errors.As(err, &e) || !errors.Is(err, format.ErrSchema) || !errors.Is(err, c.err) || e.Field != c.field || e.Format != "tsr" {
					t.Errorf("%s: %v (%+v)", how, err, e)
				}
			}
			contains(t, dir)
		})
	}
}

// TestAcceptNames checks the file names of tensors whose names cannot be used.
func TestAcceptNames(t *testing.T) {
	p, data := &schema.Schema{}, map[string][]byte{}
	for _, s := range []string{"Weight", "a/b", "weight", "a_b", "..", strings.Repeat("é", 126)} {
		p.Tensors = append(p.Tensors, tensor.Info{Name: s, DType: tensor.Int8})
		data[s] = []byte{1}
	}
	dir := tree(t, nil)
	w, err := create(dir+"/m/", p, &format.WriteOptions{AcceptLoss: []string{"name"}})
	expect.OK(t, err)
	finish(t, w, data)
	contains(t, dir+"/m", "Weight.tsr", "___.tsr", "a_b.tsr", "a_b_2.tsr", "weight_2.tsr", strings.Repeat("é", 120)+".tsr")
}

// contains fails unless the directory has exactly the entries in want.
func contains(t *testing.T, dir string, want ...string) {
	t.Helper()
	got, err := fs.Glob(os.DirFS(dir), "*")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s: %v %s", filepath.Base(dir), err, diff)
	}
}

// TestCreatePlace checks when Create writes a file and when a directory.
func TestCreatePlace(t *testing.T) {
	one, oneData := sampleSchema(tensor.Int8, tensor.Shape{3}), map[string][]byte{"tensor": int8s(3)}
	two := &schema.Schema{Tensors: []tensor.Info{
		{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{3, 4}}, {Name: "b.x", DType: tensor.Int8, Shape: tensor.Shape{3}},
	}}
	twoData := map[string][]byte{"w": floats(12), "b.x": int8s(3)}
	for _, c := range []struct {
		path   string
		schema *schema.Schema
		data   map[string][]byte
		want   string // the file that must exist
	}{
		{"new.tsr", one, oneData, "new.tsr"},
		{"new", one, oneData, "new"},
		{"old.tsr", one, oneData, "old.tsr"},
		{"new/", one, oneData, "new/tensor.tsr"},
		{"dir", one, oneData, "dir/tensor.tsr"},
		{"dir/", one, oneData, "dir/tensor.tsr"},
		{"new", two, twoData, "new/w.tsr"},
		{"new.tsr", two, twoData, "new.tsr/w.tsr"},
	} {
		t.Run(c.want, func(t *testing.T) {
			dir := tree(t, map[string][]byte{"dir/": nil, "old.tsr": nil})
			w, err := create(dir+"/"+c.path, c.schema, nil)
			expect.OK(t, err)
			finish(t, w, c.data)
			f, err := Open(filepath.Join(dir, c.want), nil)
			expect.OK(t, err)
			f.Close()
			if left, _ := filepath.Glob(dir + "/.*"); left != nil {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestDirectoryNames(t *testing.T) {
	for _, names := range [][]string{
		{"a/b"}, {"/a"}, {`a\b`}, {"."}, {".."}, {"../a"},
		{"a\x1b[31mb"}, {"a\nb"}, {"a\u009bb"}, {""}, {"a\x00b"}, {"a\xff"},
		{"a", "a"}, {"Weight", "weight"}, {"é", "É"}, {"k", "\u212a"}, // the Kelvin sign
	} {
		p := &schema.Schema{}
		for _, n := range names {
			p.Tensors = append(p.Tensors, tensor.Info{Name: n, DType: tensor.Int8})
		}
		dir := tree(t, nil)
		expect.Refused(t, format.ErrSchema, names)(create(dir+"/m/", p, nil))
		contains(t, dir)
	}
}
