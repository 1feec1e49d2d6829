package main

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/examples/internal/transcript"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// TestEveryCommand: each explains itself on standard output, with an example of its own,
// and a wrong option is one line on standard error, before the usage.
func TestEveryCommand(t *testing.T) {
	for _, c := range commands {
		name := strings.TrimPrefix(c.Name, "weightmap ")
		t.Run(name, func(t *testing.T) {
			for _, help := range []string{"-h", "-help", "--help"} {
				out, errs := tool(t, 0, name, help)
				contains(t, out, strings.TrimSpace("usage: "+c.Name+" "+c.Args)+"\n\n"+c.About+"\n", "\n  -help ", "\nexample:\n  "+c.Name)
				if errs != "" {
					t.Errorf("help on standard error: %q", errs)
				}
				for line := range strings.Lines(out) {
					if len(line) > 140 {
						t.Errorf("a line of %d characters: %s", len(line), line)
					}
				}
			}
			wrong := [][]string{{"-no-such-option"}}
			if c.Args != "" && c != helpCommand {
				wrong = append(wrong, nil) // no arguments
			}
			for _, args := range wrong {
				out, errs := tool(t, 2, append([]string{name}, args...)...)
				if out != "" || strings.Count(errs, "\n") != 2 || !strings.HasSuffix(errs, "\n"+strings.TrimSpace("usage: "+c.Name+" "+c.Args)+"\n") {
					t.Errorf("%q: %q, %q", args, out, errs)
				}
			}
		})
	}
}

// TestGolden runs the commands in testdata/commands.txt and compares all that they print.
func TestGolden(t *testing.T) {
	testhost.NeedMaps(t)
	if !testhost.AsHost(8) {
		t.Skip("on a big-endian system most tensors are copied, and the table says so")
	}
	want, got := transcript.Of(t, "testdata/commands.txt", "weightmap", func() { putGolden(t) }, run)
	expect.Equal(t, want, got)
}

// message is a field of bytes: those of text, or messages in it.
func message(num protowire.Number, parts ...string) string {
	return string(protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), strings.Join(parts, "")))
}

// putNative writes an ONNX model with a function, and one with another operator in the function.
func putNative(t *testing.T) {
	t.Helper()
	graph := message(1, message(1, "x"), message(2, "y"), message(4, "Twice"), message(7, "mine"), message(6, "doc")) + message(2, "g") + message(11, message(1, "x")) + message(12, message(1, "y"))
	function := message(25, message(1, "Twice"), message(4, "a"), message(5, "b"), message(7, message(1, "a"), message(1, "a"), message(2, "b"), message(4, "Add")), message(10, "mine"))
	model := "\x08\x08" + message(8, "\x10\x11") + message(8, message(1, "mine"), "\x10\x01") + message(7, graph) + function
	expect.OK(t, os.WriteFile("native.onnx", []byte(model), 0o666))
	expect.OK(t, os.WriteFile("other.onnx", []byte(strings.Replace(model, "\x03Add", "\x03Mul", 1)), 0o666))
}

// putKeys writes keys, and models that need them.
func putKeys(t *testing.T) {
	t.Helper()
	signer := ed25519.NewKeyFromSeed(secret)
	private, err := keys.EncodePrivate(signer)
	expect.OK(t, err)
	expect.OK(t, os.WriteFile("ed.pem", private, 0o600))
	expect.OK(t, os.Rename(writePublic(t, signer.Public()), "ed.pub"))
	expect.OK(t, os.Rename(writePublic(t, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32)).Public()), "other.pub"))
	at := format.WriteOptions{Time: signedAt}
	expect.OK(t, os.Rename(writeMLE(t, &format.WriteOptions{Time: at.Time, NoSync: at.NoSync, Signer: signer, Format: mle.Format{}}), "signed.mle"))
	expect.OK(t, os.Rename(writeMLE(t, &format.WriteOptions{Key: secret, Format: mle.Format{}}), "locked.mle"))
}

// putGolden writes models for TestGolden into the current directory.
func putGolden(t *testing.T) {
	t.Helper()
	putNative(t)
	putKeys(t)
	expect.OK(t, os.Rename(model(t, "mag", "m.mag"), "m.mag"))
	expect.OK(t, os.Rename(damaged(t, "m.mag", 8), "bad.mag"))
	expect.OK(t, os.Rename(waves(t, "net.wia", convnet()), "net.wia"))
	put(t, "", "w.safetensors", schema.Schema{}, matrix("w"))
	for i := range 2 {
		axis := schema.Attribute{Name: "axis", Value: int64(i)}
		put(t, "", fmt.Sprintf("axis%d.wia", i), schema.Schema{Graph: &schema.Graph{
			Name:    "net",
			Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}},
			Outputs: []schema.ValueInfo{{Name: "z", DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}},
			Nodes: []schema.Node{
				{Op: "Relu", Inputs: []string{"x"}, Outputs: []string{"y"}},
				{Op: "Softmax", Inputs: []string{"y"}, Outputs: []string{"z"}, Attributes: []schema.Attribute{axis}},
			},
		}}, floats("w", 1))
	}
	elements := make([]int32, 12)
	for i := range elements {
		elements[i] = int32(i)
	}
	put(t, "", "shapes.npz", schema.Schema{},
		of("cube", tensor.Int32, tensor.Shape{2, 3, 2}, elements),
		of("scalar", tensor.Float64, tensor.Shape{}, []float64{0.1}),
		of("vector", tensor.Float32, tensor.Shape{6}, []float32{0.1, 1e10, nan, inf, -inf, zero}),
		of("none", tensor.Float32, tensor.Shape{2, 0}, []float32{}),
		of("column", tensor.Uint8, tensor.Shape{2, 1}, []uint8{255, 0}))
	weight, scale := []byte{0x38, 0x40}, []float32{3}
	put(t, "", "fp8.safetensors", schema.Schema{},
		of("up.weight", tensor.Float8E4M3FN, tensor.Shape{1, 2}, weight), of("up.weight_scale_inv", tensor.Float32, tensor.Shape{1, 1}, scale),
		of("down.weight", tensor.Float8E4M3FN, tensor.Shape{1, 2}, weight), of("down.weight_scale_inv", tensor.Float32, tensor.Shape{1, 1}, scale))
	value := func(name string) []schema.ValueInfo {
		return []schema.ValueInfo{{Name: name, DType: tensor.Float32, Dims: schema.FixedDims(1, 2)}}
	}
	put(t, "", "fc.onnx", schema.Schema{Graph: &schema.Graph{Inputs: value("x"), Outputs: value("y"), Nodes: []schema.Node{
		{Op: "MatMul", Inputs: []string{"x", "fc.weight"}, Outputs: []string{"h"}}, {Op: "Add", Inputs: []string{"h", "fc.bias"}, Outputs: []string{"y"}},
	}}}, matrix("fc.weight"), floats("fc.bias", 5, 6))
	for file, entry := range map[string]schema.Entry{
		"a.mobi": {Key: "name", Value: "a"}, "a.wia": {Key: "a", Value: "text"}, "a.safetensors": {Key: "a", Value: "1"},
		"a.gguf": {Key: "general.architecture", Value: "llama"}, "a.onnx": {Key: "author", Value: "Ada"}, "a.mle": {Key: "k", Value: true},
	} {
		put(t, "", file, schema.Schema{Metadata: schema.Metadata{entry}}, floats("1", 1, 2, 3, 4))
	}
}
