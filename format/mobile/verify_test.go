package mobile

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// progress is a Progress.
type progress func(done, total int64, tensor string) bool

func (p progress) OnProgress(done, total int64, tensor string) bool { return p(done, total, tensor) }

func TestVerify(t *testing.T) {
	file, want := sample(t)
	bad := bytes.Clone(file)
	bad[want.Tensors[1].Place] ^= 1
	tests := []struct {
		name     string
		file     []byte
		cancelAt int
		code     string
	}{{"good", file, 0, ""}, {"bad", bad, 0, CodeChecksum}, {"canceled", file, 1, CodeCanceled}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := openBytes(t, test.file)
			calls, done, total := 0, int64(0), int64(0)
			r, err := m.Verify(progress(func(d, n int64, _ string) bool {
				calls, done, total = calls+1, d, n
				return calls != test.cancelAt
			}), nil)
			if (r == nil) != (err != nil) {
				t.Errorf("report %v with error %v", r, err)
			}
			if got := ErrorCode(err); got != test.code {
				t.Fatalf("code %q, want %q (%v)", got, test.code, err)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "mag: ") {
				t.Errorf("the format is not named: %v", err)
			}
			if calls == 0 || total == 0 || test.code == "" && done != total {
				t.Errorf("%d calls, %d of %d bytes in the end", calls, done, total)
			}
			if test.cancelAt > 0 && calls != test.cancelAt {
				t.Errorf("%d calls, %d after canceling", calls, calls-test.cancelAt)
			}
		})
	}
}

// TestCancel: a Canceler and Close end a verification that is running.
func TestCancel(t *testing.T) {
	file, _ := sample(t)
	c := NewCanceler()
	for _, test := range []struct {
		name     string
		progress func(m *Model)
		code     string
	}{
		{"while it runs", func(*Model) { c.Cancel() }, CodeCanceled},
		{"before it starts", nil, CodeCanceled}, // with the same Canceler
		{"closed while it runs", func(m *Model) { go m.Close(); <-m.closing.context().Done() }, CodeClosed},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := openBytes(t, file)
			canceler, watching := c, Progress(nil)
			if test.progress != nil {
				watching = progress(func(int64, int64, string) bool { test.progress(m); return true })
			}
			if test.code == CodeClosed {
				canceler = nil
			}
			if r, err := m.Verify(watching, canceler); r != nil || ErrorCode(err) != test.code {
				t.Errorf("%v, %v, want code %q", r, err, test.code)
			}
		})
	}
	t.Run("opening", func(t *testing.T) {
		if _, err := OpenBytes(file, &Options{Check: CheckAll, Canceler: c}); ErrorCode(err) != CodeCanceled {
			t.Errorf("%v, want code %q", err, CodeCanceled)
		}
	})
}

func TestVerifySigned(t *testing.T) {
	file, _ := sample(t)
	m := openBytes(t, file)
	der, _ := publicKey(t)
	for name, test := range map[string]struct {
		code string
		key  []byte
	}{
		"DER":     {CodeSignature, der}, // the file carries no signature
		"PEM":     {CodeSignature, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})},
		"no key":  {CodeKey, nil},
		"bad key": {CodeKey, der[1:]},
	} {
		if r, err := m.VerifySigned(test.key, nil, nil); ErrorCode(err) != test.code || r != nil {
			t.Errorf("%s: %v, want code %q", name, err, test.code)
		}
	}
}

// TestBadSignature: Verify fails for a signature that the key in the file did not make (cases/seeds/badsig.mle).
func TestBadSignature(t *testing.T) {
	var file bytes.Buffer
	_, private, err := ed25519.GenerateKey(nil)
	expect.OK(t, err)
	w, err := format.NewWriter(&file, &schema.Schema{}, &format.WriteOptions{Signer: private, Format: expect.Must(format.ByName("mle"))})
	expect.OK(t, err)
	expect.OK(t, w.Close())
	r, err := openBytes(t, file.Bytes()).Verify(nil, nil)
	expect.OK(t, err)
	expect.Equal(t, SignatureUnchecked, r.Signature())
	bad := file.Bytes()
	bad[len(bad)-33] ^= 1 // of the signature, which 32 bytes follow
	_, err = openBytes(t, bad).Verify(nil, nil)
	expect.Equal(t, CodeSignature, ErrorCode(err))
}

// publicKey returns a new key, as the app has it, and its fingerprint.
func publicKey(t *testing.T) (der []byte, print string) {
	t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	expect.OK(t, err)
	der, err = x509.MarshalPKIXPublicKey(public)
	expect.OK(t, err)
	sum := sha256.Sum256(der)
	return der, "SHA256:" + hex.EncodeToString(sum[:])
}

// TestReport: what no checksum covers is said, in words, by name, and as a whole.
func TestReport(t *testing.T) {
	der, print := publicKey(t)
	public, err := x509.ParsePKIXPublicKey(der)
	expect.OK(t, err)
	type answer struct {
		Text              string
		Covered           bool
		Uncovered         []string // with indexes -1 to their number
		Sum               string   // of "a"
		Signature, Signer string
	}
	crc32 := func(b ...byte) driver.Digest {
		return driver.Digest{Kind: driver.CRC32, Want: uint64(tensor.CRC32(b))}
	}
	data := []driver.Digest{crc32(1, 2), {Kind: driver.Adler32, Want: uint64(tensor.UpdateAdler32(1, []byte{3}))}}
	zeros := func(name string) driver.Sum { // between the tensors
		return driver.Sum{Name: name, Accept: []driver.Digest{crc32(0, 0)}, Ranges: []driver.Range{{Offset: 2, Size: 2}}}
	}
	bare := driver.Sum{Name: "header"}
	for _, test := range []struct {
		name   string
		signed *schema.Signature
		state  format.SignatureState
		sums   []driver.Sum
		data   []driver.Digest
		want   answer
	}{
		{"nothing covers the data", nil, format.Unsigned, nil, nil,
			answer{"ok, but nothing covers the data of 2 tensors", false, []string{"", "a", "b", ""}, "", SignatureNone, ""}},
		{"all data", nil, format.Unsigned, []driver.Sum{zeros("header")}, data,
			answer{"ok", true, []string{"", ""}, "crc32", SignatureNone, ""}},
		{"sections and data", nil, format.Unsigned, []driver.Sum{bare, zeros("graph")}, nil,
			answer{"ok, but nothing covers the header or the data of 2 tensors", false, []string{"", "a", "b", ""}, "", SignatureNone, ""}},
		{"a section", nil, format.Unsigned, []driver.Sum{bare}, data,
			answer{"ok, but nothing covers the header", false, []string{"", ""}, "crc32", SignatureNone, ""}},
		{"signed by anybody", &schema.Signature{PublicKey: public}, format.SignatureUnknown, nil, nil,
			answer{"ok, but nothing covers the data of 2 tensors", false, []string{"", "a", "b", ""}, "", SignatureUnchecked, print}},
		{"signed by the trusted key", &schema.Signature{}, format.SignatureTrusted, nil, nil,
			answer{"ok, but nothing covers the data of 2 tensors", false, []string{"", "a", "b", ""}, "", SignatureTrusted, print}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, f := newFake(t,
				part{name: "a", dtype: tensor.Int8, shape: tensor.Shape{2}, data: []byte{1, 2}},
				part{name: "b", dtype: tensor.Int8, shape: tensor.Shape{1}, data: []byte{3}},
				part{name: "empty", dtype: tensor.Int8, shape: tensor.Shape{0}, data: []byte{}}, // nothing to cover
			)
			f.state = test.state
			f.sums = test.sums
			f.data = test.data
			if test.signed != nil {
				*f.signed = *test.signed
			}
			verify := func() (*Report, error) { return m.Verify(nil, nil) }
			if test.state == format.SignatureTrusted {
				verify = func() (*Report, error) { return m.VerifySigned(der, nil, nil) }
			}
			r, err := verify()
			expect.OK(t, err)
			m.Close() // the report outlives the model
			got := answer{Text: r.String(), Covered: r.Covered(), Sum: r.ChecksumOf("a"), Signature: r.Signature(), Signer: r.Signer()}
			for i := range r.UncoveredCount() + 2 {
				got.Uncovered = append(got.Uncovered, r.Uncovered(i-1))
			}
			equal(t, "", test.want, got)
			if sum := r.ChecksumOf("none"); sum != "" {
				t.Errorf("a tensor that is not there is covered by %q", sum)
			}
		})
	}
}

func TestErrorCode(t *testing.T) {
	wrapped := func(err error) error {
		return &tensor.Error{Format: "mag", Offset: 8, Err: fmt.Errorf("%w: and more", err)}
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{wrapped(format.ErrChecksum), CodeChecksum},
		{wrapped(format.ErrKey), CodeKey},
		{wrapped(format.ErrLimit), CodeLimit},
		{wrapped(format.ErrQuantization), CodeQuantization},
		{fmt.Errorf("%w: %w", format.ErrCorrupt, wrapped(format.ErrTruncated)), CodeTruncated},
		{wrapped(errIndex), CodeIndex},
		{wrapped(context.Canceled), CodeCanceled},
		{wrapped(&fs.PathError{Op: "open", Path: "x", Err: errors.New("gone")}), CodeFile},
		{wrapped(syscall.ENOENT), CodeFile},
		{errors.New("an exception of the app's"), CodeOther},
	} {
		if got := ErrorCode(test.err); got != test.want {
			t.Errorf("%v: %q, want %q", test.err, got, test.want)
		}
	}
}

// TestMobiNames: names that the file stores stand wherever tensors are named, and the numbers
// find them as well. Without stored names the numbers are the names.
func TestMobiNames(t *testing.T) {
	info := func(name string) tensor.Info {
		return tensor.Info{Name: name, DType: tensor.Float32, Shape: tensor.Shape{1, 256}}
	}
	x, y := schema.FixedDims(1, 256), schema.FixedDims(1, 1)
	graph := func(weight string) *schema.Graph {
		return &schema.Graph{
			Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: x}},
			Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32, Dims: y}},
			Nodes:   []schema.Node{{Op: "FullyConnected", Inputs: []string{"x", weight}, Outputs: []string{"y"}}},
		}
	}
	for _, test := range []struct {
		name   string
		schema *schema.Schema
		keep   bool
		names  []string
		graph  []string // the inputs of its node
	}{
		{"with a graph", &schema.Schema{Tensors: []tensor.Info{info("fc.weight")}, Graph: graph("fc.weight")}, true,
			[]string{"fc.weight"}, []string{"x", "fc.weight"}},
		{"without a graph", &schema.Schema{Tensors: []tensor.Info{info("b"), info("a")}}, true, []string{"b", "a"}, nil},
		{"numbers", &schema.Schema{Tensors: []tensor.Info{info("7")}, Graph: graph("7")}, false, []string{"7"}, []string{"x", "7"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := &format.WriteOptions{KeepNames: test.keep, Compression: "gzip", Level: 9}
			m := openBytes(t, written(t, "mobi", test.schema, o, slices.Repeat([][]byte{make([]byte, 1024)}, len(test.schema.Tensors))...))
			watched := map[string]bool{}
			r, err := m.Verify(progress(func(_, _ int64, tensor string) bool { watched[tensor] = true; return true }), nil)
			expect.OK(t, err)
			list := m.TensorList()
			for i, name := range test.names {
				var entry listed
				entry, list = readListed(t, list)
				x, id := get(t, m, name), m.m.At(i).Name()
				got := []string{m.TensorName(int64(i)), entry.Name, x.Name(), get(t, m, id).Name()}
				equal(t, "TensorName, TensorList, Name, by number", []string{name, name, name, name}, got)
				if x.view.Name() != id || !watched[name] || r.ChecksumOf(name) == "" {
					t.Errorf("%s: number %s, want %s; progress %v, checksum %q", name, x.view.Name(), id, watched, r.ChecksumOf(name))
				}
			}
			text, err := m.GraphJSON()
			expect.OK(t, err)
			var g struct{ Nodes []struct{ Inputs []string } }
			if text != "" {
				expect.OK(t, json.Unmarshal([]byte(text), &g))
			}
			var inputs []string
			for _, n := range g.Nodes {
				inputs = append(inputs, n.Inputs...)
			}
			equal(t, "inputs of the nodes", test.graph, inputs)
			if meta, err := m.MetadataJSON(); err != nil || test.keep && test.schema.Graph == nil && meta != "{}" {
				t.Errorf("metadata %s, %v", meta, err)
			}
		})
	}
}
