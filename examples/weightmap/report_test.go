package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
	"google.golang.org/protobuf/encoding/protowire"
)

var (
	secret    = []byte("0123456789abcdef0123456789ABCDEF")
	secretHex = hex.EncodeToString(secret)
	signedAt  = time.Date(2024, 2, 29, 23, 59, 58, 0, time.UTC)
)

// fill writes all tensors of a schema, zeros, and closes.
func fill(t *testing.T, w *format.Writer, err error, p *schema.Schema) {
	t.Helper()
	expect.OK(t, err)
	defer w.Abort()
	for _, info := range p.Tensors {
		size, _ := info.Shape.ByteSize(info.DType)
		expect.OK(t, w.WriteTensor(info.Name, io.LimitReader(nulls{}, size)))
	}
	expect.OK(t, w.Close())
}

// nulls reads as zeros without end.
type nulls struct{}

func (nulls) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func writeMLE(t *testing.T, o *format.WriteOptions) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.mle")
	p := &schema.Schema{Tensors: []tensor.Info{{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{4}}}}
	w, err := format.Create(path, p, o)
	fill(t, w, err, p)
	return path
}

func writeWIA(t *testing.T, p *schema.Schema, o *format.WriteOptions) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.wia")
	w, err := format.Create(path, p, o)
	fill(t, w, err, p)
	return path
}

// quantizedSchema has a tensor of each kind: plain, one scale, one a channel.
func quantizedSchema() *schema.Schema {
	return &schema.Schema{Tensors: []tensor.Info{
		{Name: "plain", DType: tensor.Int8, Shape: tensor.Shape{4}},
		{Name: "whole", DType: tensor.Int8, Shape: tensor.Shape{4}, Quant: &tensor.Quantization{Scales: []float32{0.5}, ZeroPoints: []int32{3}, Axis: tensor.PerTensor}},
		{Name: "channels", DType: tensor.Int8, Shape: tensor.Shape{2, 3}, Quant: &tensor.Quantization{Scales: []float32{1, 2, 3}, ZeroPoints: []int32{0, 1, 2}, Axis: 1}},
	}}
}

// tool runs the command, which must end with the status, and returns what it
// prints.
func tool(t *testing.T, status int, args ...string) (out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	if got := run(t.Context(), args, &o, &e); got != status {
		t.Fatalf("%q: status %d, want %d: %s", args, got, status, &e)
	}
	return o.String(), e.String()
}

func inspectJSON(t *testing.T, args ...string) map[string]any {
	t.Helper()
	out, _ := tool(t, 0, append([]string{"inspect", "-json"}, args...)...)
	var r map[string]any
	expect.OK(t, json.Unmarshal([]byte(out), &r))
	return r
}

// contains fails for each part that text lacks.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// fingerprint is the SHA-256 of the key's PKIX form, made without our code.
func fingerprint(t *testing.T, key crypto.PublicKey) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	expect.OK(t, err)
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

func writePublic(t *testing.T, key crypto.PublicKey) string {
	t.Helper()
	text, err := keys.EncodePublic(key)
	expect.OK(t, err)
	path := filepath.Join(t.TempDir(), "pub.pem")
	expect.OK(t, os.WriteFile(path, text, 0o666))
	return path
}

// TestSigned: inspect shows who claims to have signed, and verify -trust is the
// only thing that believes it.
func TestSigned(t *testing.T) {
	ed := ed25519.NewKeyFromSeed(secret)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, err)
	at := format.WriteOptions{Time: signedAt}
	other := writePublic(t, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32)).Public())
	unsigned := writeMLE(t, nil)
	for _, tt := range []struct {
		path, algorithm string
		key             crypto.PublicKey
	}{
		{writeMLE(t, &format.WriteOptions{Time: at.Time, NoSync: at.NoSync, Signer: ed, Format: mle.Format{}}), "Ed25519", ed.Public()},
		{writeWIA(t, quantizedSchema(), &format.WriteOptions{Time: at.Time, NoSync: at.NoSync, Signer: ec, Format: wia.Format{}}), "ECDSA", ec.Public()},
	} {
		t.Run(tt.algorithm, func(t *testing.T) {
			print := fingerprint(t, tt.key)
			want := map[string]any{"algorithm": tt.algorithm, "fingerprint": print, "time": "2024-02-29T23:59:58Z"}
			expect.Equal(t, want, inspectJSON(t, tt.path)["signature"])
			out, _ := tool(t, 0, "inspect", tt.path)
			contains(t, out, "\nsigned at 2024-02-29T23:59:58Z with "+tt.algorithm+" by SHA256:"+print+", not checked\n")

			out, _ = tool(t, 0, "verify", tt.path)
			contains(t, out, tt.path+": ok (", "), signed by SHA256:"+print+", not checked against a trusted key\n")
			out, _ = tool(t, 0, "verify", "-trust", writePublic(t, tt.key), tt.path)
			contains(t, out, tt.path+": ok (", "), signed by SHA256:"+print+"\n")
			out, errs := tool(t, 1, "verify", "-trust", writePublic(t, tt.key), unsigned, tt.path)
			contains(t, out, tt.path+": ok (")
			contains(t, errs, unsigned, "signature verification failed")
			out, errs = tool(t, 1, "verify", "-trust", other, tt.path)
			contains(t, errs, tt.path, "signature verification failed")
			if out != "" {
				t.Errorf("another signer's file is called fine: %s", out)
			}
		})
	}
}

// TestSeeds is cases/seeds: badsig.mle and badsig.wia have signatures that the key in the file did not make. Without
// -trust, verify, convert and inspect fail; inspect prints the file before.
func TestSeeds(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, err)
	at := format.WriteOptions{Time: signedAt}
	signedMLE := writeMLE(t, &format.WriteOptions{Time: at.Time, NoSync: at.NoSync, Signer: ed25519.NewKeyFromSeed(secret), Format: mle.Format{}})
	signedWIA := writeWIA(t, quantizedSchema(), &format.WriteOptions{Time: at.Time, NoSync: at.NoSync, Signer: ec, Format: wia.Format{}})
	seconds := protowire.AppendVarint(protowire.AppendTag(nil, 4, protowire.VarintType), uint64(signedAt.Unix()))
	for _, tt := range []struct {
		name, path string
		last       func(b []byte) int // the offset of the last byte of the signature
	}{
		{"badsig.mle", signedMLE, func(b []byte) int { return len(b) - 32 - 1 }}, // the hash follows
		{"badsig.wia", signedWIA, func(b []byte) int { return bytes.LastIndex(b, seconds) - 1 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := expect.Read(t, tt.path)
			b[tt.last(b)] ^= 1
			bad := filepath.Join(t.TempDir(), tt.name)
			expect.OK(t, os.WriteFile(bad, b, 0o666))
			const text = "signature verification failed: the signature was not made by the key in the file"
			good, _ := tool(t, 0, "inspect", tt.path)
			out, errs := tool(t, 1, "inspect", bad)
			contains(t, errs, bad, "signature: "+text)
			contains(t, out, bad+": ", ", "+text+"\n")
			expect.Equal(t, strings.Count(good, "\n"), strings.Count(out, "\n"))
			out, errs = tool(t, 1, "inspect", "-json", bad)
			contains(t, errs, text)
			var r struct{ Signature map[string]any }
			expect.OK(t, json.Unmarshal([]byte(out), &r))
			expect.Equal(t, any(text), r.Signature["error"])
			page := filepath.Join(t.TempDir(), "page.html")
			_, errs = tool(t, 1, "inspect", "-html", "-o", page, bad)
			contains(t, errs, text)
			contains(t, string(expect.Read(t, page)), text)
			out, errs = tool(t, 1, "inspect", bad, tt.path)
			contains(t, out, bad, tt.path)
			expect.Equal(t, 1, strings.Count(errs, text))
			for _, args := range [][]string{{"verify", bad}, {"convert", "-lossy", bad, bad + ".safetensors"}} {
				out, errs = tool(t, 1, args...)
				contains(t, errs, text)
				if out != "" {
					t.Errorf("%v: %s", args, out)
				}
			}
			_, err := os.Stat(bad + ".safetensors")
			expect.Refused(t, fs.ErrNotExist)(nil, err)
		})
	}
}

// hostile is a name that would clear a terminal, and end a line.
const hostile = "a\x1b[2J\nb\u009b\u202ec"

// hostileSchema has a name wherever a model may have one.
func hostileSchema(name string) *schema.Schema {
	x, y := "in"+name, "out"
	return &schema.Schema{
		Metadata: schema.Metadata{{Key: "x" + name, Value: name}},
		Tensors:  []tensor.Info{{Name: name, DType: tensor.Int8, Shape: tensor.Shape{300}}},
		Graph: &schema.Graph{
			Name:    name,
			Inputs:  []schema.ValueInfo{{Name: x, DType: tensor.Int8, Dims: []schema.Dim{{Size: schema.DynamicDim, Symbol: name}}}},
			Outputs: []schema.ValueInfo{{Name: y, DType: tensor.Int8, Dims: schema.FixedDims(1)}},
			Nodes:   []schema.Node{{Op: "Relu", Name: name, Inputs: []string{x, name}, Outputs: []string{y}, Attributes: []schema.Attribute{{Name: name, Value: name}}}},
		},
	}
}

// TestHostileNames: nothing that a file contains reaches a terminal raw, in
// either form, and the JSON still means it.
func TestHostileNames(t *testing.T) {
	path := writeWIA(t, hostileSchema(hostile), nil)
	expect.Equal(t, hostile, inspectJSON(t, path)["tensors"].([]any)[0].(map[string]any)["name"])
	for _, args := range [][]string{{"inspect", path}, {"inspect", "-json", path}, {"verify", path}} {
		out, _ := tool(t, 0, args...)
		if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); i >= 0 {
			t.Errorf("%q: raw %q in\n%q", args, out[i:i+4], out)
		}
	}
	out, _ := tool(t, 0, "inspect", path)
	const safe = `a\u001b[2J\u000ab\u009b\u202ec`
	contains(t, out, "\n"+safe+"  int8", "graph "+safe+", 1 node\n", "input  in"+safe+" int8["+safe+"]\n")
}

// TestDocs: inspect shows doc strings and properties.
func TestDocs(t *testing.T) {
	t.Chdir(t.TempDir())
	graph := message(1, "g") + message(2, message(1, "conv"), message(2, "Conv"), message(4, "y"), message(6, "a node")) + message(6, message(1, message(1, "k"), message(2, "v")))
	const meta = "{}"
	le := binary.LittleEndian
	header := le.AppendUint32(nil, 0x57494131)
	header = le.AppendUint32(header, 1) // version 1.0
	at := uint64(256)
	for _, size := range []int{len(meta), len(graph), 0, 0} { // metadata, graph, tensors, checksums
		header = le.AppendUint64(le.AppendUint64(header, at), uint64(size))
		at += uint64(size)
	}
	header = append(header, make([]byte, 256-len(header))...)
	expect.OK(t, os.WriteFile("m.wia", append(header, meta+graph...), 0o666))
	out, _ := tool(t, 0, "inspect", "m.wia")
	contains(t, out, "\ngraph (g): k = \"v\"\ngraph.nodes[0] (conv): a node\n")
	out, _ = tool(t, 0, "inspect", "-json", "m.wia")
	contains(t, strings.Join(strings.Fields(out), ""), `"docs":[{"path":"graph","name":"g","properties":{"k":"v"}},{"path":"graph.nodes[0]","name":"conv","text":"anode"}]`)
}

// TestNoArraysOption: -no-arrays prints the type and length of arrays.
func TestNoArraysOption(t *testing.T) {
	meta := schema.Metadata{{Key: "general.name", Value: "[]"}, {Key: "tokens", Value: json.RawMessage(`["a","b","]"]`)}}
	path := save(t, "m.gguf", schema.Schema{Metadata: meta}, floats("w", 1))
	r := inspectJSON(t, path, "-no-arrays")["metadata"].(map[string]any)
	expect.Equal(t, map[string]any{"type": "string", "length": 3.0}, r["tokens"])
}
