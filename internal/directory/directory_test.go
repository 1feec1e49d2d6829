package directory

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/foreign"
	"github.com/weightmap/weightmap/tensor"
)

// listed returns the entries of a directory: names that end in a slash are directories, and those with a question mark
// links that lead nowhere.
func listed(names ...string) (entries []driver.DirEntry) {
	for _, name := range names {
		e := driver.DirEntry{Name: strings.TrimRight(name, "/?"), Dir: strings.HasSuffix(name, "/")}
		if strings.HasSuffix(name, "?") {
			e.Err = fs.ErrNotExist
		}
		e.Regular = !e.Dir && e.Err == nil
		entries = append(entries, e)
	}
	return entries
}

// TestChoose checks what is chosen by names alone. format/all opens such directories.
func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		name   string
		files  []string
		wanted string
		want   Choice
		err    error
		opens  string // the name in the error
	}{
		{"a lone link that leads nowhere", []string{"m.gguf?"}, "", Choice{Format: "gguf", File: "m.gguf"}, nil, ""},
		{"a directory called like a model", []string{"a.gguf/", "m.gguf"}, "", Choice{Format: "gguf", File: "m.gguf"}, nil, ""},
		{"another index", []string{"x.bin.index.json", "y.pt"}, "", Choice{Format: "torch", File: "x.bin.index.json"}, nil, ""},
		{"shards", []string{"x-00001-of-00002.bin", "x-00002-of-00002.bin", "y.pt"}, "", Choice{Format: "torch", Parts: []string{"x-00001-of-00002.bin", "x-00002-of-00002.bin"}}, nil, ""},
		{"shards of another format", []string{"x-00001-of-00002.bin", "x-00002-of-00002.bin", "y.gguf"}, "gguf", Choice{Format: "gguf", File: "y.gguf"}, nil, ""},
		{"a directory of files", []string{"a.tsr", "b.tsr"}, "", Choice{Format: "tsr"}, nil, ""},
		{"an unpacked archive", []string{"byteorder", "data.pkl"}, "", Choice{Format: "torch"}, nil, ""},
		{"an unpacked archive, asked for", []string{"a.gguf", "data.pkl", "data/"}, "torch", Choice{Format: "torch"}, nil, ""},
		{"an unpacked archive whose pickle is a lost link", []string{"data.pkl?", "version"}, "", Choice{Format: "torch"}, nil, ""},
		{"an unpacked archive among others", []string{"data.pkl", "m.pt", "version"}, "", Choice{}, tensor.ErrUnsupported, "m.pt"},
		{"an unpacked archive and two indexes", []string{"a.index.json", "b.index.json", "data.pkl", "version"}, "", Choice{}, tensor.ErrUnsupported, "a.index.json b.index.json"},
		{"a directory of that name", []string{"data.pkl/", "version"}, "", Choice{}, tensor.ErrUnknownFormat, ""},
		{"directories of those names", []string{"data.pkl", "version/", "byteorder/"}, "", Choice{}, tensor.ErrUnknownFormat, ""},
		{"a file of that name", []string{"data", "data.pkl"}, "", Choice{}, tensor.ErrUnknownFormat, ""},
		{"several", []string{"a.gguf", "b.pt"}, "", Choice{}, tensor.ErrUnsupported, "a.gguf b.pt"},
		{"a lost shard", []string{"x-00002-of-00002.safetensors"}, "", Choice{}, tensor.ErrUnsupported, "x-00002-of-00002.safetensors"},
		{"a pipeline", []string{"text_encoder_2/", "scheduler/"}, "", Choice{}, tensor.ErrUnknownFormat, "text_encoder_2"},
		{"what tools leave", []string{"optimizer.pt", "README.md"}, "", Choice{}, tensor.ErrUnknownFormat, "optimizer.pt"},
		{"nothing", []string{"README.md", "sub/"}, "", Choice{}, tensor.ErrUnknownFormat, ""},
	} {
		rule := Rule{Format: foreign.ByEnding, Wanted: tt.wanted, IsDirectory: func(format string) bool { return format == "tsr" }}
		got, err := rule.Choose(listed(tt.files...))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if tt.err == nil {
			expect.OK(t, err)
			continue
		}
		var u *Undecided
		if !errors.Is(err, tt.err) || !errors.As(err, &u) || strings.Join(u.Names, " ") != tt.opens {
			t.Errorf("%s: %v, want %v that names %q", tt.name, err, tt.err, tt.opens)
		}
	}
}

// TestNamed checks the error of a place where models have other names.
func TestNamed(t *testing.T) {
	rule := Rule{Format: foreign.ByEnding, IsDirectory: func(string) bool { return false }}
	_, err := rule.Choose(listed("a.gguf", "b.gguf"))
	var u *Undecided
	if !errors.As(err, &u) {
		t.Fatal(err)
	}
	got := u.Named("address", []string{"x://a.gguf", "x://b.gguf"})
	expect.Equal(t, `unsupported: the repository has several models: ["a.gguf" "b.gguf"]; open one by its address, such as x://a.gguf`, got.Error())
	expect.Equal(t, []string{"x://a.gguf", "x://b.gguf"}, got.Names)
}

// TestSnapshot checks which snapshot of a repository is chosen.
func TestSnapshot(t *testing.T) {
	for _, tt := range []struct {
		main      string
		snapshots []string
		want      string
		err       error
	}{
		{"b\n", []string{"a/", "b/"}, "b", nil},
		{"", []string{"a/", "file"}, "a", nil},
		{" \n", []string{"a/"}, "a", nil},
		{"", []string{"a/", "b/"}, "", tensor.ErrUnsupported},
		{"", nil, "", tensor.ErrUnknownFormat},
		{"c", []string{"a/"}, "", fs.ErrNotExist},
		{"file", []string{"a/", "file"}, "", fs.ErrNotExist},
		{"../a", []string{"a/"}, "", tensor.ErrCorrupt},
		{"a/b", []string{"a/"}, "", tensor.ErrCorrupt},
		{`a\b`, []string{"a/"}, "", tensor.ErrCorrupt},
		{"..", []string{"a/"}, "", tensor.ErrCorrupt},
	} {
		got, err := Snapshot(tt.main, listed(tt.snapshots...))
		if got != tt.want || tt.err != nil && !errors.Is(err, tt.err) || tt.err == nil && err != nil {
			t.Errorf("%q of %q: %q, %v, want %q, %v", tt.main, tt.snapshots, got, err, tt.want, tt.err)
		}
	}
}
