package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "github.com/weightmap/weightmap/internal/corpus" // defines -update
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestREADME runs the README's commands, one after the other, on a file as torch.save
// writes it, and compares what they print with what the README shows.
func TestREADME(t *testing.T) {
	testhost.NeedMaps(t)
	if !memory.LittleEndian {
		t.Skip("inspect says that views are copies on a big-endian host")
	}
	path, err := filepath.Abs(filepath.Join("..", "..", "README.md"))
	expect.OK(t, err)
	readme := string(expect.Read(t, path))
	session := regexp.MustCompile(`(?m)^    \$ .*\n(?:\n*    .*\n)*`).FindString(readme)
	commands := regexp.MustCompile(`(?m)^    \$ weightmap (.*)$`).FindAllStringSubmatch(session, -1)
	if len(commands) < 6 {
		t.Fatalf("README has %d commands", len(commands))
	}
	t.Chdir(t.TempDir())
	var data []byte
	for i := range 64 * 32 {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(math.Sin(float64(i)))))
	}
	writeTorch(t, "model.pt", []pickled{
		{"fc.bias", "Float", []byte{64}, data[:4*64]}, {"fc.weight", "Float", []byte{64, 32}, data}, {"bn1.num_batches_tracked", "Long", nil, []byte{9, 0, 0, 0, 0, 0, 0, 0}},
	})
	want := ""
	for _, c := range commands {
		var out bytes.Buffer
		run(t.Context(), strings.Fields(c[1]), &out, &out)
		want += "$ weightmap " + c[1] + "\n" + out.String()
	}
	want = regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(want, "    $1")
	if flag.Lookup("update").Value.String() == "true" {
		expect.OK(t, os.WriteFile(path, []byte(strings.Replace(readme, session, want, 1)), 0o666))
	} else if diff := cmp.Diff(want, session); diff != "" {
		t.Errorf("-printed +README (-update writes it)\n%s", diff)
	}
}

// pickled is a tensor of a state_dict: its storage type and its dims, each below 256.
type pickled struct {
	name, storage string
	dims          []byte
	data          []byte
}

// writeTorch writes a state_dict in the bytes that torch.save gives it, opcode by opcode.
func writeTorch(t *testing.T, path string, list []pickled) {
	t.Helper()
	text := func(s string) string { return "X" + string([]byte{byte(len(s)), 0, 0, 0}) + s }
	const ordered = "ccollections\nOrderedDict\n)R" // an empty one
	pickle := "\x80\x02" + ordered + "("
	for i, s := range list {
		dims, strides, n := "", "", 1
		for k := len(s.dims) - 1; k >= 0; k-- {
			dims, strides = "K"+string(s.dims[k:k+1])+dims, "K"+string([]byte{byte(n)})+strides
			n *= int(s.dims[k])
		}
		pickle += text(s.name) + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + s.storage + "Storage\n" + text(strconv.Itoa(i)) + text("cpu") +
			"M" + string([]byte{byte(n), byte(n >> 8)}) + "tQK\x00(" + dims + "t(" + strides + "t\x89" + ordered + "tR"
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	put := func(name string, data []byte) {
		expect.OK(t, w.Flush())
		name = "model/" + name
		padding := -(b.Len() + 30 + len(name) + 4) & 63 // data begins at a multiple of 64
		extra := append([]byte{'F', 'B', byte(padding), 0}, make([]byte, padding)...)
		e, err := w.CreateHeader(&zip.FileHeader{Name: name, Extra: extra})
		expect.OK(t, err)
		e.Write(data)
	}
	put("data.pkl", []byte(pickle+"u."))
	for i, s := range list {
		put("data/"+strconv.Itoa(i), s.data)
	}
	put("version", []byte("3\n"))
	expect.OK(t, errors.Join(w.Close(), os.WriteFile(path, b.Bytes(), 0o666)))
}

// commandsOf are the commands that documents tell you to run, by kind.
var commandsOf = func() map[string]*regexp.Regexp {
	const before = "(?m)(?:^    |^//\t|`)(?:cd (?P<cd>\\S+) && )?(?:\\w+=\\S+ )*(?:nice -n \\d+ )?"
	return map[string]*regexp.Regexp{
		"run":    regexp.MustCompile(before + "go run (?:-C (?P<dir>\\S+) )?(?P<path>\\.[^\\s`,]*)"),
		"test":   regexp.MustCompile(before + "go test (?P<flags>(?:-\\S+ (?:[^\\s.-]\\S* )?)*)(?P<path>\\.[^\\s`,]*)(?P<after>[^`\\n]*)"),
		"doc":    regexp.MustCompile(before + "go doc (?:-u )?(?P<path>\\./\\S+)"),
		"script": regexp.MustCompile(before + "bash (?P<path>\\.\\S+?)`"),
	}
}()

// chosen finds the names of tests and benchmarks among options of go test.
var chosen = regexp.MustCompile(`-(run|bench) (\w+)`)

// TestCommands: the commands that the documents tell you to run exist: programs, packages and their
// tests and benchmarks, scripts.
func TestCommands(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	documents := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "examples/README.md", "internal/bench/README.md"}
	for _, pattern := range []string{"*/doc.go", "*/*/doc.go", "*/*/main.go"} {
		found, err := fs.Glob(root, pattern)
		expect.OK(t, err)
		documents = append(documents, found...)
	}
	counts := map[string]int{}
	for _, name := range documents {
		text, err := fs.ReadFile(root, name)
		expect.OK(t, err)
		for kind, command := range commandsOf {
			for _, m := range command.FindAllStringSubmatch(string(text), -1) {
				counts[kind]++
				part := map[string]string{}
				for i, of := range command.SubexpNames() {
					part[of] = m[i]
				}
				at := path.Join(part["cd"], part["dir"], part["path"])
				err := checkCommand(root, strings.TrimSuffix(at, "/..."), part["flags"]+part["after"])
				if err != nil {
					t.Errorf("%s: %s: %v", name, m[0], err)
				}
			}
		}
	}
	for kind, least := range map[string]int{"run": 20, "test": 10, "doc": 1, "script": 3} {
		if counts[kind] < least {
			t.Errorf("%d commands: %s, there are more", counts[kind], kind)
		}
	}
}

// checkCommand returns an error if there is no package or script at a path, or no test or benchmark
// in it that options of go test choose.
func checkCommand(root fs.FS, at, options string) error {
	if at == "..." {
		return nil
	}
	st, err := fs.Stat(root, at)
	if err != nil || !st.IsDir() {
		return err
	}
	files, err := fs.Glob(root, path.Join(at, "*.go"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no package: %w", err)
	}
	for _, m := range chosen.FindAllStringSubmatch(options, -1) {
		word := map[string]string{"run": "Test", "bench": "Benchmark"}[m[1]]
		function := regexp.MustCompile(`func ` + word + `\w*` + strings.TrimPrefix(m[2], word))
		isIn := func(file string) bool {
			text, err := fs.ReadFile(root, file)
			return err == nil && strings.HasSuffix(file, "_test.go") && function.Match(text)
		}
		if !slices.ContainsFunc(files, isIn) {
			return fmt.Errorf("nothing is called %s", m[2])
		}
	}
	return nil
}
