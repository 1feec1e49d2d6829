package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// TestSetKeeps: how a file is stored, and the types of entries that are not touched.
func TestSetKeeps(t *testing.T) {
	out := filepath.Join(t.TempDir(), "m.mle")
	for _, o := range []format.WriteOptions{
		{Compression: "zstd", Format: mle.Format{Chunked: true}},
		{Compression: "brotli"},
		{Format: mle.Format{Lossy: mle.MethodFloat16}},
		{Key: secret},
		{Format: mle.Format{Version: 1}},
		{Format: mle.Format{HeaderSize: 128}},
		{Format: mle.Format{Lossy: mle.MethodInt8}}, // not quantized again
	} {
		in, m := filepath.Join(t.TempDir(), "m.mle"), matrix("w")
		w, err := format.Create(in, &schema.Schema{Tensors: []tensor.Info{m.info}}, &o)
		expect.OK(t, err)
		expect.OK(t, errors.Join(w.WriteTensor("w", bytes.NewReader(m.data)), w.Close()))
		tool(t, 0, "set", "-key", secretHex, in, out, "a=1")
		a, errA := mle.Open(in, &format.Options{Key: secret})
		b, errB := mle.Open(out, &format.Options{Key: secret})
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		ha, hb := a.Header(), b.Header()
		ca, _ := a.Compression()
		cb, _ := b.Compression()
		a.Close()
		b.Close()
		kept := ha.Features == hb.Features && ca.Method == cb.Method || o.Format == mle.Format{Lossy: mle.MethodInt8}
		if !kept || ha.Version != hb.Version || ha.HeaderSize != hb.HeaderSize || ca.Chunks != cb.Chunks {
			t.Errorf("%+v, %+v\nbecame %+v, %+v", ha, ca, hb, cb)
		}
		before, _ := tool(t, 0, "cat", "-as", "raw", "-key", secretHex, in, "w")
		prints(t, before, "cat", "-as", "raw", "-key", secretHex, out, "w")
	}
	in := writeWIA(t, quantizedSchema(), &format.WriteOptions{Key: secret, Compression: "gzip", Format: wia.Format{CompressTensor: func(tensor.Info) wia.Compression { return wia.None }}})
	out = filepath.Join(t.TempDir(), "m.wia")
	tool(t, 0, "set", "-key", secretHex, in, out, "a=1")
	_, errs := tool(t, 1, "inspect", out)
	contains(t, errs, "missing key")

	in = filepath.Join(t.TempDir(), "m.gguf")
	p := &schema.Schema{Metadata: schema.Metadata{{Key: "tiny", Value: uint8(3)}, {Key: "wide", Value: gguf.Int64(4)}}}
	w, err := format.Create(in, p, &format.WriteOptions{Format: gguf.Format{}})
	fill(t, w, err, p)
	tool(t, 0, "set", in, in, "a=1")
	f, err := gguf.Open(in, nil)
	expect.OK(t, err)
	defer f.Close()
	for _, e := range p.Metadata {
		got, _ := expect.Got(t, f.Typed).Get(e.Key)
		if diff := cmp.Diff(e.Value, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", e.Key, diff)
		}
	}
}
