package tsr

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

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
	one, oneData := samplePlan(tensor.Int8, tensor.Shape{3}), map[string][]byte{"tensor": int8s(3)}
	two := &format.Plan{Tensors: []tensor.Info{
		{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{3, 4}}, {Name: "b.x", DType: tensor.Int8, Shape: tensor.Shape{3}},
	}}
	twoData := map[string][]byte{"w": floats(12), "b.x": int8s(3)}
	for _, c := range []struct {
		path string
		plan *format.Plan
		data map[string][]byte
		want string // the file that must exist
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
			w, err := Create(dir+"/"+c.path, c.plan, nil)
			testhost.Must(t, err)
			finish(t, w, c.data)
			f, err := Open(filepath.Join(dir, c.want), nil)
			testhost.Must(t, err)
			f.Close()
			if left, _ := filepath.Glob(dir + "/.*"); left != nil {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestCreateDirNames(t *testing.T) {
	for _, names := range [][]string{
		{"a/b"}, {"/a"}, {`a\b`}, {"."}, {".."}, {"../a"},
		{"a\x1b[31mb"}, {"a\nb"}, {"a\u009bb"}, {""}, {"a\x00b"}, {"a\xff"},
		{"a", "a"}, {"Weight", "weight"}, {"é", "É"}, {"k", "\u212a"}, // the Kelvin sign
	} {
		p := &format.Plan{}
		for _, n := range names {
			p.Tensors = append(p.Tensors, tensor.Info{Name: n, DType: tensor.Int8})
		}
		dir := tree(t, nil)
		if _, err := CreateDir(dir+"/m", p, nil); !errors.Is(err, format.ErrPlan) {
			t.Errorf("%q: %v, want %v", names, err, format.ErrPlan)
		}
		contains(t, dir)
	}
}
