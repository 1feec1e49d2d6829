package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

// archive makes a ZIP file of empty entries.
func archive(t *testing.T, names ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		if _, err := w.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	expect.OK(t, w.Close())
	return b.String()
}

// TestForeign: files that are not supported are refused with what they are and what to
// do, on one line, whatever their names end in.
func TestForeign(t *testing.T) {
	const pickle = "this is a Python pickle of a value of type dict, without tensors or arrays"
	const flow = "this is a TensorFlow or TensorFlow Lite model: convert it with python -m tf2onnx.convert"
	for _, tt := range []struct {
		name, content string
		want          string
	}{
		{"m.pt", "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", "pickle: truncated"},
		{"m.pth", "\x80\x03}q\x00.", pickle},
		{"pytorch_model.bin", archive(t, "archive/data.pkl", "archive/data/0"), "pickle: truncated"},
		{"script.pt", archive(t, "m/data.pkl", "m/code/__torch__.py"), "pickle: truncated"},
		{"m.keras", archive(t, "metadata.json", "config.json", "model.weights.h5"), "this is an HDF5 file, as Keras writes them"},
		{"frozen.pb", "\x0a\x05\x0a\x01x\x12\x00", flow},
		{"m.mlmodel", "\x08\x04\x12\x02\x0a\x00", "this is a Core ML model"},
		// What is none of them is still an unknown format.
		{"other.pt", "\x80\x06}", "format"},
		{"empty.pt", "", "format"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tt.name)
			expect.OK(t, os.WriteFile(path, []byte(tt.content), 0o666))
			for _, args := range [][]string{
				{"inspect", path}, {"inspect", "-json", path}, {"verify", path}, {"diff", path, path}, {"cat", path, "w"},
				{"convert", path, path + ".mag"},
			} {
				out, errs := tool(t, 1, args...)
				errs, advice, _ := strings.Cut(errs, "\n")
				if out != "" || advice != "" && !strings.HasPrefix(advice, "no option helps against damage: ") {
					t.Errorf("%q: %q, %q, %q", args, out, errs, advice)
				}
				contains(t, errs, tt.want)
				if strings.HasPrefix(tt.want, "this") && !strings.HasPrefix(errs, "weightmap: "+path+": "+tt.want) && tt.name != "m.pth" && tt.name != "m.keras" {
					t.Errorf("%q: %s", args, errs)
				}
			}
		})
	}
}

// TestForeignDirectory: models that are directories are known by what is in them.
func TestForeignDirectory(t *testing.T) {
	saved := t.TempDir()
	expect.OK(t, os.WriteFile(filepath.Join(saved, "saved_model.pb"), []byte("\x08\x01"), 0o666))
	ml := filepath.Join(t.TempDir(), "m.mlpackage")
	expect.OK(t, os.Mkdir(ml, 0o777))
	for path, want := range map[string]string{saved: "this is a TensorFlow or TensorFlow Lite model", ml: "this is a Core ML model"} {
		_, errs := tool(t, 1, "inspect", path)
		contains(t, errs, "weightmap: "+path+": "+want)
	}
}

// input makes content what comes through standard input, from a file or a pipe.
func input(t *testing.T, content []byte, pipe bool) {
	t.Helper()
	old := modelfile.Stdin
	t.Cleanup(func() { modelfile.Stdin = old })
	path := filepath.Join(t.TempDir(), "input")
	expect.OK(t, os.WriteFile(path, content, 0o666))
	f, err := os.Open(path)
	expect.OK(t, err)
	t.Cleanup(func() { f.Close() })
	modelfile.Stdin = f
	if !pipe {
		return
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Skip("no pipes here: ", err)
	}
	t.Cleanup(func() { r.Close() })
	go func() {
		_, _ = w.Write(content)
		w.Close()
	}()
	modelfile.Stdin = r
}

// TestStandardInput: - is what comes through standard input, redirected or piped.
func TestStandardInput(t *testing.T) {
	content := expect.Read(t, model(t, "mag", "m.mag"))
	for _, pipe := range []bool{false, true} {
		t.Run(fmt.Sprintf("pipe=%v", pipe), func(t *testing.T) {
			run := func(want string, args ...string) {
				t.Helper()
				input(t, content, pipe)
				out, _ := tool(t, 0, args...)
				contains(t, out, want)
			}
			run("-: mag 1, 2 tensors, 384 bytes\n", "inspect", "-")
			run(`"file_size": 384`, "inspect", "-json", "-")
			run("-: ok (mag 1, 2 tensors, 384 bytes)\n", "verify", "-")
			run("1 2\n3 4\n", "cat", "-", "w")
			target := filepath.Join(t.TempDir(), "m.safetensors")
			run(target+": written (safetensors", "convert", "-lossy", "-", target)
			run("1 2\n3 4\n", "cat", target, "w")

			input(t, []byte("\x80\x02}."), pipe)
			_, errs := tool(t, 1, "inspect", "-")
			contains(t, errs, ": this is a Python pickle")
			input(t, nil, pipe)
			_, errs = tool(t, 1, "verify", "-")
			contains(t, errs, "unknown format")
		})
	}
}

func TestVersion(t *testing.T) {
	out, _ := tool(t, 0, "version")
	contains(t, out, "weightmap "+release+"\n", "\ngo", "\nformats: "+strings.Join(format.Names(), ", ")+"\n")
	modified := &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
	}}
	contains(t, versionText(modified), "\nrevision abc of 2026-01-02T03:04:05Z, modified\ngo")
	contains(t, versionText(&debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20260102-abc"}}), "\nmodule v0.0.0-20260102-abc\ngo")
	expect.Equal(t, versionText(nil), versionText(&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}))
}

// TestRelease: the newest version of CHANGELOG, below what is unreleased, is this one, and README installs it.
func TestRelease(t *testing.T) {
	changes := expect.Read(t, filepath.Join("..", "..", "CHANGELOG.md"))
	if m := regexp.MustCompile(`(?m)^## (\d\S+)`).FindSubmatch(changes); m == nil || string(m[1]) != release {
		t.Errorf("CHANGELOG begins with %q", m)
	}
	contains(t, string(expect.Read(t, filepath.Join("..", "..", "README.md"))), "weightmap@latest")
}

// TestOutput: -o names the file that a command writes.
func TestOutput(t *testing.T) {
	in := model(t, "mag", "m.mag")
	t.Chdir(t.TempDir())
	private, _ := pair(t, "ed25519")
	prints(t, "", "cat", in, "w", "-as", "csv", "-o", "w.csv")
	expect.Equal(t, "1,2\n3,4\n", string(expect.Read(t, "w.csv")))
	tool(t, 0, "inspect", "-html", in, "-o", "m.html")
	contains(t, string(expect.Read(t, "m.html")), "<!doctype html>", "m.mag")
	tool(t, 0, "inspect", "-json", "-o", "m.json", in, in)
	if got := bytes.Count(expect.Read(t, "m.json"), []byte("\n")); got != 2 {
		t.Errorf("%d lines of JSON", got)
	}
	out, _ := tool(t, 0, "convert", "-o", "m.safetensors", "-lossy", in)
	contains(t, out, "m.safetensors: written")
	out, _ = tool(t, 0, "convert", in, "-lossy", "-o", "m.mle")
	contains(t, out, "m.mle: written")
	out, _ = tool(t, 0, "sign", "m.mle", "-with", private, "-o", "signed.mle")
	contains(t, out, "signed.mle: signed")
	out, _ = tool(t, 0, "set", in, "epoch=8", "-o", "m.mag")
	contains(t, out, "m.mag: written (mag, 2 entries)")
	for _, args := range [][]string{{"inspect", "-html", in, "-o", in}, {"cat", "-o", in, in, "w"}} {
		_, errs := tool(t, 2, args...)
		contains(t, errs, "-o "+in+" would replace the input file")
	}
	_, errs := tool(t, 1, "cat", "-o", "none.csv", in, "none")
	if _, err := os.Stat("none.csv"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, and a file: %v", errs, err)
	}
}

// TestAddresses: what reads a file reads one behind HTTP.
func TestAddresses(t *testing.T) {
	path := model(t, "mag", "m.mag")
	past := time.Now().Add(-time.Minute)
	expect.OK(t, os.Chtimes(path, past, past)) // a file that has just been written has no version
	s := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(path))))
	defer s.Close()
	address := s.URL + "/" + filepath.Base(path)
	secret := strings.Replace(address, "://", "://user:s3cr3t@", 1) + "?sig=s3cr3t"
	copied := filepath.Join(t.TempDir(), "copy"+filepath.Ext(path))
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"inspect", []string{"inspect", address}, 0, address},
		{"verify", []string{"verify", address}, 0, address + ": ok"},
		{"convert", []string{"convert", address, copied}, 0, ""},
		{"diff", []string{"diff", address, path}, 0, ""},
		{"missing", []string{"inspect", s.URL + "/none?sig=s3cr3t"}, 1, "404 Not Found"},
		{"inspect with credentials", []string{"inspect", secret}, 0, address + ": mag"},
		{"inspect -json with credentials", []string{"inspect", "-json", secret}, 0, `"path": "` + address + `"`},
		{"inspect a missing tensor with credentials", []string{"inspect", "-filter", "none", secret}, 1, "no tensor matches"},
		{"verify with credentials", []string{"verify", secret}, 0, address + ": ok"},
		{"diff with credentials", []string{"diff", secret, path}, 0, ""},
		{"cat a missing tensor with credentials", []string{"cat", secret, "none"}, 1, "none"},
		{"convert no tensor with credentials", []string{"convert", "-only", "none", secret, copied}, 1, "no tensor matches"},
		{"bench", []string{"bench", address}, 2, "bench takes a file, not an address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, errs := tool(t, tt.status, tt.args...)
			if !strings.Contains(out+errs, tt.says) || strings.Contains(out+errs, "s3cr3t") {
				t.Errorf("%s%s", out, errs)
			}
		})
	}
}
