package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/peers/peer"
	"github.com/weightmap/weightmap/internal/testhost"
)

// planted are readers with one fault each; the test binary runs as one of them if its argument is the
// name.
var planted = map[string]func(path string) ([]peer.Tensor, error){
	"right": func(path string) ([]peer.Tensor, error) {
		b, err := os.ReadFile(path)
		if err == nil && string(b) == "bad" {
			err = errors.New("bad")
		}
		return []peer.Tensor{{Name: "w", Data: b}}, err
	},
	"accepts": func(path string) ([]peer.Tensor, error) {
		b, err := os.ReadFile(path)
		return []peer.Tensor{{Name: "w", Data: b}}, err
	},
	"wrong values": func(path string) ([]peer.Tensor, error) {
		b, err := os.ReadFile(path)
		if err == nil && string(b) == "bad" {
			err = errors.New("bad")
		}
		return []peer.Tensor{{Name: "w", Data: []byte("x")}}, err
	},
	"loses":   func(string) ([]peer.Tensor, error) { return nil, nil },
	"refuses": func(string) ([]peer.Tensor, error) { return nil, errors.New("no") },
	"panics":  func(string) ([]peer.Tensor, error) { panic("planted") },
	"exits":   func(string) ([]peer.Tensor, error) { os.Exit(0); return nil, nil },
	"hangs":   func(string) ([]peer.Tensor, error) { time.Sleep(time.Hour); return nil, nil },
	"asks for a lot": func(string) ([]peer.Tensor, error) {
		fmt.Fprint(os.Stderr, "fatal error: runtime: out of memory\n\ngoroutine 1 [running]:\n")
		os.Exit(2)
		return nil, nil
	},
}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		if read, ok := planted[os.Args[1]]; ok {
			if err := peer.Serve("planted", read); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	os.Exit(m.Run())
}

// TestPlanted: each fault of a reader is found on every file that shows it, and a crash affects only
// its file.
func TestPlanted(t *testing.T) {
	testhost.NeedChildren(t)
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("takes a shell")
	}
	addresses = "unlimited" // the race detector takes many
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	files := write(t)
	const long, short = time.Minute, 300 * time.Millisecond
	for _, c := range []struct {
		name  string
		limit time.Duration
		want  map[fault]int
	}{
		{"right", long, map[fault]int{}},
		{"accepts", long, map[fault]int{accepts: 1}},
		{"wrong values", long, map[fault]int{wrong: 1}},
		{"loses", long, map[fault]int{accepts: 1, wrong: 1}},
		{"refuses", long, map[fault]int{refuses: 1}},
		{"panics", long, map[fault]int{crashes: 3}},
		{"exits", long, map[fault]int{crashes: 3}},
		{"hangs", short, map[fault]int{hangs: 3}},
		{"asks for a lot", long, map[fault]int{swells: 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := reader{command: func() ([]string, error) { return []string{self, c.name}, nil }}
			got, err := r.try(files, c.limit)
			if err != nil {
				t.Fatal(err)
			}
			total := 0
			for _, n := range got.faults {
				total += n
			}
			if len(got.details) != total {
				t.Errorf("%d faults, and these details: %q", total, got.details)
			}
			want := tally{version: "planted", bad: 1, good: 1, faults: c.want, details: got.details}
			if d := cmp.Diff(want, *got, cmp.AllowUnexported(tally{})); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// write writes a corpus: a good file, a malformed one, one whose verdict is a choice, and a model of
// several files, which these readers do not open.
func write(t *testing.T) []index {
	dir, sum := t.TempDir(), sha256.Sum256([]byte("good"))
	var lines []string
	for _, x := range []index{
		{Name: "good", File: "good", Want: "ok", Tensors: []struct{ Name string }{{"w"}}, SHA256: hex.EncodeToString(sum[:])},
		{Name: "bad", File: "bad", Want: "ErrCorrupt"},
		{Name: "odd", File: "odd", Want: "ErrCorrupt"},
		{Name: "several", File: "several/a", Want: "ok"},
	} {
		b, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(b))
		if !x.several() {
			if err := os.WriteFile(filepath.Join(dir, x.File), []byte(x.Name), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "index.jsonl"), []byte(strings.Join(lines, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	files, err := readIndex(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !mark(files, "o*d") || mark(files, "none") {
		t.Error("a pattern marks no case, or another than its own")
	}
	return files
}

// TestMissing: a missing reader is an error that says why.
func TestMissing(t *testing.T) {
	for _, c := range []struct {
		name, want string
		command    func() ([]string, error)
	}{
		{"no Python module", "no python3 has the module weightmap_none", func() ([]string, error) { return findPython("weightmap_none", "") }},
		{"no directory of Node", "-node does not say where it is", func() ([]string, error) { return findNode("", "") }},
	} {
		r := reader{command: c.command}
		if _, err := r.try(nil, 0); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// TestOurs: this library makes no mistake in its own corpora, and every choice matches a case.
func TestOurs(t *testing.T) {
	all, err := readCorpora(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for f, files := range all {
		got := tally{faults: map[fault]int{}}
		for i := range files {
			var a peer.Answer
			if a.Tensors, err = readOurs(files[i].path); err != nil {
				a.Error = err.Error()
			}
			got.count(&files[i], a, "", a.Error)
		}
		if len(got.details) != 0 || got.bad < 15 || got.good < 10 {
			t.Errorf("%s: %d malformed and %d good files: %q", f, got.bad, got.good, got.details)
		}
	}
}

// TestRows: rows converts data from Fortran order to C order, and leaves it alone if the shape does
// not fit.
func TestRows(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns bool
		shape   []int64
		want    string
	}{
		{"rows already", false, nil, "abcdef"},
		{"a matrix", true, []int64{2, 3}, "acebdf"},
		{"elements of two bytes", true, []int64{3, 1}, "abcdef"},
		{"elements of two bytes in a matrix", true, []int64{1, 3}, "abcdef"},
		{"three dimensions", true, []int64{1, 2, 3}, "acebdf"},
		{"negative", true, []int64{-2, 3}, "abcdef"},
		{"too many", true, []int64{4, 1 << 62}, "abcdef"},
		{"not a divisor", true, []int64{4}, "abcdef"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := rows(peer.Tensor{Data: []byte("abcdef"), Columns: c.columns, Shape: c.shape})
			if d := cmp.Diff(c.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestChoices(t *testing.T) {
	for _, text := range []string{"[gguf]\n[", "[none]", "[gguf]\n[a-"} {
		if all, err := parseChoices(text); err == nil {
			t.Errorf("%q: %v", text, all)
		}
	}
	got, err := parseChoices("# why\n[gguf]\na\n\nb *\n")
	if d := cmp.Diff(map[string][]string{"gguf": {"a", "b *"}}, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}
