package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// waves writes a model with values that have a histogram.
func waves(t *testing.T, name string, p *format.Plan) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	w, err := format.Create("", path, p, &format.WriteOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, info := range p.Tensors {
		size, _ := info.Shape.ByteSize(info.DType)
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(int(100 * math.Sin(float64(i))))
		}
		if info.DType == tensor.Float32 {
			for i := range size / 4 {
				binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(math.Sin(float64(i)))))
			}
		}
		if err := w.WriteTensor(info.Name, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// convnet is a small one with a graph: two branches that meet, and two dtypes.
func convnet() *format.Plan {
	relu := func(in, out string) format.Node {
		return format.Node{Op: "Relu", Name: "relu_" + out, Inputs: []string{in}, Outputs: []string{out}}
	}
	return &format.Plan{
		Metadata: format.Metadata{{Key: "author", Value: "Ada"}},
		Tensors: []tensor.Info{
			{Name: "conv.weight", DType: tensor.Float32, Shape: tensor.Shape{16, 3, 5, 5}},
			{Name: "conv.bias", DType: tensor.Float32, Shape: tensor.Shape{16}},
			{Name: "fc.weight", DType: tensor.Int8, Shape: tensor.Shape{40, 100}},
			{Name: "fc.bias", DType: tensor.Float32, Shape: tensor.Shape{100}},
		},
		Graph: &format.Graph{
			Name:    "net",
			Inputs:  []format.ValueInfo{{Name: "x", DType: tensor.Float32, Dims: format.FixedDims(1, 3, 8, 8)}},
			Outputs: []format.ValueInfo{{Name: "y", DType: tensor.Float32}},
			Nodes: []format.Node{
				{Op: "Conv", Inputs: []string{"x", "conv.weight", "conv.bias"}, Outputs: []string{"a"}},
				relu("a", "b"), relu("b", "c"),
				{Op: "Add", Inputs: []string{"c", "a"}, Outputs: []string{"d"}},
				{Op: "Gemm", Inputs: []string{"d", "fc.weight", "fc.bias"}, Outputs: []string{"y"}},
			},
		},
	}
}

// many is a model of 10,000 tensors, one of them with a hostile name.
func many() *format.Plan {
	p := &format.Plan{}
	for i := range 10_000 {
		d, n := tensor.Float32, 16+i%7
		if i%10 == 3 {
			d, n = tensor.Uint8, 300
		}
		p.Tensors = append(p.Tensors, tensor.Info{Name: fmt.Sprintf("layers.%d.part%d.weight", i/10, i%10), DType: d, Shape: tensor.Shape{int64(n)}})
	}
	p.Tensors[0].Name = hostileHTML
	return p
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
	contains(t, page, "<h1>m.wia</h1>", "<dt>Parameters</dt><dd>5\u202f316</dd>", "<b>float32</b> 5.3 kB <span>56.8 %, 3 tensors</span>", "<b>int8</b>",
		`data-name="conv.weight"`, ">Conv</text>", ">x</text>", ">float32[1,3,8,8]</text>", "<td>fc.weight</td>", ">author</th><td>Ada</td>", "<b title=\"conv.weight\">")
	for what, want := range map[string]int{`class="tile`: 4, `<g class="box node"`: 5, `<g class="box input"`: 1, `<g class="box output"`: 1, `class="edge"`: 7, "<figure>": 4, "<tr data-bytes": 4} {
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
	p := &format.Plan{
		Metadata: format.Metadata{{Key: hostileHTML, Value: hostileHTML}},
		Tensors:  []tensor.Info{{Name: hostileHTML, DType: tensor.Int8, Shape: tensor.Shape{300}}, {Name: hostile, DType: tensor.Int8, Shape: tensor.Shape{300}}},
		Graph: &format.Graph{Name: hostileHTML, Inputs: []format.ValueInfo{{Name: "x" + hostileHTML, DType: tensor.Int8}},
			Nodes: []format.Node{{Op: hostileHTML, Name: hostileHTML, Inputs: []string{"x" + hostileHTML, hostileHTML}, Outputs: []string{"y"}, Attributes: []format.Attribute{{Name: hostileHTML, Value: hostileHTML}}}}},
	}
	page := htmlOf(t, waves(t, "m.wia", p))
	if strings.Contains(page, "<img") || strings.Count(page, "<script>") != 1 || strings.ContainsAny(page, "\x1b\u202e\u009b") {
		t.Error("a name got out")
	}
	contains(t, page, "&lt;img src=x onerror=alert(1)&gt;", `a\u001b[2J\u000ab\u009b\u202ec`)
}

// TestHTMLBounds: a large model makes a page that a browser can show, and says what it
// leaves out.
func TestHTMLBounds(t *testing.T) {
	r := &report{Path: "m", Format: "x", Version: "1", Graph: &format.Graph{}}
	for i := range 30_000 {
		r.Tensors = append(r.Tensors, tensorReport{Name: fmt.Sprintf("l%d.%d", i/100, i), DType: fmt.Sprintf("t%d", i%300), Shape: []int64{4}, Bytes: 4})
	}
	r.all = len(r.Tensors)
	for i := range 500 {
		r.Metadata = append(r.Metadata, format.Entry{Key: fmt.Sprintf("k%d", i), Value: strings.Repeat("v", 10_000)})
	}
	wide := format.Node{Op: "Concat", Outputs: []string{"z"}}
	for i := range 100_000 {
		r.Graph.Nodes = append(r.Graph.Nodes, format.Node{Op: "Relu", Inputs: []string{fmt.Sprint(i), fmt.Sprint(i / 2)}, Outputs: []string{fmt.Sprint(i + 1)}})
		wide.Inputs = append(wide.Inputs, fmt.Sprint(i+1))
	}
	r.Graph.Nodes[0] = wide
	p, g := &page{}, draw(r.Graph, func(string) bool { return false })
	class := p.dtypes(r)
	p.tiles(r, class)
	p.rows(r, class)
	p.entries(r)
	for what, n := range map[string][2]int{
		"tiles": {len(p.Tiles), 10_000}, "rows": {len(p.Rows), mostRows}, "entries": {len(p.Metadata), mostEntries},
		"boxes": {len(g.Boxes), 3 * mostNodes}, "edges": {len(g.Edges), mostEdges}, "dtypes": {len(p.DTypes), mostEntries},
	} {
		if n[0] > n[1] || n[0] == 0 {
			t.Errorf("%d %s, at most %d", n[0], what, n[1])
		}
	}
	for want, got := range map[string]string{
		"The first 400 of 100,000 nodes are drawn.": g.Note, "The first 10,000 of 30,000 tensors are listed; -filter chooses others.": p.RowNote,
		"The first 200 of 500 entries are listed.": p.EntryNote,
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if len(p.Metadata[0][1]) > 2*longest {
		t.Error("a long value is not cut")
	}
}

// TestTreemap: areas are in proportion, within the whole, and do not overlap.
func TestTreemap(t *testing.T) {
	var all []tensorReport
	total := 0.0
	for i, size := range []int64{700, 300, 50, 40, 30, 600, 7, 0} {
		all = append(all, tensorReport{Name: fmt.Sprintf("t%d", i), DType: "int8", Bytes: size})
		total += float64(size)
	}
	whole := rect{0, 0, mapWidth, mapHeight}
	tiles := treemap(tree(all), whole)
	if len(tiles) != 7 {
		t.Errorf("%d tiles, not 7", len(tiles))
	}
	for i, a := range tiles {
		share, want := a.W*a.H/(whole.W*whole.H), float64(a.leaf.Bytes)/total
		if math.Abs(share-want) > 1e-9 {
			t.Errorf("%s takes %v, not %v", a.name, share, want)
		}
		if a.X < -1e-9 || a.Y < -1e-9 || a.X+a.W > whole.W+1e-6 || a.Y+a.H > whole.H+1e-6 {
			t.Errorf("%s is outside: %+v", a.name, a.rect)
		}
		if max(a.W/a.H, a.H/a.W) > 8 {
			t.Errorf("%s is no square: %+v", a.name, a.rect)
		}
		for _, b := range tiles[:i] {
			if min(a.X+a.W, b.X+b.W)-max(a.X, b.X) > 1e-6 && min(a.Y+a.H, b.Y+b.H)-max(a.Y, b.Y) > 1e-6 {
				t.Errorf("%s and %s overlap", a.name, b.name)
			}
		}
	}
	// One of the size of a million others does not hide them.
	all = []tensorReport{{Name: "a.big", DType: "int8", Bytes: math.MaxInt64}, {Name: "a.x", DType: "int8", Bytes: 1}, {Name: "a.y", DType: "bool", Bytes: 1}}
	for _, a := range treemap(tree(all), whole) {
		if math.IsNaN(a.X+a.Y+a.W+a.H) || math.IsInf(a.W*a.H, 0) {
			t.Errorf("%+v", a.rect)
		}
	}
	if got := treemap(tree(nil), whole); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestDrawLayers: boxes are below those before them; a cycle ends.
func TestDrawLayers(t *testing.T) {
	g := convnet().Graph
	// Not in order, as some formats allow.
	g.Nodes[0], g.Nodes[4] = g.Nodes[4], g.Nodes[0]
	d := draw(g, func(name string) bool { return strings.Contains(name, ".") })
	at := map[string]float64{}
	for _, b := range d.Boxes {
		at[b.Kind+" "+b.Title+" "+b.Below] = b.Y
	}
	y := func(layer float64) float64 { return boxGap + layer*(boxHeight+layerGap) }
	want := map[string]float64{
		"input x float32[1,3,8,8]": y(0), "node Conv conv.weight": y(1), "node Relu relu_b": y(2), "node Relu relu_c": y(3),
		"node Add ": y(4), "node Gemm fc.weight": y(5), "output y float32[]": y(6),
	}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cycle := &format.Graph{Nodes: []format.Node{{Op: "A", Inputs: []string{"y", "x"}, Outputs: []string{"x"}}, {Op: "B", Inputs: []string{"x"}, Outputs: []string{"y"}}}}
	if d := draw(cycle, func(string) bool { return false }); len(d.Boxes) != 2 || len(d.Edges) != 3 {
		t.Errorf("%d boxes, %d edges", len(d.Boxes), len(d.Edges))
	}
}

// TestBars: the ends of the range are in it, and one value is in the middle.
func TestBars(t *testing.T) {
	for want, values := range map[string][]float64{
		"M0.0 72v-72.0h4.2v72.0zM235.0 72v-36.0h4.2v36.0z": {-1, -1, 1},
		"M120.0 72v-72.0h4.2v72.0z":                        {5, 5},
		"M0.0 72v-72.0h4.2v72.0zM235.0 72v-72.0h4.2v72.0z": {-math.MaxFloat64, math.MaxFloat64},
	} {
		if diff := cmp.Diff(want, bars(values, values[0], values[len(values)-1])); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// chromium runs a headless browser on a page and returns what became of its document. No
// message may reach the console: a script or style that the page's policy does not know, and
// every request, as it allows none, would leave one.
func chromium(t *testing.T, page, fragment string, options ...string) string {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: the Debian package has one")
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars", "--enable-logging=stderr",
		"--user-data-dir=" + t.TempDir(), "--window-size=1300,1300", "--dump-dom"}, options...)
	cmd := exec.Command(browser, append(args, "file://"+path+fragment)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	for line := range strings.Lines(errs.String()) {
		if strings.Contains(line, "CONSOLE") {
			t.Error("on the console: ", line)
		}
	}
	contains(t, out.String(), `data-ready="yes"`)
	return out.String()
}

// TestBrowser: a browser shows the page, finds rows, and draws in the colors of the dtypes.
func TestBrowser(t *testing.T) {
	shot := filepath.Join(t.TempDir(), "shot.png")
	small := htmlOf(t, waves(t, "m.wia", convnet()))
	// rows returns how many rows of a document are shown, and how many are not.
	rows := func(dom string) [2]int {
		all, hidden := strings.Count(dom, "<tr data-bytes"), len(regexp.MustCompile(`<tr data-bytes[^>]* hidden`).FindAllString(dom, -1))
		return [2]int{all - hidden, hidden}
	}
	t.Run("light", func(t *testing.T) {
		dom := chromium(t, small, "#q=FC%20int", "--screenshot="+shot)
		contains(t, dom, `<span id="count">1 of 4</span>`, `class="tile c0"`, `class="tile c1"`)
		if diff := cmp.Diff([2]int{1, 3}, rows(dom)); diff != "" {
			t.Errorf("rows shown and hidden (-want +got):\n%s", diff)
		}
		if box := regexp.MustCompile(`class="canvas"[^>]*viewBox="([^"]*)"`).FindStringSubmatch(dom); box == nil || strings.HasPrefix(box[1], "0 0 ") {
			t.Errorf("the graph is not in its place: %q", box)
		}
		paints(t, shot, map[string][2]float64{"#f6f7f9": {0.1, 0.7}, "#5b8def": {0.1, 0.5}, "#2fa88c": {0.05, 0.4}, "#ffffff": {0.05, 0.6}})
	})
	t.Run("dark", func(t *testing.T) {
		chromium(t, small, "", "--blink-settings=preferredColorScheme=0", "--screenshot="+shot)
		paints(t, shot, map[string][2]float64{"#12161c": {0.1, 0.7}, "#4673c8": {0.1, 0.5}, "#23846f": {0.05, 0.4}, "#ffffff": {0, 0.01}})
	})
	t.Run("10,000 tensors without a graph", func(t *testing.T) {
		dom := chromium(t, htmlOf(t, waves(t, "m.safetensors", many())), "#q=layers.99.", "--screenshot="+shot)
		contains(t, dom, `<span id="count">10 of 10000</span>`)
		if diff := cmp.Diff([2]int{10, 9990}, rows(dom)); diff != "" {
			t.Errorf("rows shown and hidden (-want +got):\n%s", diff)
		}
		if n := strings.Count(dom, `class="tile `); n < 500 || n > 10_000 {
			t.Errorf("%d tiles", n)
		}
		if strings.Contains(dom, "<img") {
			t.Error("a name became an element")
		}
		if strings.Contains(dom, `<section id="graph">`) {
			t.Error("a graph where there is none")
		}
		paints(t, shot, map[string][2]float64{"#5b8def": {0.1, 0.5}, "#2fa88c": {0.01, 0.3}})
	})
}

// paints checks which shares of a picture have some colors.
func paints(t *testing.T, path string, want map[string][2]float64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[color.Color]int{}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			counts[color.RGBAModel.Convert(img.At(x, y))]++
		}
	}
	all := float64(b.Dx() * b.Dy())
	for name, bounds := range want {
		c := color.RGBA{A: 0xff}
		if _, err := fmt.Sscanf(name, "#%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
			t.Fatal(err)
		}
		if share := float64(counts[c]) / all; share < bounds[0] || share > bounds[1] {
			t.Errorf("%s is %.3f of the picture, not %v", name, share, bounds)
		}
	}
	if len(counts) < 50 {
		t.Errorf("%d colors: there is no text", len(counts))
	}
}
