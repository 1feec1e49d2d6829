package format

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// poor is a format that holds tensors of uint8 alone, whose names are short,
// and a graph without attributes. seen is the schema that gets through.
type poor struct {
	*fake
	seen **schema.Schema
}

// newPoor returns the format, which shows the schema in *seen.
func newPoor(seen **schema.Schema) Format {
	return asFormat{poor{&fake{name: "poor", magic: "POOR"}, seen}}
}

func (d poor) Losses(p *schema.Schema, _ *driver.LayoutOptions, l *schema.LossList) error {
	l.AllQuantization(p, "no parameters")
	l.AllMetadata(p, "no metadata")
	for i := range p.Tensors {
		if len(p.Tensors[i].Name) > 2 {
			l.Renamed(p, i, "too long")
		}
		if p.Tensors[i].DType != tensor.Uint8 {
			l.Fixed(schema.LossDType, p.Tensors[i].Name, fmt.Errorf("%w: %v", ErrUnsupported, p.Tensors[i].DType))
		}
	}
	if p.Graph == nil {
		return nil
	}
	for i, n := range p.Graph.Nodes {
		if n.Op == "Gemm" {
			l.Graph(fmt.Sprintf("nodes[%d]", i), fmt.Errorf("%w: no Gemm", ErrLimit))
		}
		for j := range n.Attributes {
			l.Attribute(p, i, j, fmt.Errorf("%w: no attributes", ErrUnsupported))
		}
		if n.Name != "" {
			l.Converted(schema.LossLabel, n.Name, "no names")
		}
	}
	return nil
}

func (d poor) Layout(p *schema.Schema, o *driver.LayoutOptions) (*driver.Layout, error) {
	*d.seen = p
	return d.fake.Layout(p, o)
}

// richSchema has something that poor lacks of every kind.
func richSchema() *schema.Schema {
	return &schema.Schema{
		Metadata: schema.Metadata{{Key: "author", Value: "me"}, {Key: "epoch", Value: int64(3)}},
		Tensors: []tensor.Info{
			{Name: "a", DType: tensor.Uint8, Shape: tensor.Shape{3}, Quant: &tensor.Quantization{Axis: tensor.PerTensor, Scales: []float32{1}}},
			{Name: "long", DType: tensor.Uint8, Shape: tensor.Shape{2}},
		},
		Graph: &schema.Graph{Nodes: []schema.Node{
			{Op: "Add", Name: "n", Attributes: []schema.Attribute{{Name: "x", Value: int64(1)}, {Name: "y", Value: int64(2)}}},
			{Op: "Mul", Attributes: []schema.Attribute{{Name: "x", Value: int64(3)}}},
		}},
	}
}

func itemsOf(err error) (items []string) {
	var e *schema.LossError
	if errors.As(err, &e) {
		for _, l := range e.Losses {
			items = append(items, l.Item())
		}
	}
	return items
}

// TestLosses: whatever is not accepted is on the list, and what is accepted is
// gone from the schema that the format gets.
func TestLosses(t *testing.T) {
	gemm := func(p *schema.Schema) { p.Graph.Nodes[1].Op = "Gemm" }
	for _, c := range []struct {
		name   string
		change func(*schema.Schema)
		accept []string
		want   []string
		graph  bool // is left
	}{
		{"nothing accepted", nil, nil, []string{
			"quantization:a", "metadata:author", "metadata:epoch", "attribute:nodes[0].x", "attribute:nodes[0].y", "attribute:nodes[1].x", "label:n", "name:long",
		}, false},
		{"single ones", nil, []string{"metadata:author", "attribute:nodes[0].y", "name", "quantization:a"},
			[]string{"metadata:epoch", "attribute:nodes[0].x", "attribute:nodes[1].x", "label:n"}, false},
		{"all but one", nil, []string{"metadata:author", "attribute", "name", "quantization", "label"}, []string{"metadata:epoch"}, false},
		{"all", nil, schema.AcceptableLosses(), nil, true},
		{"items", nil, []string{"quantization:a", "metadata:author", "metadata:epoch", "attribute:nodes[0].x", "attribute:nodes[0].y", "attribute:nodes[1].x", "label:n", "name:long"}, nil, true},
		{"a graph goes with all that is in it", gemm, []string{"quantization", "metadata", "name"}, []string{"graph:nodes[1]"}, false},
		{"the graph accepted", gemm, []string{"quantization", "metadata", "name", "graph"}, nil, false},
		{"dtype", func(p *schema.Schema) { p.Tensors[0].DType = tensor.Int8 }, schema.AcceptableLosses(), []string{"dtype:a"}, false},
		{"nothing to lose", func(p *schema.Schema) { *p = schema.Schema{Tensors: p.Tensors[:1]}; p.Tensors[0].Quant = nil }, []string{"metadata:author", "graph"}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := richSchema()
			if c.change != nil {
				c.change(p)
			}
			before := fmt.Sprintf("%+v %+v", p, p.Graph)
			var seen *schema.Schema
			var out bytes.Buffer
			_, err := NewWriter(&out, p, &WriteOptions{Format: newPoor(&seen), AcceptLoss: c.accept, Spool: SpoolNever})
			if diff := cmp.Diff(c.want, itemsOf(err)); diff != "" {
				t.Fatalf("%v: %s", err, diff)
			}
			if after := fmt.Sprintf("%+v %+v", p, p.Graph); after != before {
				t.Errorf("the caller's schema became %s", after)
			}
			if err != nil {
				var e *tensor.Error
				if !errors.Is(err, ErrSchema) || !errors.Is(err, ErrUnsupported) || !errors.As(err, &e) || e.Format != "poor" || seen != nil || out.Len() > 0 {
					t.Errorf("%v, and %d bytes", err, out.Len())
				}
				return
			}
			if (seen.Graph != nil) != c.graph || len(seen.Metadata) > 0 || slices.ContainsFunc(seen.Tensors, func(i tensor.Info) bool { return i.Quant != nil }) {
				t.Errorf("%+v", seen)
			}
			if c.graph && slices.ContainsFunc(seen.Graph.Nodes, func(n schema.Node) bool { return len(n.Attributes) > 0 }) {
				t.Errorf("%+v", seen.Graph)
			}
		})
	}
}

// TestSingleLoss: one loss looks like any other error, with field and sentinel.
func TestSingleLoss(t *testing.T) {
	p := fakeSchema()
	p.Metadata = schema.Metadata{{Key: "author", Value: "me"}}
	var seen *schema.Schema
	_, err := Create(t.TempDir()+"/m.poor", p, &WriteOptions{Format: newPoor(&seen)})
	var e *tensor.Error
	if !errors.As(err, &e) || e.Field != `metadata "author"` || e.Path == "" || !strings.HasSuffix(err.Error(), `: metadata "author": invalid schema: unsupported: no metadata (string)`) {
		t.Errorf("%v (%+v)", err, e)
	}
	p = &schema.Schema{Graph: &schema.Graph{Nodes: []schema.Node{{Op: "Gemm"}}}}
	if _, err = NewWriter(&bytes.Buffer{}, p, &WriteOptions{Format: newPoor(&seen)}); !errors.Is(err, ErrLimit) || !errors.Is(err, ErrUnsupported) {
		t.Errorf("%v, want ErrLimit too", err)
	}
}

// TestManyLosses: the text stays short and counts, the list has all.
func TestManyLosses(t *testing.T) {
	p := fakeSchema()
	for i := range 1000 {
		p.Metadata = append(p.Metadata, schema.Entry{Key: fmt.Sprintf("key%04d", i), Value: strings.Repeat("x", 1000)})
	}
	p.Tensors[1].DType = tensor.Int8
	var seen *schema.Schema
	_, err := NewWriter(&bytes.Buffer{}, p, &WriteOptions{Format: newPoor(&seen)})
	if n := len(itemsOf(err)); n != 1001 {
		t.Errorf("%d losses", n)
	}
	want := "poor: invalid schema: unsupported: the format cannot store tensor \"bb\" (int8)" +
		"; it would drop metadata \"key0000\" (no metadata (string)), metadata \"key0001\" (no metadata (string)) and 998 more"
	expect.Equal(t, want, err.Error())
}

// TestAcceptUnknown refuses what names no kind, and kinds without which there is
// no schema.
func TestAcceptUnknown(t *testing.T) {
	for _, s := range []string{"", "metdata", "all", ":author", "dtype", "shape:w", "Metadata"} {
		_, err := NewWriter(&bytes.Buffer{}, fakeSchema(), &WriteOptions{Format: asFormat{plainFake}, AcceptLoss: []string{"graph", s}})
		var e *tensor.Error
		if !errors.As(err, &e) || !errors.Is(err, ErrSchema) || e.Field != "AcceptLoss" {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// TestCopyDisagrees: bytes of the right number are not enough, for one tensor neither.
func TestCopyDisagrees(t *testing.T) {
	half := &tensor.Quantization{Axis: tensor.PerTensor, Scales: []float32{0.5}}
	for _, c := range []struct {
		name   string
		change func(*tensor.Info)
		want   error
	}{
		{"as it is", func(*tensor.Info) {}, nil},
		{"another shape", func(i *tensor.Info) { i.Shape = tensor.Shape{3, 1} }, nil},
		{"another dtype", func(i *tensor.Info) { i.DType = tensor.Int8 }, ErrDType},
		{"quantization that the caller knows", func(i *tensor.Info) { i.Quant = half }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := OpenBytes([]byte(fakeFile), nil)
			expect.OK(t, err)
			defer m.Close()
			p := fakeSchema()
			c.change(&p.Tensors[0])
			for name, write := range map[string]func(*Writer) error{
				"WriteModel": func(w *Writer) error { return w.WriteModel(m) },
				"WriteView":  func(w *Writer) error { return w.WriteView(m.At(0)) },
			} {
				w, err := NewWriter(&bytes.Buffer{}, p, &WriteOptions{Format: asFormat{plainFake}})
				expect.OK(t, err)
				defer w.Abort()
				if err := write(w); !errors.Is(err, c.want) || c.want != nil && !errors.Is(err, ErrSchema) {
					t.Errorf("%s: %v, want %v", name, err, c.want)
				}
			}
		})
	}
}
