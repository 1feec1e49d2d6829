package all_test

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

func storageSource(t *testing.T) *format.Model {
	return source(t, "safetensors", &schema.Schema{Tensors: []tensor.Info{list(tensor.Float32, "w", 64, 64)}})
}

// TestStorage: what formats share is asked for by the same names in each, and refused
// by those that do not have it.
func TestStorage(t *testing.T) {
	testhost.NeedTimes(t)
	m := storageSource(t)
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	expect.OK(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	expect.OK(t, err)
	key := make([]byte, 32)
	for name, tt := range map[string]struct {
		o    format.WriteOptions
		able string // formats that grant it
	}{
		"gzip":          {format.WriteOptions{Compression: "gzip"}, "mobi wia"},
		"zstd":          {format.WriteOptions{Compression: "zstd", Level: 1}, "mle wia"},
		"lz4":           {format.WriteOptions{Compression: "lz4"}, "mle"},
		"unknown":       {format.WriteOptions{Compression: "zip"}, ""},
		"int8":          {format.WriteOptions{Compression: "int8"}, ""}, // which changes values
		"level alone":   {format.WriteOptions{Level: 3}, ""},
		"level":         {format.WriteOptions{Compression: "gzip", Level: 10}, ""},
		"Ed25519":       {format.WriteOptions{Signer: edKey}, "mle"},
		"RSA":           {format.WriteOptions{Signer: rsaKey}, "wia"},
		"empty Ed25519": {format.WriteOptions{Signer: ed25519.PrivateKey(nil)}, ""},
		"empty RSA":     {format.WriteOptions{Signer: (*rsa.PrivateKey)(nil)}, ""},
		"empty key":     {format.WriteOptions{Key: []byte{}}, ""},
		"short key":     {format.WriteOptions{Key: key[:31]}, ""},
		"encryption":    {format.WriteOptions{Key: key}, "mle wia"},
		"align 64":      {format.WriteOptions{Align: 64}, "gguf mag mle onnx tsr wia"},
		"align 4096":    {format.WriteOptions{Align: 4096}, "gguf"},
		"align 3":       {format.WriteOptions{Align: 3}, ""},
		"align -8":      {format.WriteOptions{Align: -8}, ""},
		"extended":      {format.WriteOptions{Extended: true}, "mag"},
		"external":      {format.WriteOptions{ExternalFrom: 1}, "onnx wia"},
		"external from": {format.WriteOptions{ExternalFrom: -1}, ""},
	} {
		for _, to := range format.Writable() {
			dir := t.TempDir()
			path := filepath.Join(dir, "w."+to)
			tt.o.NoSync = true
			_, err := convert.Model(t.Context(), m, path, &convert.Options{Verify: true, Write: &tt.o})
			granted := strings.Contains(" "+tt.able+" ", " "+to+" ")
			if granted && err != nil || !granted && err == nil {
				t.Errorf("%s in %s: %v", name, to, err)
			}
			if !granted && !errors.Is(err, format.ErrOption) && !errors.Is(err, format.ErrKey) { // a key of the wrong kind
				t.Errorf("%s in %s: %v, want ErrOption", name, to, err)
			}
			if !granted {
				unwritten(t, dir)
				continue
			}
			check := func(ok bool) {
				if !ok {
					t.Errorf("%s in %s: it is not so", name, to)
				}
			}
			back := open(t, path, &format.Options{Key: tt.o.Key})
			info := back.At(0).Info()
			check(tt.o.Compression == "" || info.Compression == tt.o.Compression)
			check(tt.o.Align == 0 || info.Offset%tt.o.Align == 0)
			check(tt.o.Signer == nil || back.Signature() != nil)
			check(tt.o.ExternalFrom == 0 || len(names(t, dir)) == 2)
			if tt.o.Key != nil {
				locked, err := format.Open(path, nil)
				check(errors.Is(err, format.ErrKey) || locked.NeedsKey())
				locked.Close()
			}
		}
	}
}

// TestFormatOptions: the options that only one format has take effect.
func TestFormatOptions(t *testing.T) {
	testhost.NeedTimes(t)
	m := storageSource(t)
	for _, tt := range []struct {
		format format.Format
		effect func(m *format.Model) bool
	}{
		{mag.Format{Snapshot: true}, func(m *format.Model) bool { return m.Version() != "1" }},
		{mle.Format{Version: 1}, func(m *format.Model) bool { return m.Version() == "1" }},
		{mle.Format{Lossy: mle.MethodInt8}, func(m *format.Model) bool { return m.At(0).Info().Compression != "" }},
		{mobi.Format{Flags: 1 << 3}, func(m *format.Model) bool {
			f, _ := mobi.From(m)
			return f.Header().Flags == 1<<3
		}},
		{wia.Format{CompressTensor: func(tensor.Info) wia.Compression { return wia.Gzip }},
			func(m *format.Model) bool { return m.At(0).Info().Compression == "gzip" }},
	} {
		path := filepath.Join(t.TempDir(), "w")
		_, err := convert.Model(t.Context(), m, path, &convert.Options{Write: &format.WriteOptions{Format: tt.format, NoSync: true}})
		expect.OK(t, err)
		if !tt.effect(open(t, path, nil)) {
			t.Errorf("%v has no effect", tt.format)
		}
	}
}

// What is tested here is what programs do with what they passed in: they change it, wipe it,
// and their functions panic.

// TestKeysMayBeWiped: a key that was passed is a copy from then on.
func TestKeysMayBeWiped(t *testing.T) {
	p := &schema.Schema{Tensors: []tensor.Info{list(tensor.Float32, "w", 64, 64)}}
	for _, kind := range []string{"mle", "wia"} {
		path := filepath.Join(t.TempDir(), "m."+kind)
		key := bytes.Repeat([]byte{7}, 32)
		w, err := format.Create(path, p, &format.WriteOptions{NoSync: true, Key: key, Format: formatNamed(kind)})
		clear(key)
		expect.OK(t, feed(p, w, err))
		key = bytes.Repeat([]byte{7}, 32)
		m := open(t, path, &format.Options{Key: key})
		clear(key)
		b, err := m.At(0).Bytes()
		if !bytes.Equal(b, fill(0, p.Tensors[0])) || err != nil {
			t.Errorf("%s: other data, %v", kind, err)
		}
		if _, err := m.Verify(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// moody is a signer that panics.
type moody struct{ crypto.Signer }

func (moody) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) { panic("the signer") }

// TestSignerPanics: there is no file that is not signed, and no second chance to make it.
func TestSignerPanics(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, err)
	dir := t.TempDir()
	p := &schema.Schema{Tensors: []tensor.Info{list(tensor.Float32, "w", 4)}}
	w, err := format.Create(filepath.Join(dir, "m.wia"), p, &format.WriteOptions{NoSync: true, Signer: moody{key}})
	expect.OK(t, err)
	expect.OK(t, w.WriteTensor("w", bytes.NewReader(make([]byte, 16))))
	func() {
		defer func() {
			if thrown := recover(); thrown != "the signer" {
				t.Errorf("recovered %v", thrown)
			}
		}()
		_ = w.Close()
	}()
	unwritten(t, dir)
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), format.ErrAborted.Error()) {
		t.Errorf("Close again: %v", err)
	}
}

// TestOptionsLacked: an option that a format lacks is refused by name.
func TestOptionsLacked(t *testing.T) {
	options := map[string]format.WriteOptions{
		"Compression":  {Compression: "zstd"},
		"Level":        {Level: 1},
		"Key":          {Key: make([]byte, 32)},
		"Signer":       {Signer: ed25519.NewKeyFromSeed(make([]byte, 32))},
		"Align":        {Align: 128},
		"Extended":     {Extended: true},
		"ExternalFrom": {ExternalFrom: 1},
		"External":     {External: "data"},
	}
	schemas := map[string]*schema.Schema{
		"tsr": {Tensors: []tensor.Info{list(tensor.Int8, "", 3)}},
		"npy": {Tensors: []tensor.Info{list(tensor.Int8, "", 3)}},
	}
	for name, has := range map[string][]string{
		"safetensors": nil,
		"tsr":         nil,
		"npy":         nil,
		"npz":         nil,
		"gguf":        {"Align"},
		"onnx":        {"ExternalFrom", "External"},
	} {
		for field, o := range options {
			if slices.Contains(has, field) {
				continue
			}
			o.Format = formatNamed(name)
			var e *tensor.Error
			_, err := format.NewWriter(io.Discard, cmp.Or(schemas[name], &schema.Schema{}), &o)
			if !errors.Is(err, format.ErrOption) || !errors.As(err, &e) || e.Field != field {
				t.Errorf("%s: %v, want ErrOption for %s", name, err, field)
			}
		}
	}
}

// TestOptionsBeforeLosses: options that a format refuses are the error, whatever the schema would lose.
func TestOptionsBeforeLosses(t *testing.T) {
	p := &schema.Schema{Tensors: []tensor.Info{{Name: "w", Encoding: &tensor.Encoding{Name: "strange"}, Size: 4, Shape: tensor.Shape{1}}}}
	for name, tt := range map[string]struct {
		o     format.WriteOptions
		field string
	}{
		"mag":  {format.WriteOptions{Format: mag.Format{Checksum: mag.CRC32 + 1}}, "Checksum"},
		"mle":  {format.WriteOptions{Format: mle.Format{Chunked: true}}, "Chunked"},
		"mobi": {format.WriteOptions{Format: mobi.Format{Footer: mobi.CRC32 + 1}}, "Footer"},
		"wia":  {format.WriteOptions{Format: wia.Format{}, Compression: "lz4"}, "Compression"},
	} {
		t.Run(name, func(t *testing.T) {
			var losses *schema.LossError
			_, err := format.NewWriter(io.Discard, p, &format.WriteOptions{Format: formatNamed(name)})
			if !errors.As(err, &losses) {
				t.Fatalf("without options: %v, want a LossError", err)
			}
			_, err = format.NewWriter(io.Discard, p, &tt.o)
			var e *tensor.Error
			if errors.As(err, &losses) || !errors.As(err, &e) || e.Field != tt.field {
				t.Errorf("%v, want an error of %s", err, tt.field)
			}
		})
	}
}
