//go:build !race

// The race detector would see nothing of the processes started here.

package mobile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// desktop is a JVM of this machine with the library: gobind's own C code does
// not need Android, only its log.h.
type desktop struct {
	java    string
	classes string // of the bindings, and of what stands in for Android's
	lib     string // directory of the shared libraries
}

// newDesktop compiles what gobind has generated in out, and the classes that are
// shipped as source.
func newDesktop(t *testing.T, b binder, out string) *desktop {
	t.Helper()
	java, err := exec.LookPath("java")
	if err != nil {
		t.Skip("no java: install a JDK")
	}
	d := &desktop{java: java, classes: t.TempDir()}
	compileJava(t, d.classes, "", filepath.Join(out, "java"), "testdata/java", "android")
	lib := buildJNI(t, b, out, "weightmap_jni", bindFlag(t, "-ldflags="))
	f, err := elf.Open(lib)
	expect.OK(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Align < pageSize {
			t.Errorf("a segment is aligned to %d bytes, want %d", p.Align, pageSize)
		}
	}
	d.lib = filepath.Dir(lib)
	return d
}

// pageSize is the largest that Android devices have. They load no library whose segments are aligned
// to less.
const pageSize = 16384

// run runs a class and returns what it prints.
func (d *desktop) run(t *testing.T, path []string, class string, args ...string) string {
	t.Helper()
	path = append([]string{d.classes}, path...)
	// The class that stands in for ParcelFileDescriptor looks into java.io.
	cmd := exec.Command(d.java, append([]string{"--add-opens=java.base/java.io=ALL-UNNAMED", "-Djava.library.path=" + d.lib,
		"-cp", strings.Join(path, string(filepath.ListSeparator)), class}, args...)...)
	var errs strings.Builder
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, errs.String())
	}
	return string(text)
}

// compileJava compiles the Java files below some directories.
func compileJava(t *testing.T, classes, path string, dirs ...string) {
	t.Helper()
	javac, err := exec.LookPath("javac")
	if err != nil {
		t.Skip("no javac: install a JDK")
	}
	args := []string{"-encoding", "UTF-8", "-cp", path, "-d", classes}
	for _, dir := range dirs {
		for name := range generated(t, dir) {
			if strings.HasSuffix(name, ".java") {
				args = append(args, filepath.Join(dir, name))
			}
		}
	}
	run(t, "", javac, args...)
}

// testApp runs an app that uses every part of the bindings.
func testApp(t *testing.T, d *desktop) {
	classes := t.TempDir()
	compileJava(t, classes, d.classes, "testdata/run", "testdata/samples")
	file, want := sample(t)
	path := save(t, "m.mag", file)
	fc, ids := want.Tensors[0], want.Tensors[1]
	lines := fmt.Sprintf(`mag 1  {"epoch":3} 
fc.weight float32 2 3 2,3 6 24 %[1]d true
ids int32 5 5 5 20 %[2]d true
from bytes true
true false true
fc.weight float32[2, 3] 6 24 %[1]d truefalse2
ids int32[5] 5 20 %[2]d truefalse1
6 different, converted %[3]d
sum -3.0, progress true, needs key false
ok, covered true, 0 uncovered, xxh64, true
CANCELED FILE NOT_FOUND KEY
other true
within true
CLOSED CLOSED
CLOSED: mag: model: closed closed
CLOSED
`, fc.Place, ids.Place, int(float32(binary.LittleEndian.Uint32(ids.Data[4:]))))
	equal(t, "", lines, d.run(t, []string{classes}, "app.App", path))
}

// TestLibrarySize prints how large the library for the formats of a budget is, stripped, and
// fails when it is beyond it with its relocations packed, as the package's documentation
// says. A step of .ci/nightly asks for it, as "weightmap_mobi=3000000" for example.
func TestLibrarySize(t *testing.T) {
	tag, limit, asked := strings.Cut(os.Getenv("WEIGHTMAP_LIBRARY"), "=")
	if !asked {
		t.Skip("no budget in WEIGHTMAP_LIBRARY")
	}
	budget, err := strconv.ParseInt(limit, 10, 64)
	expect.OK(t, err)
	b := findGobind(t)
	out := b.bind(t)
	for _, relocations := range []string{"plain", "packed"} {
		flags := "-ldflags=-s -w " + strings.TrimPrefix(bindFlag(t, "-ldflags="), "-ldflags=")
		if relocations == "packed" {
			flags += ",-z,pack-relative-relocs"
		}
		lib, err := os.Stat(buildJNI(t, b, out, "weightmap_jni,"+tag, "-trimpath", flags))
		expect.OK(t, err)
		t.Logf("libgojni with %s, relocations %s: %d kB", tag, relocations, lib.Size()/1000)
		if relocations == "packed" && lib.Size() > budget {
			t.Errorf("beyond its budget of %d kB", budget/1000)
		}
	}
}

// buildJNI builds the shared library that gobind's Java classes load, and
// returns its path.
func buildJNI(t *testing.T, b binder, out, tags string, flags ...string) (lib string) {
	t.Helper()
	if runtime.GOOS != "linux" || goEnv(t, "GOHOSTARCH") != runtime.GOARCH || goEnv(t, "CGO_ENABLED") != "1" {
		t.Skip("needs Linux and cgo")
	}
	if _, err := exec.LookPath(goEnv(t, "CC")); err != nil {
		t.Skip("no C compiler")
	}
	include := jdkInclude(t)
	dir := t.TempDir()
	sources, err := filepath.Glob(filepath.Join(out, "src", "gobind", "*.[cgh]*"))
	expect.OK(t, err)
	copyFiles(t, dir, append(sources, "../../go.sum")...)
	for _, name := range sources {
		adapt(t, dir, filepath.Base(name))
	}
	root, err := filepath.Abs("../..")
	expect.OK(t, err)
	// Flags in a source file, unlike CGO_CFLAGS, leave the build cache alone. -w:
	// the JDK declares AttachCurrentThread otherwise than Android does.
	write(t, filepath.Join(dir, "flags.go"), fmt.Sprintf("package main\n\n// #cgo CFLAGS: -w -D__GOBIND_ANDROID__ -I%q -I%q -I%q\nimport \"C\"\n",
		include, filepath.Join(include, "linux"), filepath.Join(root, "format", "mobile", "testdata", "jni")))
	write(t, filepath.Join(dir, "go.mod"), "module gobind\n\ngo 1.25.0\n")
	const weightmap = "github.com/weightmap/weightmap"
	run(t, dir, "go", "mod", "edit", "-require="+b.module, "-require="+weightmap+"@v0.0.0", "-replace="+weightmap+"="+root)
	// The C code of this package looks for jni.h too; CPATH is not in the key of the build cache.
	t.Setenv("CPATH", include+string(filepath.ListSeparator)+filepath.Join(include, "linux"))
	lib = filepath.Join(dir, "libgojni.so")
	run(t, dir, "go", append([]string{"build", "-mod=mod", "-tags=" + tags, "-buildmode=c-shared", "-o", lib}, append(flags, ".")...)...)
	return lib
}

// adapt drops a file for Apple's systems, and makes one for Android a file for
// all.
func adapt(t *testing.T, dir, name string) {
	t.Helper()
	path := filepath.Join(dir, name)
	ext := filepath.Ext(name)
	text, err := os.ReadFile(path)
	expect.OK(t, err)
	switch base := strings.TrimSuffix(name, ext); {
	case strings.HasSuffix(base, "_darwin"):
		err = os.Remove(path)
	case strings.HasSuffix(base, "_android") && ext != ".h":
		err = os.Remove(path)
		path = filepath.Join(dir, strings.TrimSuffix(base, "_android")+"_jvm"+ext)
		write(t, path, strings.ReplaceAll(string(text), "//#cgo LDFLAGS: -llog\n", ""))
	}
	expect.OK(t, err)
}

// jdkInclude returns the directory of jni.h.
func jdkInclude(t *testing.T) string {
	t.Helper()
	javac, err := exec.LookPath("javac")
	if err == nil {
		javac, err = filepath.EvalSymlinks(javac)
	}
	dir := filepath.Join(filepath.Dir(javac), "..", "include")
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "jni.h"))
	}
	if err != nil {
		t.Skipf("no jni.h where javac is: %v", err)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
}

// run runs a command in a directory.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, text)
	}
}

// testSample runs a published sample on a MOBI file in the middle of a larger one, as assets are in a package: it must
// print its numbers, which a buffer in the wrong byte order does not (asReadOnlyBuffer resets it,
// as the documentation once overlooked), and ask for another file when a checksum is wrong.
func testSample(t *testing.T, play func(args []string) string) {
	const offset = 4096 + 4
	want := []float32{1, -2.5, 0.1, 65504, 3e-8, math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.Inf(-1)), 0, 123456.79}
	data := floats(want...)
	s := &schema.Schema{Tensors: []tensor.Info{{Name: "fc.weight", DType: tensor.Float32, Shape: tensor.Shape{2, 5}}}}
	file := written(t, "mobi", s, &format.WriteOptions{KeepNames: true}, data)
	body := append(append(bytes.Repeat([]byte{0xaa}, offset), file...), 0xbb)
	path := save(t, "base.apk", body)
	args := []string{path, strconv.Itoa(offset), strconv.Itoa(len(file))}
	text := play(args)
	var got []float32
	for _, line := range strings.Fields(text) {
		x, err := strconv.ParseFloat(line, 32)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		got = append(got, float32(x))
	}
	equal(t, "numbers", fmt.Sprint(want), fmt.Sprint(got))
	body[bytes.Index(body, data)] ^= 1
	expect.OK(t, os.WriteFile(path, body, 0o600))
	equal(t, "with a wrong checksum", "download\n", play(args))
}

func testJavaSample(t *testing.T, d *desktop) {
	classes := t.TempDir()
	compileJava(t, classes, d.classes, "testdata/run", "testdata/samples")
	testSample(t, func(args []string) string { return d.run(t, []string{classes}, "com.example.RunSample", args...) })
}

func testKotlinSample(t *testing.T, d *desktop) {
	home := os.Getenv("KOTLIN_HOME")
	if home == "" {
		t.Skip("no Kotlin compiler: install one, and set KOTLIN_HOME")
	}
	compiler := filepath.Join(home, "lib", "kotlin-compiler.jar")
	classes := t.TempDir()
	run(t, "", d.java, "-cp", compiler, "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-kotlin-home", home, "-no-reflect", "-Werror",
		"-cp", d.classes, "-d", classes, "testdata/samples/Sample.kt", "testdata/run/RunSample.kt")
	path := []string{classes, filepath.Join(home, "lib", "kotlin-stdlib.jar")}
	testSample(t, func(args []string) string { return d.run(t, path, "com.example.RunSample", args...) })
}
