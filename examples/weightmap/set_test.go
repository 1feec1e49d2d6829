package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/gguf"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/wia"
)

// entriesOf returns the metadata as JSON shows them.
func entriesOf(t *testing.T, args ...string) any {
	t.Helper()
	return inspectJSON(t, args...)["metadata"]
}

// TestSet: entries keep their places and types, in each format that has metadata.
func TestSet(t *testing.T) {
	for _, tt := range []struct {
		name string
		file string
		old  format.Metadata
		args []string
		want string
	}{
		{"mag", "m.mag", format.Metadata{{Key: "epoch", Value: int64(7)}, {Key: "loss", Value: 0.25}}, []string{"loss=2", "epoch=8", "step=-1"}, `{"epoch":8,"loss":2,"step":-1}`},
		{"mobi", "m.mobi", format.Metadata{{Key: "name", Value: "a"}}, []string{"name=b", "framework_version=3", "creation_timestamp=9"}, `{"name":"b","framework_version":3,"creation_timestamp":9,"flags":0}`},
		{"wia", "m.wia", format.Metadata{{Key: "a", Value: "text"}}, []string{`b={"x":[1,2]}`, "c=true", "d=null", `e="7"`, "a=7"}, `{"a":"7","b":{"x":[1,2]},"c":true,"d":null,"e":"7"}`},
		{"safetensors", "m.safetensors", format.Metadata{{Key: "a", Value: "1"}}, []string{"a=2", "n=3", "x=[1]"}, `{"a":"2","n":"3","x":"[1]"}`},
		{"gguf", "m.gguf", format.Metadata{{Key: "general.architecture", Value: "llama"}}, []string{"general.name=n", "big=5000000000"}, `{"general.architecture":"llama","general.name":"n","big":5000000000}`},
		{"onnx", "m.onnx", format.Metadata{{Key: "author", Value: "Ada"}}, []string{"author=Bob", "n=1"}, `{"author":"Bob","n":"1"}`},
		{"value with =", "m.wia", nil, []string{"a=b=c"}, `{"a":"b=c"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := save(t, tt.file, format.Plan{Metadata: tt.old}, floats("1", 1, 2, 3, 4))
			out := filepath.Join(t.TempDir(), tt.file)
			text, _ := tool(t, 0, append([]string{"set", in, out}, tt.args...)...)
			contains(t, text, out+": written (")
			var want any
			expect.OK(t, json.Unmarshal([]byte(tt.want), &want))
			got := entriesOf(t, out).(map[string]any)
			for _, key := range []string{"ir_version", "opsets", "general.alignment", "tensor_names"} { // the writers'
				delete(got, key)
			}
			expect.Equal(t, want, any(got))
			tool(t, 0, "verify", out)
		})
	}
}

// TestSetDeleteStays: what a format has in any file comes back, and set says so.
func TestSetDeleteStays(t *testing.T) {
	const stays = `: written (%s, %s, "%s" stays: the format makes it)` + "\n"
	for _, tt := range []struct{ file, key, entries string }{
		{"m.mle", "tensor_names", "1 entry"}, {"m.onnx", "ir_version", "2 entries"}, {"m.mobi", "name", "4 entries"},
	} {
		in := save(t, tt.file, format.Plan{Metadata: nil}, floats("1", 1, 2, 3, 4))
		out := filepath.Join(t.TempDir(), tt.file)
		prints(t, out+fmt.Sprintf(stays, filepath.Ext(out)[1:], tt.entries, tt.key), "set", "-delete", tt.key, in, out)
		if _, there := entriesOf(t, out).(map[string]any)[tt.key]; !there {
			t.Errorf("%s: there is no %s", tt.file, tt.key)
		}
	}
	in := save(t, "m.mobi", format.Plan{Metadata: format.Metadata{{Key: "name", Value: "a"}}}, floats("1", 1, 2, 3, 4))
	got, _ := tool(t, 0, "set", "-delete", "name", in, in, "name=b")
	contains(t, got, "(mobi, 4 entries)\n")
}

// TestSetForeignEnding: a file whose name is misleading can be changed in place.
func TestSetForeignEnding(t *testing.T) {
	in := model(t, "mag", "m.mle")
	tool(t, 0, "set", in, in, "epoch=8")
	tool(t, 0, "set", in, filepath.Join(t.TempDir(), "model.bin"), "epoch=8")
}

// TestSetKeeps: how a file is stored, and the types of entries that are not touched.
func TestSetKeeps(t *testing.T) {
	out := filepath.Join(t.TempDir(), "m.mle")
	for _, o := range []mle.WriteOptions{
		{Compression: mle.MethodZstd, Chunked: true}, {Compression: mle.MethodBrotli}, {Compression: mle.MethodFloat16}, {Key: secret}, {Version: 1}, {HeaderSize: 128},
		{Compression: mle.MethodInt8}, // not quantized again
	} {
		in, m := filepath.Join(t.TempDir(), "m.mle"), matrix("w")
		w, err := mle.Create(in, &format.Plan{Tensors: []tensor.Info{m.info}}, &o)
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
		kept := ha.Features == hb.Features && ca.Method == cb.Method || o.Compression == mle.MethodInt8
		if !kept || ha.Version != hb.Version || ha.HeaderSize != hb.HeaderSize || ca.Chunks != cb.Chunks {
			t.Errorf("%+v, %+v\nbecame %+v, %+v", ha, ca, hb, cb)
		}
		before, _ := tool(t, 0, "cat", "-as", "raw", "-key", secretHex, in, "w")
		prints(t, before, "cat", "-as", "raw", "-key", secretHex, out, "w")
	}
	in := writeWIA(t, quantizedPlan(), &wia.WriteOptions{Key: secret, Compression: wia.Gzip})
	out = filepath.Join(t.TempDir(), "m.wia")
	tool(t, 0, "set", "-key", secretHex, in, out, "a=1")
	_, errs := tool(t, 1, "inspect", out)
	contains(t, errs, "missing key")

	in = filepath.Join(t.TempDir(), "m.gguf")
	p := &format.Plan{Metadata: format.Metadata{{Key: "tiny", Value: uint8(3)}, {Key: "wide", Value: gguf.Int64(4)}}}
	w, err := gguf.Create(in, p, nil)
	fill(t, w, err, p)
	tool(t, 0, "set", in, in, "a=1")
	f, err := gguf.Open(in, nil)
	expect.OK(t, err)
	defer f.Close()
	for _, e := range p.Metadata {
		got, _ := f.Value(e.Key)
		if diff := cmp.Diff(e.Value, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", e.Key, diff)
		}
	}
}
