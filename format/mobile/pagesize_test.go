//go:build !race

// The race detector would see nothing of the processes started here.

package mobile

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// pageSize is the largest that Android devices have. They load no library whose segments are aligned
// to less.
const pageSize = 16384

// alignment returns the smallest alignment of the segments that are loaded.
func alignment(t *testing.T, library string) uint64 {
	t.Helper()
	f, err := elf.Open(library)
	must(t, err)
	defer f.Close()
	least := uint64(0)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && (least == 0 || p.Align < least) {
			least = p.Align
		}
	}
	return least
}

// TestPageSize builds a shared library with the documented -ldflags and without: as NDKs before r28
// do, with pages of 4096 bytes. The documented command for looking at a library tells them apart too.
func TestPageSize(t *testing.T) {
	if testing.Short() {
		t.Skip("links shared libraries")
	}
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	const old = "-ldflags=-extldflags=-Wl,-z,max-page-size=4096"
	documented := strings.Replace(bindFlag(t, "-ldflags="), "-Wl,", "-Wl,-z,max-page-size=4096,", 1) // the NDK's own flag comes first
	tests := []struct {
		name  string
		flags string
		want  uint64
	}{
		{"NDK before r28", old, 4096},
		{"documented", documented, pageSize},
	}
	for _, target := range []struct{ arch, cc string }{{"amd64", "gcc"}, {"arm64", "aarch64-linux-gnu-gcc"}} {
		for _, test := range tests {
			t.Run(target.arch+" "+test.name, func(t *testing.T) {
				library := sharedLibrary(t, target.arch, target.cc, test.flags)
				if got := alignment(t, library); got != test.want {
					t.Errorf("segments are aligned to %d bytes, want %d", got, test.want)
				}
				t.Run("command", func(t *testing.T) { checkCommand(t, library, test.want == pageSize) })
			})
		}
	}
}

// sharedLibrary builds a library of one function.
func sharedLibrary(t *testing.T, arch, cc, flags string) (path string) {
	t.Helper()
	if arch == runtime.GOARCH {
		cc = goEnv(t, "CC")
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skipf("no C compiler for %s: install %s", arch, cc)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module library\n\ngo 1.25.0\n")
	write(t, filepath.Join(dir, "main.go"), "package main\n\nimport \"C\"\n\n//export One\nfunc One() int { return 1 }\n\nfunc main() {}\n")
	t.Setenv("CGO_ENABLED", "1")
	t.Setenv("GOARCH", arch)
	t.Setenv("CC", cc)
	path = filepath.Join(dir, "libgojni.so")
	run(t, dir, "go", "build", "-buildmode=c-shared", "-o", path, flags, ".")
	return path
}

// checkCommand runs the documented commands on an archive with the library, with the readelf of this
// system.
func checkCommand(t *testing.T, library string, aligned bool) {
	for _, tool := range []string{"readelf", "unzip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s: install it", tool)
		}
	}
	var commands string
	for _, sample := range documented(t) {
		if strings.HasPrefix(sample, "unzip ") {
			commands = strings.ReplaceAll(sample, "llvm-readelf", "readelf")
		}
	}
	dir := t.TempDir()
	text, err := os.ReadFile(library)
	must(t, err)
	var aar bytes.Buffer
	z := zip.NewWriter(&aar)
	w, err := z.Create("jni/arm64-v8a/libgojni.so")
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = z.Close()
	}
	must(t, err)
	write(t, filepath.Join(dir, "mobile.aar"), aar.String())
	command := exec.Command("sh", "-ec", commands)
	command.Dir = dir
	text, err = command.Output()
	must(t, err)
	sizes := regexp.MustCompile(`LOAD.* (0x\w+)`).FindAllStringSubmatch(string(text), -1)
	if len(sizes) == 0 {
		t.Fatalf("no segments in\n%s", text)
	}
	for _, s := range sizes {
		if (s[1] == "0x4000") != aligned {
			t.Errorf("a segment is aligned to %s:\n%s", s[1], text)
		}
	}
}
