package all_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// inTwo writes a model of two tensors in two files, as ../shared/cases/newcomer/shards-safetensors and shards-gguf are.
func inTwo(t *testing.T, s sharding) (dir string) {
	t.Helper()
	dir = t.TempDir()
	o := &format.WriteOptions{MaxShard: 1000}
	expect.OK(t, put(filepath.Join(dir, s.file), s.format, sized(900, 800), 1, []int{0, 1}, o))
	return dir
}

// named opens a part through a reader that only has a name.
type named struct {
	io.ReaderAt
	name string
}

func (n named) ReaderInfo() format.ReaderInfo { return format.ReaderInfo{Path: n.name} }

// partOf describes a model: which part it is, how many tensors it has, and what its notes say of it.
func partOf(t *testing.T, m *format.Model, err error) []any {
	t.Helper()
	expect.OK(t, err)
	defer m.Close()
	no, count := m.Part()
	p, err := m.Schema()
	expect.OK(t, err)
	if p.Part != no || p.Parts != count {
		t.Errorf("the schema is of part %d of %d, the model of part %d of %d", p.Part, p.Parts, no, count)
	}
	note := ""
	for _, n := range m.Notes() {
		if strings.HasPrefix(n, "part ") {
			note = n
		}
	}
	return []any{no, count, m.Len(), note}
}

// TestPart opens the files of split models through each door.
func TestPart(t *testing.T) {
	st, gg := shardings[0], shardings[1]
	const byIndex, first = ", which m.safetensors.index.json opens", ", which m-00001-of-00002.gguf opens"
	const one, two = "part 1 of 2 of a model", "part 2 of 2 of a model"
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { expect.OK(t, os.Remove(filepath.Join(dir, name))) }
	}
	rename := func(from, to string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			expect.OK(t, os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)))
		}
	}
	for _, tt := range []struct {
		name   string
		kind   sharding
		change func(t *testing.T, dir string)
		file   string
		want   []any // by path and through a file system
		alone  []any // through a reader that has a name
		bytes  []any // through a reader without a name
	}{
		{name: "index", kind: st, file: "m.safetensors.index.json", want: []any{0, 0, 2, ""}},
		{name: "first shard", kind: st, file: "m-00001-of-00002.safetensors", want: []any{1, 2, 1, one + byIndex}, alone: []any{1, 2, 1, one}, bytes: []any{0, 0, 1, ""}},
		{name: "second shard", kind: st, file: "m-00002-of-00002.safetensors", want: []any{2, 2, 1, two + byIndex}, alone: []any{2, 2, 1, two}, bytes: []any{0, 0, 1, ""}},
		{name: "shard without its index", kind: st, change: remove("m.safetensors.index.json"), file: "m-00001-of-00002.safetensors",
			want: []any{1, 2, 1, one}, alone: []any{1, 2, 1, one}, bytes: []any{0, 0, 1, ""}},
		{name: "shard without the other", kind: st, change: remove("m-00002-of-00002.safetensors"), file: "m-00001-of-00002.safetensors",
			want: []any{1, 2, 1, one + ", of which m-00002-of-00002.safetensors is not there"}, alone: []any{1, 2, 1, one}, bytes: []any{0, 0, 1, ""}},
		{name: "shard that only the index calls a part", kind: st, change: func(t *testing.T, dir string) {
			rename("m-00002-of-00002.safetensors", "rest.safetensors")(t, dir)
			index := filepath.Join(dir, "m.safetensors.index.json")
			b := bytes.ReplaceAll(expect.Read(t, index), []byte("m-00002-of-00002"), []byte("rest"))
			expect.OK(t, os.WriteFile(index, b, 0o644))
		}, file: "rest.safetensors", want: []any{2, 2, 1, two + byIndex}, alone: []any{0, 0, 1, ""}, bytes: []any{0, 0, 1, ""}},
		{name: "shard beside a broken index", kind: st, change: func(t *testing.T, dir string) {
			expect.OK(t, os.WriteFile(filepath.Join(dir, "m.safetensors.index.json"), []byte(`{"weight_map":{"t0":1}}`), 0o644))
		}, file: "m-00001-of-00002.safetensors", want: []any{1, 2, 1, one}, alone: []any{1, 2, 1, one}, bytes: []any{0, 0, 1, ""}},
		{name: "file that no index lists", kind: st, change: rename("m-00001-of-00002.safetensors", "m.safetensors"), file: "m.safetensors",
			want: []any{0, 0, 1, ""}, alone: []any{0, 0, 1, ""}, bytes: []any{0, 0, 1, ""}},
		{name: "only shard", kind: st, change: rename("m-00001-of-00002.safetensors", "m-00001-of-00001.safetensors"), file: "m-00001-of-00001.safetensors",
			want: []any{0, 0, 1, ""}, alone: []any{0, 0, 1, ""}, bytes: []any{0, 0, 1, ""}},
		{name: "first part", kind: gg, file: "m-00001-of-00002.gguf", want: []any{0, 0, 2, ""}, bytes: []any{1, 2, 1, one}},
		{name: "second part", kind: gg, file: "m-00002-of-00002.gguf", want: []any{2, 2, 1, two + first}, alone: []any{2, 2, 1, two}, bytes: []any{2, 2, 1, two}},
		{name: "second part alone", kind: gg, change: remove("m-00001-of-00002.gguf"), file: "m-00002-of-00002.gguf",
			want: []any{2, 2, 1, two + ", of which m-00001-of-00002.gguf is not there"}, alone: []any{2, 2, 1, two}, bytes: []any{2, 2, 1, two}},
		{name: "first part of another name", kind: gg, change: rename("m-00001-of-00002.gguf", "first.gguf"), file: "first.gguf",
			want: []any{1, 2, 1, one}, alone: []any{1, 2, 1, one}, bytes: []any{1, 2, 1, one}},
	} {
		t.Run(tt.kind.format+" "+tt.name, func(t *testing.T) {
			dir := inTwo(t, tt.kind)
			if tt.change != nil {
				tt.change(t, dir)
			}
			path := filepath.Join(dir, tt.file)
			got := map[string][]any{}
			m, err := format.Open(path, nil)
			got["path"] = partOf(t, m, err)
			m, err = format.OpenFS(os.DirFS(filepath.Dir(dir)), filepath.Base(dir)+"/"+tt.file, nil)
			got["file system"] = partOf(t, m, err)
			want := map[string][]any{"path": tt.want, "file system": tt.want}
			b := expect.Read(t, path)
			if tt.alone != nil {
				m, err = format.OpenReaderAt(named{bytes.NewReader(b), "https://example.org/" + tt.file + "?download=true"}, int64(len(b)), nil)
				got["reader"], want["reader"] = partOf(t, m, err), tt.alone
			}
			if tt.bytes != nil {
				m, err = format.OpenBytes(b, nil)
				got["bytes"], want["bytes"] = partOf(t, m, err), tt.bytes
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if no, count := (&format.Model{}).Part(); no != 0 || count != 0 {
		t.Errorf("the zero Model is part %d of %d", no, count)
	}
}

// TestPartIsNoModel is ../shared/cases/newcomer/shards-safetensors and shards-gguf: half a model is not written as if it
// were the whole, by any function that copies models, unless the caller says so.
func TestPartIsNoModel(t *testing.T) {
	for _, s := range shardings {
		dir := inTwo(t, s)
		for _, target := range []string{"safetensors", "gguf", "npz", "wia"} {
			for name, write := range map[string]func(in, out string, accept []string) error{
				"File": func(in, out string, accept []string) error {
					_, err := convert.File(t.Context(), in, out, &convert.Options{Lossy: true, Write: &format.WriteOptions{AcceptLoss: accept}})
					return err
				},
				"Copy": func(in, out string, accept []string) error {
					m, err := format.Open(in, nil)
					expect.OK(t, err)
					defer m.Close()
					p, err := m.Schema()
					expect.OK(t, err)
					p.Metadata = nil
					w, err := format.Create(out, p, &format.WriteOptions{AcceptLoss: accept})
					if err != nil {
						return err
					}
					defer w.Abort()
					err = w.WriteModel(m)
					if err != nil {
						return err
					}
					return w.Close()
				},
			} {
				in := filepath.Join(dir, s.names(2)[1])
				out := filepath.Join(t.TempDir(), "out."+target)
				err := write(in, out, nil)
				var refused *schema.LossError
				isPart := func(l schema.Loss) bool {
					return l.Kind == schema.LossPart && l.Item() == "part" && strings.Contains(l.Why, "part 2 of 2 of a model")
				}
				if !errors.As(err, &refused) || !slices.ContainsFunc(refused.Losses, isPart) {
					t.Errorf("%s of a part of %s to %s: %v", name, s.format, target, err)
				}
				unwritten(t, filepath.Dir(out))
				expect.OK(t, write(in, out, []string{"part", "metadata", "conversion"}))
				m, err := format.Open(out, nil)
				expect.OK(t, err)
				if m.Len() != 1 {
					t.Errorf("%s: %d tensors", out, m.Len())
				}
				expect.OK(t, m.Close())
				expect.OK(t, write(filepath.Join(dir, s.opens(2)), out, []string{"metadata", "conversion"}))
			}
		}
	}
}

// TestTargetIsPart: a conversion does not replace one file of a model of several files.
func TestTargetIsPart(t *testing.T) {
	single := filepath.Join(t.TempDir(), "single.safetensors")
	v, err := tensor.Of("w", tensor.Shape{1}, []float32{1})
	expect.OK(t, err)
	expect.OK(t, format.Save(t.Context(), single, nil, []tensor.View{v}, nil))
	for _, s := range shardings {
		dir := inTwo(t, s)
		before := map[string][]byte{}
		for _, name := range names(t, dir) {
			before[name] = expect.Read(t, filepath.Join(dir, name))
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(s.names(2))), names(t, dir)); diff != "" {
			t.Fatal(diff)
		}
		for _, in := range []string{filepath.Join(dir, s.opens(2)), single} {
			for _, name := range s.names(2) {
				_, err := convert.File(t.Context(), in, filepath.Join(dir, name), &convert.Options{Lossy: true, Write: &format.WriteOptions{Format: formatNamed(s.format)}})
				if !errors.Is(err, format.ErrSchema) || !strings.Contains(err.Error(), "would break that model") {
					t.Errorf("%s over %s: %v", in, name, err)
				}
			}
		}
		after := map[string][]byte{}
		for _, name := range names(t, dir) {
			after[name] = expect.Read(t, filepath.Join(dir, name))
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Error(diff)
		}
		// A name of a part, where no other is, is a name like others.
		alone := filepath.Join(t.TempDir(), s.names(2)[1])
		_, err = convert.File(t.Context(), single, alone, &convert.Options{Lossy: true})
		expect.OK(t, err)
	}
}
