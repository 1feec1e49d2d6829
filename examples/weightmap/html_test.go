package main

import (
	"encoding/binary"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// waves writes a model with values that have a histogram.
func waves(t *testing.T, name string, p *schema.Schema) string {
	t.Helper()
	var samples []sample
	for _, info := range p.Tensors {
		size, _ := info.ByteSize()
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(int(100 * math.Sin(float64(i))))
		}
		if info.DType == tensor.Float32 {
			for i := range size / 4 {
				binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(math.Sin(float64(i)))))
			}
		}
		samples = append(samples, sample{info, data})
	}
	s := *p
	s.Tensors = nil
	return save(t, name, s, samples...)
}

// convnet is a small one with a graph: two branches that meet, and two dtypes.
func convnet() *schema.Schema {
	relu := func(in, out string) schema.Node {
		return schema.Node{Op: "Relu", Name: "relu_" + out, Inputs: []string{in}, Outputs: []string{out}}
	}
	return &schema.Schema{
		Metadata: schema.Metadata{{Key: "author", Value: "Ada"}},
		Tensors: []tensor.Info{
			{Name: "conv.weight", DType: tensor.Float32, Shape: tensor.Shape{16, 3, 5, 5}},
			{Name: "conv.bias", DType: tensor.Float32, Shape: tensor.Shape{16}},
			{Name: "fc.weight", DType: tensor.Int8, Shape: tensor.Shape{40, 100}},
			{Name: "fc.bias", DType: tensor.Float32, Shape: tensor.Shape{100}},
		},
		Graph: &schema.Graph{
			Name:    "net",
			Inputs:  []schema.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: schema.FixedDims(1, 3, 8, 8)}},
			Outputs: []schema.ValueInfo{{Name: "y", DType: tensor.Float32}},
			Nodes: []schema.Node{
				{Op: "Conv", Inputs: []string{"x", "conv.weight", "conv.bias"}, Outputs: []string{"a"}},
				relu("a", "b"), relu("b", "c"),
				{Op: "Add", Inputs: []string{"c", "a"}, Outputs: []string{"d"}},
				{Op: "Gemm", Inputs: []string{"d", "fc.weight", "fc.bias"}, Outputs: []string{"y"}},
			},
		},
	}
}

// htmlOf returns the page of a model.
func htmlOf(t *testing.T, path string) string {
	t.Helper()
	out, _ := tool(t, 0, "inspect", "-html", path)
	return out
}

// TestHTML: all that a page shows is in it, without a browser too, and nothing that
// would load something.
func TestHTML(t *testing.T) {
	page := htmlOf(t, waves(t, "m.wia", convnet()))
	contains(t, page, "<h1>m.wia</h1>", "<dt>Parameters</dt><dd>5,316</dd>", "<b>float32</b> 5.3 kB <span>56.8 %, 3 tensors</span>", "<b>int8</b>",
		`data-name="conv.weight"`, ">Conv</text>", ">x</text>", ">float32[1,3,8,8]</text>", "<span>fc.weight</span>", ">author</th><td>Ada</td>", "<b title=\"conv.weight\">")
	for what, want := range map[string]int{`class="tile`: 12, `<g class="box node"`: 5, `<g class="box input"`: 1, `<g class="box output"`: 1, `class="edge"`: 7, "<figure>": 4, `<tr><td class="name">`: 4} {
		if got := strings.Count(page, what); got != want {
			t.Errorf("%d of %q, not %d", got, what, want)
		}
	}
	if found := regexp.MustCompile(`https?://|\bsrc=|\bhref=|@import|url\([^#]`).FindString(page); found != "" {
		t.Errorf("%q in the page", found)
	}
}

// hostileHTML is a name that ends whatever it stands in.
const hostileHTML = `a"'></title></script></style><img src=x onerror=alert(1)><script>alert(2)</script>`

// TestHTMLHostile: names are text, wherever they stand.
func TestHTMLHostile(t *testing.T) {
	p := hostileSchema(hostileHTML)
	p.Tensors = append(p.Tensors, tensor.Info{Name: hostile, DType: tensor.Int8, Shape: tensor.Shape{300}})
	p.Graph.Nodes[0].Op = hostileHTML
	page := htmlOf(t, waves(t, "m.wia", p))
	if strings.Contains(page, "<img") || strings.Count(page, "<script>") != 1 || strings.ContainsAny(page, "\x1b\u202e\u009b") {
		t.Error("a name got out")
	}
	contains(t, page, "&lt;img src=x onerror=alert(1)&gt;", `a\u001b[2J\u000ab\u009b\u202ec`)
}

// TestBrowser: a browser shows the page, finds rows, and draws in the colors of the dtypes or of
// the layers.
func TestBrowser(t *testing.T) {
	small := htmlOf(t, waves(t, "m.wia", convnet()))
	t.Run("colors", func(t *testing.T) {
		tile := `getComputedStyle(document.querySelector("#treemap [data-name='conv.weight'] rect") ?? document.querySelector("#treemap rect")).fill`
		seen := map[any]bool{}
		for _, dark := range []bool{false, true} {
			seen[browse(t, small, "", dark).eval(tile)] = true
		}
		if len(seen) != 2 {
			t.Errorf("%v in the light and in the dark", seen)
		}
	})
	t.Run("search", func(t *testing.T) {
		b := browse(t, small, "#q=FC%20int", false)
		expect.Equal(t, []string{"1 of 4"}, b.texts("#count"))
		expect.Equal(t, []string{"fc.weight"}, b.texts("#rows .name"))
		b.eval(`document.querySelector("#treemap [data-name='conv.weight']").dispatchEvent(new Event("click"))`)
		expect.Equal(t, []string{"conv.weight"}, b.texts("#rows .name"))
		b.eval(`document.querySelector("#q").value = ""; document.querySelector("#q").dispatchEvent(new Event("input")); document.querySelector("th[data-sort=bytes]").click()`)
		expect.Equal(t, []string{"conv.bias", "fc.bias", "fc.weight", "conv.weight"}, b.texts("#rows .name"))
	})
	t.Run("nodes", func(t *testing.T) {
		p := convnet()
		p.Graph.Nodes[0].Attributes = []schema.Attribute{{Name: "strides", Value: []int64{2, 2}}}
		b := browse(t, htmlOf(t, waves(t, "m.wia", p)), "", false)
		if box := b.eval(`document.querySelector(".canvas").getAttribute("viewBox")`).(string); strings.HasPrefix(box, "0 0 ") {
			t.Errorf("the graph is not in its place: %q", box)
		}
		b.eval(`document.querySelectorAll(".box")[1].dispatchEvent(new MouseEvent("click", {bubbles: true}))`)
		want := []string{"operator", "Conv", "input", "x", "input", "conv.weight float32[16,3,5,5]", "input", "conv.bias float32[16]", "output", "a", "strides", "[2,2]"}
		expect.Equal(t, want, b.texts("#node dt, #node dd"))
		b.eval(`document.querySelector("#node .close").click()`)
		if b.eval(`document.querySelector("#node").hidden`) != true {
			t.Error("the facts stay")
		}
	})
}
