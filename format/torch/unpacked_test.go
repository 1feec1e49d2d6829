package torch

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// unpackedFiles are the files of a model with two storages, of which the second one is shared.
func unpackedFiles() map[string]string {
	four := store("Float", "b", 4)
	object := pickled(dictOf(
		str("w"), tensorOf(store("Float", "0", 6), 0, nums(2, 3), nums(3, 1)), str("v"), tensorOf(four, 1, nums(3), nums(1)),
		str("t"), tensorOf(four, 0, nums(2, 2), nums(1, 2)), str("epoch"), num(7)))
	return map[string]string{
		"data.pkl": object, "version": "3\n", "byteorder": "little",
		"data/0": string(floats(6)), "data/b": string(floats(4)), ".data/serialization_id": "1", "README.md": "x",
	}
}

// layFiles writes files into a new directory, and links where the content begins with "->".
func layFiles(t testing.TB, files map[string]string) string {
	dir := filepath.Join(t.TempDir(), "model")
	expect.OK(t, os.Mkdir(dir, 0o755))
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, isLink := strings.CutPrefix(content, "->"); isLink {
			testhost.NeedLinks(t)
			expect.OK(t, os.Symlink(target, path))
			continue
		}
		expect.OK(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return dir
}

// with returns a copy of files with one of another content.
func with(files map[string]string, name, content string) map[string]string {
	files = maps.Clone(files)
	files[name] = content
	return files
}

// without returns a copy of files without some of them.
func without(files map[string]string, names ...string) map[string]string {
	files = maps.Clone(files)
	for _, name := range names {
		delete(files, name)
	}
	return files
}

// TestUnpacked opens directories into which an archive was unpacked.
func TestUnpacked(t *testing.T) {
	files := unpackedFiles()
	le := memory.LittleEndian
	want := []seen{f32("w", !le, floats(6), 2, 3), f32("v", !le, floats(4)[4:], 3), f32("t", true, floatsOf(0, 2, 1, 3), 2, 2)}
	swapped := func(b []byte) string {
		b = slices.Clone(b)
		for i := 0; i < len(b); i += 4 {
			slices.Reverse(b[i : i+4])
		}
		return string(b)
	}
	big := with(with(with(files, "byteorder", "big"), "data/0", swapped(floats(6))), "data/b", swapped(floats(4)))
	copied := slices.Clone(want)
	for i := range copied {
		copied[i].Copy = true
	}
	lone := map[string]string{"data.pkl": pickled(tensorOf(store("Float", "0", 6), 0, nums(6), nums(1))), "data/0": string(floats(6))}
	empty := map[string]string{"data.pkl": pickled(tensorOf(store("Float", "0", 0), 0, nums(0, 3), nums(3, 1))), "data/0": "", "version": "3"}
	script := map[string]string{
		"data.pkl": pickled(dictOf(str("w"), tensorOf(store("Float", "0", 6), 0, nums(6), nums(1)))), "data/0": string(floats(6)), "version": "3",
		"constants.pkl": pickled(tup(tensorOf(store("Float", "0", 1), 0, nums(1), nums(1)))), "constants/0": string(floatsOf(9)), "code/m.py": "x",
	}
	for _, tt := range []struct {
		name    string
		files   map[string]string
		want    []seen
		meta    schema.Metadata
		version string
		used    []string // the files of the model
		notes   []string
	}{
		{"all", files, want, schema.Metadata{{Key: "epoch", Value: int64(7)}}, "3", []string{"", "version", "byteorder", "data.pkl", "data/0", "data/b"}, nil},
		{"the pickle and its storages", without(files, "version", "byteorder"), want, schema.Metadata{{Key: "epoch", Value: int64(7)}}, "unpacked", []string{"", "data.pkl", "data/0", "data/b"}, nil},
		{"big-endian", big, copied, schema.Metadata{{Key: "epoch", Value: int64(7)}}, "3", []string{"", "version", "byteorder", "data.pkl", "data/0", "data/b"}, nil},
		{"a lone tensor", lone, []seen{f32("model", !le, floats(6), 6)}, nil, "unpacked", []string{"", "data.pkl", "data/0"}, nil},
		{"an empty storage", empty, []seen{f32("model", false, nil, 0, 3)}, nil, "3", []string{"", "version", "data.pkl", "data/0"}, nil},
		{"no tensor", map[string]string{"data.pkl": pickled("}"), "version": "3"}, nil, nil, "3", []string{"", "version", "data.pkl"}, nil},
		{"a program", script, []seen{f32("w", !le, floats(6), 6), f32("constants.0", !le, floatsOf(9), 1)}, nil, "3",
			[]string{"", "version", "data.pkl", "data/0", "constants.pkl", "constants/0"}, []string{scriptNote}},
		{"constants of no program", without(script, "code/m.py"), []seen{f32("w", !le, floats(6), 6)}, nil, "3", []string{"", "version", "data.pkl", "data/0"}, nil},
		{"a link within it", with(with(files, "data/0", "->../far"), "far", string(floats(6))), want, schema.Metadata{{Key: "epoch", Value: int64(7)}}, "3",
			[]string{"", "version", "byteorder", "data.pkl", "data/0", "data/b"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := layFiles(t, tt.files)
			for _, how := range []string{"format", "torch", "fs"} {
				m, err := format.Open(dir, nil)
				switch how {
				case "torch":
					m, err = Open(dir, nil)
				case "fs":
					m, err = format.OpenFS(os.DirFS(filepath.Dir(dir)), "model", nil)
				}
				expect.OK(t, err)
				defer m.Close()
				_, err = m.Verify(t.Context(), nil)
				expect.OK(t, err)
				expect.Equal(t, tt.want, tensorsOf(t, m))
				expect.Equal(t, tt.meta, expect.Got(t, m.Metadata))
				expect.Equal(t, tt.notes, m.Notes())
				expect.Equal(t, tt.version, m.Version())
				if how == "fs" {
					continue
				}
				var used []string
				for _, path := range m.Files() {
					used = append(used, filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(path, dir), string(filepath.Separator))))
				}
				if d := cmp.Diff(tt.used, used); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// TestUnpackedPlaces checks in which file a tensor is, and that a change of the pickle is found.
func TestUnpackedPlaces(t *testing.T) {
	dir := layFiles(t, unpackedFiles())
	m, err := format.Open(dir, nil)
	expect.OK(t, err)
	defer m.Close()
	for _, tt := range []struct {
		name, file string
		offset     int64
	}{{"w", "data/0", 0}, {"v", "data/b", 4}, {"t", "data/b", -1}} {
		v, err := m.Tensor(tt.name)
		expect.OK(t, err)
		info := v.Info()
		expect.Equal(t, filepath.Join(dir, filepath.FromSlash(tt.file)), m.Files()[info.File])
		expect.Equal(t, tt.offset, info.Offset)
	}
	f, err := os.OpenFile(filepath.Join(dir, "data.pkl"), os.O_WRONLY, 0)
	expect.OK(t, err)
	_, err = f.WriteAt([]byte{0x89}, 5)
	expect.OK(t, errors.Join(err, f.Close()))
	_, err = m.Verify(t.Context(), nil)
	if !errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), "data.pkl") {
		t.Errorf("Verify after a change of data.pkl: %v", err)
	}
}

// TestUnpackedRefused opens directories of which a file is missing, too short, or no file of the model.
func TestUnpackedRefused(t *testing.T) {
	files := unpackedFiles()
	key := func(key string) map[string]string {
		return with(files, "data.pkl", pickled(tensorOf(store("Float", key, 4), 0, nums(4), nums(1))))
	}
	constants := with(with(files, "code/m.py", "x"), "constants.pkl", pickled(tup(tensorOf(store("Float", "0", 1), 0, nums(1), nums(1)))))
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  error
		text  string
	}{
		{"a storage is missing", without(files, "data/b"), format.ErrCorrupt, filepath.FromSlash("data/b")},
		{"all storages are missing", without(files, "data/0", "data/b"), fs.ErrNotExist, filepath.FromSlash("data/0")},
		{"a storage is too short", with(files, "data/b", string(floats(4)[:15])), format.ErrTruncated, filepath.FromSlash("data/b") + " has 15 bytes"},
		{"a storage is empty", with(files, "data/b", ""), format.ErrTruncated, filepath.FromSlash("data/b") + " has 0 bytes"},
		{"a storage is a directory", with(without(files, "data/b"), "data/b/c", "x"), tensor.ErrCorrupt, filepath.FromSlash("data/b")},
		{"a storage of constants is missing", constants, format.ErrCorrupt, filepath.FromSlash("constants/0")},
		{"a link out of it", with(files, "data/b", "->../../secret"), format.ErrUnsupported, "secret"},
		{"a link that leads nowhere", with(files, "data/b", "->none"), fs.ErrNotExist, filepath.FromSlash("data/b")},
		{"a key that leads out of it", key("../version"), format.ErrCorrupt, "no name of a file"},
		{"a key with a slash", key("a/b"), format.ErrCorrupt, "no name of a file"},
		{"a key with a backslash", key(`a\b`), format.ErrCorrupt, "no name of a file"},
		{"an absolute key", key("/etc/passwd"), format.ErrCorrupt, "no name of a file"},
		{"no key", key(""), format.ErrCorrupt, "no name of a file"},
		{"a key of a dot", key("."), format.ErrCorrupt, "no name of a file"},
		{"a key of two dots", key(".."), format.ErrCorrupt, "no name of a file"},
		{"a key with NUL", key("0\x00"), format.ErrCorrupt, ""},
		{"a pickle that is cut short", with(files, "data.pkl", files["data.pkl"][:20]), format.ErrTruncated, "data.pkl"},
		{"an empty pickle", with(files, "data.pkl", ""), format.ErrTruncated, "data.pkl"},
		{"bytes behind the pickle", with(files, "data.pkl", files["data.pkl"]+"x"), format.ErrCorrupt, "1 bytes follow the pickle"},
		{"another byte order", with(files, "byteorder", "middle"), format.ErrUnsupported, "byteorder"},
		{"a long byte order", with(files, "byteorder", strings.Repeat(" ", 65)), format.ErrUnsupported, "byteorder"},
		{"a long version", with(files, "version", strings.Repeat("3", 65)), format.ErrUnsupported, "version"},
		{"a version that is a link to nothing", with(files, "version", "->none"), fs.ErrNotExist, "version"},
		{"another model beside it", with(files, "m.gguf", "GGUF"), format.ErrUnsupported, `["m.gguf" "data.pkl"]`},
		{"a pickle alone", map[string]string{"data.pkl": files["data.pkl"]}, format.ErrUnknownFormat, "no model"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := format.Open(layFiles(t, tt.files), nil)
			if err == nil {
				m.Close()
			}
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v, want %v with %q", err, tt.want, tt.text)
			}
		})
	}
}

// TestPickleOfUnpacked opens the pickle alone: the error says what opens the model.
func TestPickleOfUnpacked(t *testing.T) {
	dir := layFiles(t, unpackedFiles())
	m, err := format.Open(filepath.Join(dir, "data.pkl"), nil)
	if err == nil {
		m.Close()
	}
	if !errors.Is(err, format.ErrUnsupported) || !strings.Contains(err.Error(), "open its directory") {
		t.Errorf("%v", err)
	}
}

// TestUnpackedMemory checks that the pickle and the storages count against MaxMemory.
func TestUnpackedMemory(t *testing.T) {
	var keys []string
	files := fstest.MapFS{"model/version": {Data: []byte("3")}}
	for i := range 2000 {
		key := string([]byte{'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/676)})
		keys = append(keys, tensorOf(store("Byte", key, 1), 0, nums(1), nums(1)))
		files["model/data/"+key] = &fstest.MapFile{Data: []byte{1}}
	}
	files["model/data.pkl"] = &fstest.MapFile{Data: []byte(pickled(tup(keys...)))}
	m, err := format.OpenFS(files, "model", nil)
	expect.OK(t, err)
	expect.Equal(t, 2000, m.Len())
	expect.OK(t, m.Close())
	m, err = format.OpenFS(files, "model", &format.Options{MaxMemory: 600 << 10})
	if !errors.Is(err, format.ErrLimit) {
		m.Close()
		t.Errorf("with 600 KiB: %v", err)
	}
}
