//go:build !race

// The race detector would see nothing of the processes started here.

package mobile

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// published is what the samples open: a MOBI file in the middle of a larger one,
// as assets are in a package.
type published struct {
	path         string
	offset, size int64
}

// publish writes it, with some values that read otherwise in another byte order.
func publish(t *testing.T) (published, []byte) {
	t.Helper()
	data := floats(1, -2.5, 0.1, 65504, 3e-8, math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.Inf(-1)), 0, 123456.79)
	plan := &format.Plan{Tensors: []tensor.Info{{Name: "fc.weight", DType: tensor.Float32, Shape: tensor.Shape{2, 5}}}}
	file := written(t, "mobi", plan, &format.WriteOptions{KeepNames: true}, data)
	const offset = 4096 + 4
	body := append(bytes.Repeat([]byte{0xaa}, offset), file...)
	p := published{save(t, "base.apk", append(body, 0xbb)), offset, int64(len(file))}
	return p, data
}

func (p published) args() []string {
	return []string{p.path, strconv.FormatInt(p.offset, 10), strconv.FormatInt(p.size, 10)}
}

// values reads the tensor with Go, through the same window of the file.
func (p published) values(t *testing.T) []float32 {
	t.Helper()
	f, err := os.Open(p.path)
	must(t, err)
	defer f.Close()
	m, err := format.OpenFile(f, p.offset, p.size, nil)
	must(t, err)
	defer m.Close()
	values, err := tensor.Decode[float32](nil, m.At(0))
	must(t, err)
	return values
}

// testSample runs a published sample: it must print the numbers that Go prints,
// which a buffer in the wrong byte order does not (asReadOnlyBuffer resets it,
// as the documentation once overlooked), and ask for another file when a
// checksum is wrong.
func testSample(t *testing.T, play func(args []string) string) {
	p, data := publish(t)
	want := p.values(t)
	if diff := cmp.Diff(data, floats(want...)); diff != "" {
		t.Fatalf("Go reads other values (-want +got)\n%s", diff)
	}
	text := play(p.args())
	t.Logf("Go prints %v, the sample %s", want, strings.ReplaceAll(text, "\n", " "))
	var got []float32
	for _, line := range strings.Fields(text) {
		x, err := strconv.ParseFloat(line, 32)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		got = append(got, float32(x))
	}
	equal(t, "(-Go +sample)", fmt.Sprint(want), fmt.Sprint(got))
	p.spoil(t, data)
	equal(t, "with a wrong checksum", "download\n", play(p.args()))
}

// spoil flips a bit of the tensor.
func (p published) spoil(t *testing.T, data []byte) {
	t.Helper()
	file, err := os.ReadFile(p.path)
	must(t, err)
	file[bytes.Index(file, data)] ^= 1
	must(t, os.WriteFile(p.path, file, 0o600))
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
