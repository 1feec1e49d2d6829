package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/peers/golang/library"
)

// planted are readers with one fault each; the test binary runs as one of them if its first argument is
// the name.
var planted = map[string]func(path string) answer{
	"right":        func(path string) answer { return content(path, "bad") },
	"accepts":      func(path string) answer { return content(path, "") },
	"wrong values": func(path string) answer { a := content(path, "bad"); a.Tensors[0].Data = nil; return a },
	"loses":        func(string) answer { return answer{} },
	"refuses":      func(string) answer { return answer{Error: "no"} },
	"panics":       func(string) answer { panic("planted") },
	"exits":        func(string) answer { os.Exit(0); return answer{} },
	"hangs":        func(string) answer { time.Sleep(time.Hour); return answer{} },
	"asks for a lot": func(string) answer {
		fmt.Fprint(os.Stderr, "fatal error: runtime: out of memory\n\ngoroutine 1 [running]:\n")
		os.Exit(2)
		return answer{}
	},
}

// content returns the content of a file as a tensor, and an error if it is bad.
func content(path, bad string) answer {
	b, err := os.ReadFile(path)
	if err == nil && string(b) == bad {
		err = errors.New("bad")
	}
	a := answer{Version: "planted", Tensors: []library.Tensor{{Name: "w", Data: b}}}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		if read, ok := planted[os.Args[1]]; ok {
			json.NewEncoder(os.Stdout).Encode(read(os.Args[2]))
			return
		}
	}
	os.Exit(m.Run())
}

// TestPlanted: each fault of a reader is found on every file that shows it, and a crash affects only
// its file.
func TestPlanted(t *testing.T) {
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
			r := reader{command: []string{self, c.name}}
			got := r.try(files, c.limit)
			total := 0
			for _, n := range got.faults {
				total += n
			}
			if len(got.details) != total {
				t.Errorf("%d faults, and these details: %q", total, got.details)
			}
			want := tally{version: got.version, bad: 1, good: 1, faults: c.want, details: got.details}
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
	if err := mark(map[string][]index{"all": files}, "# why\n[all]\n\no*d\n"); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"[all]\nnone", "[none]\nodd", "[all]\no[d"} {
		if mark(map[string][]index{"all": files}, text) == nil {
			t.Errorf("%q marks a case", text)
		}
	}
	return files
}

// TestMissing: a missing reader says why.
func TestMissing(t *testing.T) {
	for _, r := range []reader{python("none", "weightmap_none", ""), javaScript("none", t.TempDir(), "")} {
		if r.missing == "" {
			t.Errorf("%q is there", r.command)
		}
	}
}

// TestOurs: this library makes no mistake in its own corpora, and every choice matches a case.
func TestOurs(t *testing.T) {
	t.Chdir("..")
	all, err := readCorpora()
	if err != nil {
		t.Fatal(err)
	}
	for f, files := range all {
		got := tally{faults: map[fault]int{}}
		for i := range files {
			a := linked[0].answer(files[i].path)
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
			got := rows(library.Tensor{Data: []byte("abcdef"), Columns: c.columns, Shape: c.shape})
			if d := cmp.Diff(c.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
