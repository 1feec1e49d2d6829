package all_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// numbers are a value of every type of number that Go has.
var numbers = []any{
	int(-3), int8(-128), int16(-32768), int32(math.MinInt32), int64(math.MinInt64), uint(3), uint8(255), uint16(65535), uint32(math.MaxUint32),
	uint64(math.MaxInt64), uintptr(7), float32(0.1), float64(0.1),
}

// wrote writes an entry of metadata next to one tensor and reads it again.
func wrote(name string, value any, accept ...string) (schema.Metadata, error) {
	var out bytes.Buffer
	p := &schema.Schema{Metadata: schema.Metadata{{Key: "k", Value: value}}, Tensors: []tensor.Info{list(tensor.Float32, "w", 1)}}
	w, err := format.NewWriter(&out, p, &format.WriteOptions{Spool: format.SpoolMemory, AcceptLoss: accept, Format: formatNamed(name)})
	if err = feed(p, w, err); err != nil {
		return nil, err
	}
	m, err := format.OpenBytes(out.Bytes(), nil)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return m.Metadata()
}

// losesEntry reports whether an error is a loss of the entry.
func losesEntry(err error) bool {
	var loss *schema.LossError
	return errors.As(err, &loss) && loss.Losses[0].Item() == "metadata:k"
}

// withMetadata are the formats that have metadata of any key.
var withMetadata = []string{"mag", "mle", "wia", "safetensors", "gguf", "onnx"}

// TestMetadataNumbers: every number of Go is written by every format with metadata, and comes back as
// the same number, also in formats whose metadata is strings.
func TestMetadataNumbers(t *testing.T) {
	for _, name := range withMetadata {
		for _, v := range numbers {
			meta, err := wrote(name, v, "conversion")
			if err != nil {
				t.Errorf("%s: %T: %v", name, v, err)
				continue
			}
			var got any
			want, err := schema.Entry{Value: v}.Text()
			expect.OK(t, err)
			switch v.(type) {
			case float32, float64:
				got, err = meta.Float64("k")
			default:
				got, err = meta.Int64("k")
			}
			if d := cmp.Diff(want, fmt.Sprint(got)); d != "" || err != nil {
				t.Errorf("%s: %T: %v (-want +got)\n%s", name, v, err, d)
			}
		}
	}
}

// TestMetadataBeyondInt64: a larger number keeps all digits, or is refused by its key.
func TestMetadataBeyondInt64(t *testing.T) {
	const most = "18446744073709551615"
	for _, name := range append(withMetadata, "mobi") {
		meta, err := wrote(name, uint64(math.MaxUint64), "conversion")
		if losesEntry(err) && (name == "mag" || name == "mobi") {
			continue
		}
		if got, textErr := meta.Text("k"); got != most || err != nil || textErr != nil {
			t.Errorf("%s: %q, %v, %v", name, got, err, textErr)
		}
	}
}

// version is a value that is more than its fields.
type version struct{ major int }

func (v version) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `"v%d"`, v.major), nil }

// counted marshals as another number each time, as what looks at a clock does.
type counted struct{ n *int }

func (c counted) MarshalJSON() ([]byte, error) {
	*c.n++
	return bytes.Repeat([]byte("1"), *c.n), nil
}

// TestMetadataJSON: the formats whose metadata is JSON take what encoding/json takes; what that
// refuses, and what the other formats have no place for, is named.
func TestMetadataJSON(t *testing.T) {
	type optimizer struct {
		Name string  `json:"name"`
		Rate float64 `json:"rate"`
	}
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name  string
		value any
		want  string // "" for a refusal
	}{
		{"a struct", optimizer{"sgd", 0.5}, `{"name":"sgd","rate":0.5}`},
		{"a pointer", &optimizer{"sgd", 1}, `{"name":"sgd","rate":1}`},
		{"a map", map[string]any{"b": 1, "a": []int{2}}, `{"a":[2],"b":1}`},
		{"a list", []string{"x", "y"}, `["x","y"]`},
		{"a list of lists", [][2]int{{1, 2}}, `[[1,2]]`},
		{"its own text", version{2}, `v2`},
		{"a time", day, `2024-02-29T00:00:00Z`},
		{"a named number", time.Duration(5), `5`},
		{"a channel", make(chan int), ""},
		{"no number within", map[string]float64{"x": math.NaN()}, ""},
		{"an error", errors.New("broken"), ""},
	} {
		for _, name := range []string{"mle", "wia"} {
			meta, err := wrote(name, test.value)
			switch got, _ := meta.Text("k"); {
			case test.want != "" && (err != nil || got != test.want):
				t.Errorf("%s: %s is %s, %v, want %s", name, test.name, got, err, test.want)
			case test.want == "" && !losesEntry(err):
				t.Errorf("%s: %s: %v", name, test.name, err)
			}
		}
	}
	for _, name := range []string{"mle", "wia"} {
		meta, err := wrote(name, counted{new(int)})
		if n, intErr := meta.Int64("k"); n != 1 || err != nil || intErr != nil {
			t.Errorf("%s: what is another each time is %d, %v, %v", name, n, err, intErr)
		}
	}
	for _, name := range []string{"mag", "safetensors", "onnx"} {
		if _, err := wrote(name, optimizer{}, "conversion"); !losesEntry(err) {
			t.Errorf("%s: a struct: %v", name, err)
		}
	}
}

// TestRepeatedKey: a file of GGUF may have a key twice. Where keys are unique the second
// entry is a loss like others: listed, and left out where that is accepted.
func TestRepeatedKey(t *testing.T) {
	const key = "framework_version" // which MOBI has a field for
	s := &schema.Schema{
		Metadata: schema.Metadata{{Key: key, Value: int64(1)}, {Key: key, Value: int64(2)}},
		Tensors:  []tensor.Info{list(tensor.Float32, "7", 1)},
	}
	for _, to := range []string{"mobi", "mag", "mle", "wia", "safetensors", "gguf", "onnx"} {
		t.Run(to, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m."+to)
			err := create(to, path, s, nil)
			var lost *schema.LossError
			if !errors.As(err, &lost) || !slices.ContainsFunc(lost.Losses, func(l schema.Loss) bool {
				return l.Item() == "metadata:"+key && strings.Contains(l.Why, "twice") && l.Acceptable
			}) {
				t.Fatalf("not accepted: %v", err)
			}
			expect.OK(t, create(to, path, s, &format.WriteOptions{AcceptLoss: []string{"metadata", "conversion"}}))
			var values []string
			for _, e := range expect.Got(t, open(t, path, nil).Metadata) {
				if text, err := e.Text(); e.Key == key && err == nil {
					values = append(values, text)
				}
			}
			expect.Equal(t, []string{"1"}, values)
		})
	}
}
