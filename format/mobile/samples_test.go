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

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// testSample runs a published sample on a MOBI file in the middle of a larger one, as assets are in a package: it must
// print its numbers, which a buffer in the wrong byte order does not (asReadOnlyBuffer resets it,
// as the documentation once overlooked), and ask for another file when a checksum is wrong.
func testSample(t *testing.T, play func(args []string) string) {
	const offset = 4096 + 4
	want := []float32{1, -2.5, 0.1, 65504, 3e-8, math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.Inf(-1)), 0, 123456.79}
	data := floats(want...)
	plan := &format.Plan{Tensors: []tensor.Info{{Name: "fc.weight", DType: tensor.Float32, Shape: tensor.Shape{2, 5}}}}
	file := written(t, "mobi", plan, &format.WriteOptions{KeepNames: true}, data)
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
	must(t, os.WriteFile(path, body, 0o600))
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
