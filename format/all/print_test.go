package all_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/gguf"
	reload "github.com/weightmap/weightmap/format/live"
	"github.com/weightmap/weightmap/format/mobile"
	"github.com/weightmap/weightmap/format/npy"
	"github.com/weightmap/weightmap/format/onnx"
	"github.com/weightmap/weightmap/format/remote"
	"github.com/weightmap/weightmap/format/safetensors"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/format/signing"
	"github.com/weightmap/weightmap/format/torch"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mag"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tensor/quant"
	"github.com/weightmap/weightmap/tsr"
	"github.com/weightmap/weightmap/wia"
)

// secretByte fills keys, which must not be printed.
const secretByte = 201

// printed lists the exported types of the public packages. Each is printed with exported fields that are as large as models
// make them.
var printed = []any{
	format.Coverage{}, format.Options{}, format.WriteOptions{}, format.Spool(1), format.VerifyOptions{}, format.Piece{}, format.ReaderInfo{}, format.OpenExternalData("."), &format.Model{}, &format.Writer{}, &format.ChoiceError{}, format.Covered{}, format.FileRange{}, format.Request{}, format.Stats{}, format.FileStats{}, format.Digest{}, &format.Unverified{}, format.UnverifiedFile{},
	convert.Options{}, convert.Report{}, convert.Stats{}, convert.Stayed{},
	format.Check(1), schema.Signature{}, format.SignatureState(1),
	formattest.Config{}, formattest.File{}, formattest.SchemaOptions{}, formattest.Range{}, formattest.Sample{},
	gguf.Format{}, npy.Format{}, npy.Archive{}, safetensors.Format{}, torch.Format{}, &gguf.File{}, gguf.FileType(1), gguf.Float64(1), gguf.Int64(1), &onnx.File{}, onnx.Format{},
	reload.Event{}, reload.EventKind(1), &reload.Handle{}, &reload.Lease{}, reload.Options{}, reload.Stats{},
	&mobile.Canceler{}, &mobile.Model{}, &mobile.Options{}, &mobile.Pin{}, &mobile.Report{}, &mobile.Tensor{},
	schema.Attribute{}, schema.Dim{}, schema.Doc{}, schema.Entry{}, schema.Graph{}, schema.Loss{}, &schema.LossError{}, schema.LossKind(""), schema.LossList{}, schema.Metadata{}, schema.Native{}, schema.NativeKind{}, schema.OperatorSet{},
	schema.Node{}, schema.Schema{}, schema.ValueInfo{},
	remote.Answer{}, remote.Options{}, &remote.Reader{}, remote.Stats{}, &remote.StatusError{}, &remote.Temporary{}, remote.Version{},
	&signing.Bundle{}, signing.File{}, signing.Identity{}, signing.Method(""), signing.Options{}, &signing.Policy{}, signing.Report{}, signing.Signer{}, &signing.Trust{},
	mag.Checksum(1), &mag.File{}, mag.Format{},
	mle.CompressionInfo{}, mle.Descriptor{}, mle.Features(1), &mle.File{}, mle.Header{}, mle.IR{}, mle.IRNode{}, mle.Method(1), mle.Op(1), mle.Section{}, mle.SignOptions{}, mle.Format{},
	mobi.DataType(1), &mobi.File{}, mobi.Flags(1), mobi.Footer(1), mobi.Header{}, mobi.OpType(1), mobi.Operator{}, mobi.Param{}, mobi.Spec{}, mobi.Format{},
	tensor.DType(1), tensor.Encoding{}, &tensor.Error{}, tensor.F16(1), tensor.BF16(1), tensor.Info{}, tensor.QuantStats{}, tensor.Quantization{}, tensor.QuantizeOptions{}, &tensor.Quantizer{}, tensor.Range{}, tensor.Scheme(1), tensor.Shape{}, tensor.View{},
	quant.Packed{}, quant.Pair{}, &tsr.File{}, tsr.Format{}, wia.Compression(1), &wia.File{}, wia.Format{},
}

// exportedTypes returns the names of the exported types in internal/api/api.txt that are neither interfaces nor functions,
// but for those that only the code of a format uses.
func exportedTypes(t *testing.T) (names []string) {
	t.Helper()
	line := regexp.MustCompile(`^([a-z/]+), type ([A-Za-z0-9_.]+)(\[\])? ?([a-z0-9\[\]A-Z]+)`)
	for _, text := range strings.Split(string(expect.Read(t, "../../internal/api/api.txt")), "\n") {
		m := line.FindStringSubmatch(text)
		if m == nil || m[1] == "format/driver" || strings.Contains(text, "field ") || m[4] == "interface" || m[4] == "func" || strings.Contains(text, " = ") {
			continue
		}
		name := m[2]
		if !strings.Contains(name, ".") {
			name = filepath.Base(m[1]) + "." + name
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// large sets the exported fields of a value, and of what it points at.
func large(v reflect.Value, many, depth int) {
	if depth == 0 || !v.CanSet() {
		return
	}
	switch v.Type() {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[context.Context]():
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Repeat("name", 10))
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(1 << 30)
	case reflect.Uint64, reflect.Uint32:
		v.SetUint(1 << 30)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.123456789)
	case reflect.Struct:
		for i := range v.NumField() {
			large(v.Field(i), many, depth-1)
		}
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.Struct {
			v.Set(reflect.New(v.Type().Elem()))
			large(v.Elem(), many, depth-1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(bytes.Repeat([]byte{secretByte}, 10*many))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), many, many))
		for i := range many {
			large(v.Index(i), 4, depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := range many {
			if v.Type().Key().Kind() == reflect.String {
				v.SetMapIndex(reflect.ValueOf(fmt.Sprint("key of a map ", i)).Convert(v.Type().Key()), reflect.Zero(v.Type().Elem()))
			}
		}
	case reflect.Interface:
		for _, x := range []any{json.RawMessage(`["` + strings.Repeat("token ", 100*many) + `"]`), ed25519.PrivateKey(bytes.Repeat([]byte{secretByte}, ed25519.PrivateKeySize)), ed25519.PublicKey(bytes.Repeat([]byte{secretByte}, ed25519.PublicKeySize))} {
			if reflect.TypeOf(x).AssignableTo(v.Type()) {
				v.Set(reflect.ValueOf(x))
				return
			}
		}
	}
}

// texts prints a value in each way.
func texts(v any, slogs bool) map[string]string {
	all := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		all[verb] = fmt.Sprintf(verb, v)
	}
	if !slogs {
		return all
	}
	var text, object bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("", "v", v)
	slog.New(slog.NewJSONHandler(&object, nil)).Info("", "v", v)
	all["slog text"] = strings.TrimSuffix(text.String(), "\n")
	all["slog JSON"] = strings.TrimSuffix(object.String(), "\n")
	return all
}

// short reports how a value is printed on more than one line, in 1,000 characters or more, or with a key.
func short(t *testing.T, what string, v any, slogs bool) {
	t.Helper()
	for verb, text := range texts(v, slogs) {
		switch {
		case len(text) >= 1000:
			t.Errorf("%s: %s prints %d bytes: %.100s ...", what, verb, len(text), text)
		case strings.Contains(text, "\n"):
			t.Errorf("%s: %s prints several lines: %s", what, verb, text)
		case strings.Contains(text, "201 201 201"), strings.Contains(text, "c9c9c9"), strings.Contains(text, "0xc9, 0xc9"), strings.Contains(text, "yc3J"), strings.Contains(text, "ycnJ"):
			t.Errorf("%s: %s prints a key: %s", what, verb, text)
		}
	}
}

// TestPrinting prints a value of each exported type with each verb and with slog: ../shared/cases/newcomer/print.go.txt.
func TestPrinting(t *testing.T) {
	missing := exportedTypes(t)
	if len(missing) < 80 {
		t.Fatalf("%d types, there are more", len(missing))
	}
	for _, v := range printed {
		typ := reflect.TypeOf(v)
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == typ.String() })
		t.Run(typ.String(), func(t *testing.T) {
			slogs := !strings.HasPrefix(typ.String(), "mobile.") // which Java and Swift do not have
			filled := reflect.New(typ)
			large(filled.Elem(), 300, 5)
			short(t, "pointer", filled.Interface(), slogs)
			short(t, "pointer to the zero value", reflect.New(typ).Interface(), slogs)
			if reflect.TypeOf(v) == typ {
				short(t, "value", filled.Elem().Interface(), slogs)
				short(t, "zero value", v, slogs)
			} else {
				short(t, "nil pointer", reflect.Zero(reflect.PointerTo(typ)).Interface(), false)
			}
		})
	}
	for _, name := range missing {
		t.Errorf("%s is not printed", name)
	}
}

// TestPrintingOpen prints handles while they are open and after they are closed.
func TestPrintingOpen(t *testing.T) {
	dir := t.TempDir()
	weights := make([]float32, 1000)
	view, err := tensor.Of("m", tensor.Shape{1000}, weights)
	expect.OK(t, err)
	p := &schema.Schema{Tensors: []tensor.Info{view.Info()}}
	for _, name := range format.Writable() {
		path := filepath.Join(dir, "m."+name)
		expect.OK(t, format.Save(t.Context(), path, nil, []tensor.View{numbered(name, view)}, &format.WriteOptions{Format: formatNamed(name)}))
		m, err := format.Open(path, nil)
		expect.OK(t, err)
		values := map[string]any{"model": m, "tensor": m.At(0), "info": m.At(0).Info(), "stats": m.Stats()}
		if f, ok := mle.From(m); ok {
			values["own"] = f
			values["own, by value"] = *f
		}
		for what, v := range values {
			short(t, name+" "+what+", open", v, true)
		}
		expect.OK(t, m.Close())
		for what, v := range values {
			short(t, name+" "+what+", closed", v, true)
		}
	}
	path := filepath.Join(dir, "m.safetensors")
	w, err := format.Create(filepath.Join(dir, "new.mag"), p, nil)
	expect.OK(t, err)
	short(t, "writer", w, true)
	expect.OK(t, w.Abort())
	short(t, "aborted writer", w, true)

	h, err := reload.Open(t.Context(), path, nil)
	expect.OK(t, err)
	l, err := h.Acquire()
	expect.OK(t, err)
	short(t, "handle", h, true)
	short(t, "lease", &l, true)
	l.Release()
	expect.OK(t, h.Close())
	short(t, "closed handle", h, true)
	short(t, "released lease", &l, true)

	phone, err := mobile.Open(path, nil)
	expect.OK(t, err)
	one, err := phone.Tensor(0)
	expect.OK(t, err)
	pin, err := phone.Pin()
	expect.OK(t, err)
	for _, v := range []any{phone, one, pin} {
		short(t, "open for a phone", v, false)
	}
	pin.Unpin()
	expect.OK(t, phone.Close())
	for _, v := range []any{phone, one, pin} {
		short(t, "closed for a phone", v, false)
	}
	z, err := tensor.NewQuantizer(tensor.Shape{1000, 2}, tensor.QuantizeOptions{DType: tensor.Int8, PerChannel: true})
	expect.OK(t, err)
	short(t, "quantizer", z, true)
	expect.OK(t, z.Observe(make([]float32, 2000)))
	_, err = z.Parameters()
	expect.OK(t, err)
	short(t, "quantizer with parameters", z, true)

	past := time.Now().Add(-time.Hour)
	expect.OK(t, os.Chtimes(path, past, past))
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer s.Close()
	r, err := remote.NewReaderAt(t.Context(), s.URL+"/m.safetensors", nil)
	expect.OK(t, err)
	short(t, "reader", r, true)
	m, err := format.OpenReaderAt(r, r.Size(), nil)
	expect.OK(t, err)
	short(t, "remote model", m, true)
	expect.OK(t, m.Close())
	short(t, "remote model, closed", m, true)
	short(t, "reader, closed", r, true)

	mapped := string(expect.Read(t, path))
	m, err = format.Open(path, nil)
	expect.OK(t, err)
	defer m.Close()
	short(t, "struct of models", struct{ A, B *format.Model }{m, m}, true)
	got := fmt.Sprintln(m)
	if !strings.Contains(got, "safetensors") || !strings.Contains(got, "1 tensor") || strings.Contains(got, mapped[:20]) {
		t.Errorf("Println prints %s", got)
	}
	_ = os.Remove(path)
}

// numbered returns a view with a name that a format has.
func numbered(name string, v tensor.View) tensor.View {
	if name != "mobi" {
		return v
	}
	b, err := v.Bytes()
	if err != nil {
		return v
	}
	v, _ = tensor.FromBytes("1", v.DType(), v.Shape(), b)
	return v
}
