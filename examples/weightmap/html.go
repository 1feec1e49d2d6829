package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math/big"
	"path/filepath"
	"slices"

	"github.com/weightmap/weightmap/examples/internal/cli"
	"github.com/weightmap/weightmap/format"
)

var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageCSS string
	//go:embed page/page.js
	pageJS string

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
)

// What a page has at most.
const (
	mostRows    = 10_000
	mostEntries = 200
	longest     = 400 // columns of a value
	palette     = 8   // colors of dtypes
)

// page is what inspect -html writes. All text in it is safe for a terminal; the template
// makes it safe for HTML.
type page struct {
	Title, Path string
	Facts       [][2]string
	Notes       []string
	DTypes      []dtypeShare
	Tiles       []tileView
	Rows        []tensorRow
	RowNote     string
	Metadata    [][2]string
	EntryNote   string
	Graph       *drawing
	GraphTitle  string
	Histograms  []*histogram

	CSS                 template.CSS
	JS                  template.JS
	CSSSum, JSSum       string // what the content security policy allows
	MapWidth, MapHeight int
}

// dtypeShare is a part of the bar that dtypes share.
type dtypeShare struct {
	Name, Class, Size, Percent string
	Tensors                    string
	X, Width                   float64 // in percent
}

// tileView is a rectangle of the treemap.
type tileView struct {
	rect
	Class, Name, About string
	Label, Below       string
	Frame              bool
}

// tensorRow is a line of the table.
type tensorRow struct {
	Name, DType, Class, Shape, Size, Offset, Stored, Quantization string
	Bytes, Elements, At                                           int64
}

// html writes one page that needs nothing else.
func (r *report) html(ctx context.Context, out io.Writer, m *renamed) error {
	p := &page{
		Title: cli.Printable(filepath.Base(r.Path)), Path: cli.Printable(r.Path),
		CSS: template.CSS(pageCSS), JS: template.JS(pageJS), CSSSum: sum(pageCSS), JSSum: sum(pageJS),
		MapWidth: mapWidth, MapHeight: mapHeight,
	}
	for _, n := range r.Notes {
		p.Notes = append(p.Notes, cli.Printable(n))
	}
	p.facts(r)
	class := p.dtypes(r)
	p.tiles(r, class)
	p.rows(r, class)
	p.entries(r)
	if r.Graph != nil {
		p.GraphTitle = cli.Printable(graphName(r.Graph))
		p.Graph = draw(r.Graph, func(name string) bool {
			_, err := m.Tensor(name)
			return err == nil
		})
	}
	if err := p.histograms(ctx, r, m); err != nil {
		return err
	}
	return pageTemplate.Execute(out, p)
}

// sum is how a content security policy names a script or a style sheet.
func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(h[:])
}

// facts are what the head of the page says.
func (p *page) facts(r *report) {
	s := r.sums()
	p.Facts = [][2]string{
		{"Format", r.Format + " " + cli.Printable(r.Version)},
		{"File", cli.Size(r.FileSize)},
		{"Tensors", r.shown()},
		{"Parameters", grouped(s.parameters)},
		{"Data", bigSize(s.size)},
	}
	if r.Graph != nil {
		p.Facts = append(p.Facts, [2]string{"Graph", cli.Count(len(r.Graph.Nodes), "node")})
	}
	if r.Signature != nil {
		p.Notes = append(p.Notes, cli.Printable(r.Signature.line()))
	}
}

// grouped sets spaces between thousands.
func grouped(n *big.Int) string {
	text := n.String()
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

// dtypes fills the bar, the largest share first, and returns the color of each dtype.
func (p *page) dtypes(r *report) func(string) string {
	s := r.sums()
	slices.SortStableFunc(s.dtypes, func(a, b string) int { return s.shares[b].size.Cmp(s.shares[a].size) })
	classes := map[string]string{"": "mixed"}
	total, _ := new(big.Float).SetInt(s.size).Float64()
	at := 0.0
	for i, d := range s.dtypes {
		classes[d] = fmt.Sprintf("c%d", min(i, palette-1))
		if i >= mostEntries {
			continue
		}
		size, _ := new(big.Float).SetInt(s.shares[d].size).Float64()
		width := size / max(total, 1) * 100
		p.DTypes = append(p.DTypes, dtypeShare{
			Name: cli.Cut(cli.Printable(d), 40), Class: classes[d], Size: bigSize(s.shares[d].size), Percent: fmt.Sprintf("%.1f %%", width),
			Tensors: cli.Count(s.shares[d].tensors, "tensor"), X: at, Width: width,
		})
		at += width
	}
	return func(d string) string { return classes[d] }
}

// tiles draws the treemap.
func (p *page) tiles(r *report, class func(string) string) {
	const letter = 6.3 // the width of one, about
	for _, t := range treemap(tree(r.Tensors), rect{0, 0, mapWidth, mapHeight}) {
		v := tileView{rect: t.rect, Class: class(t.dtype), Name: cli.Printable(t.name), Frame: t.frame}
		size := bigSize(big.NewInt(int64(min(t.size, 1<<62))))
		v.About = fmt.Sprintf("%s\n%s in %s", v.Name, size, cli.Count(t.tensors, "tensor"))
		label := cli.Printable(t.label)
		switch {
		case t.leaf != nil:
			v.About = fmt.Sprintf("%s\n%s%s, %s", v.Name, cli.Printable(t.dtype), dims(t.leaf.Shape), size)
		case !t.frame:
			label = cli.Count(t.tensors, "tensor")
		}
		columns := int((t.W - 8) / letter)
		if columns >= 5 && t.H >= 16 && (t.titled || !t.frame) {
			v.Label = cli.Shorten(label, columns)
			if t.H >= 32 && !t.frame {
				v.Below = cli.Cut(size, columns)
			}
		}
		if min(v.W, v.H) < 5 {
			v.Class += " thin" // its line would hide it
		}
		v.round()
		p.Tiles = append(p.Tiles, v)
	}
}

// round keeps the page small.
func (v *tileView) round() {
	for _, x := range []*float64{&v.X, &v.Y, &v.W, &v.H} {
		*x = float64(int(*x*10+0.5)) / 10
	}
}

// rows fills the table, in file order.
func (p *page) rows(r *report, class func(string) string) {
	for _, t := range r.Tensors[:min(len(r.Tensors), mostRows)] {
		elements := int64(1)
		for _, d := range t.Shape {
			elements *= d
		}
		p.Rows = append(p.Rows, tensorRow{
			Name: cli.Cut(cli.Printable(t.Name), longest), DType: cli.Cut(cli.Printable(t.DType), 40), Class: class(t.DType), Shape: dims(t.Shape), Size: cell(t.Bytes),
			Offset: offset(t.Offset), Stored: stored(t), Quantization: t.Quantization.String(), Bytes: t.Bytes, Elements: elements, At: t.Offset,
		})
	}
	if len(p.Rows) < len(r.Tensors) {
		p.RowNote = fmt.Sprintf("The first %s of %s are listed; -filter chooses others.", cli.Grouped(mostRows), cli.Count(len(r.Tensors), "tensor"))
	}
}

// entries lists the metadata.
func (p *page) entries(r *report) {
	for _, e := range r.Metadata[:min(len(r.Metadata), mostEntries)] {
		text, ok := e.Value.(string)
		if !ok {
			var err error
			if text, err = cli.JSON(e.Value); err != nil {
				text = fmt.Sprint(e.Value) // a number that JSON lacks
			}
		}
		p.Metadata = append(p.Metadata, [2]string{cli.Cut(cli.Printable(e.Key), longest), cli.Cut(cli.Printable(text), longest)})
	}
	if len(p.Metadata) < len(r.Metadata) {
		p.EntryNote = fmt.Sprintf("The first %d of %d entries are listed.", mostEntries, len(r.Metadata))
	}
}

// histograms draws the values of the largest tensors. What is encrypted is left out.
func (p *page) histograms(ctx context.Context, r *report, m *renamed) error {
	d := newData(ctx, m.Model)
	largest := slices.Clone(r.Tensors)
	slices.SortStableFunc(largest, func(a, b tensorReport) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, t := range largest[:min(len(largest), 4*mostHistograms)] { // some may have nothing to draw
		if len(p.Histograms) == mostHistograms {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		v, err := m.Tensor(t.Name)
		if err != nil {
			return err
		}
		h, err := d.histogram(v)
		if errors.Is(err, format.ErrKey) && m.Locked() {
			return nil
		}
		if err != nil {
			return err
		}
		if h != nil {
			h.Name = cli.Cut(cli.Printable(t.Name), longest)
			h.Label = cli.Shorten(h.Name, 33)
			p.Histograms = append(p.Histograms, h)
		}
	}
	return nil
}
