package tsr

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// contains fails unless the directory has exactly the entries in want.
func contains(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", filepath.Base(dir), diff)
	}
}

// pair returns a plan of two tensors, and their data.
func pair() (*format.Plan, map[string][]byte) {
	p := &format.Plan{Tensors: []tensor.Info{
		{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{3, 4}},
		{Name: "b.x", DType: tensor.Int8, Shape: tensor.Shape{3}},
	}}
	return p, map[string][]byte{"w": floats(12), "b.x": int8s(3)}
}

// TestCreatePlace checks when Create writes a file and when a directory.
func TestCreatePlace(t *testing.T) {
	one, oneData := samplePlan(tensor.Int8, tensor.Shape{3}), map[string][]byte{"tensor": int8s(3)}
	two, twoData := pair()
	for _, c := range []struct {
		name string
		path string
		plan *format.Plan
		data map[string][]byte
		want string // the file that must exist
	}{
		{"file", "new.tsr", one, oneData, "new.tsr"},
		{"file without ending", "new", one, oneData, "new"},
		{"over a file", "old.tsr", one, oneData, "old.tsr"},
		{"separator", "new/", one, oneData, "new/tensor.tsr"},
		{"existing directory", "dir", one, oneData, "dir/tensor.tsr"},
		{"existing directory with separator", "dir/", one, oneData, "dir/tensor.tsr"},
		{"two tensors", "new", two, twoData, "new/w.tsr"},
		{"two tensors, ending", "new.tsr", two, twoData, "new.tsr/w.tsr"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, map[string][]byte{"dir/": nil, "old.tsr": nil})
			w, err := Create(dir+"/"+c.path, c.plan, nil)
			if err != nil {
				t.Fatal(err)
			}
			finish(t, w, c.data)
			f, err := Open(filepath.Join(dir, c.want), nil)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			if left, _ := filepath.Glob(dir + "/.*"); left != nil {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestCreateDirNames(t *testing.T) {
	for _, c := range []struct {
		name  string
		names []string
	}{
		{"slash", []string{"a/b"}},
		{"leading slash", []string{"/a"}},
		{"backslash", []string{`a\b`}},
		{"dot", []string{"."}},
		{"dots", []string{".."}},
		{"climbing", []string{"../a"}},
		{"case", []string{"Weight", "weight"}},
		{"case beyond ASCII", []string{"é", "É"}},
		{"case of three", []string{"k", "\u212a"}}, // the Kelvin sign
		{"control character", []string{"a\x1b[31mb"}},
		{"line feed", []string{"a\nb"}},
		{"control character beyond ASCII", []string{"a\u009bb"}},
		{"empty", []string{""}},
		{"NUL", []string{"a\x00b"}},
		{"not UTF-8", []string{"a\xff"}},
		{"twice", []string{"a", "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &format.Plan{}
			for _, n := range c.names {
				p.Tensors = append(p.Tensors, tensor.Info{Name: n, DType: tensor.Int8})
			}
			dir := tree(t, nil)
			if _, err := CreateDir(dir+"/m", p, nil); !errors.Is(err, format.ErrPlan) {
				t.Errorf("%v, want %v", err, format.ErrPlan)
			}
			contains(t, dir)
		})
	}
}
