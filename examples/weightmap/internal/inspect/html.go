package inspect

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

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
)

var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/page.css
	pageCSS string
	//go:embed page/page.js
	pageJS string
)

// Limits of a page.
const (
	mostRows    = 50_000
	mostEntries = 200
	longest     = 400 // columns of a value
)

// page is the output of inspect -html. All text in it is safe for a terminal; the template escapes
// it for HTML.
type page struct {
	Title, Path string
	Facts       [][2]string
	Notes       []string
	Types       []shareView // by descending size
	Layers      []shareView // in file order
	LayerNote   string
	ByLayer     bool // initial setting
	Maps        []mapView
	Rows        []tensorRow // initial rows
	Table       tableData
	RowNote     string
	Metadata    [][2]string
	EntryNote   string
	Graph       *drawing
	GraphTitle  string
	Histograms  []*histogram

	CSS           template.CSS
	JS            template.JS
	CSSSum, JSSum string // hashes for the content security policy
}

// mapView is a treemap for one width.
type mapView struct {
	Class         string
	Width, Height float64
	Tiles         []tileView
}

// tileView is a rectangle of the treemap.
type tileView struct {
	rect
	Class, Name, About string
	Label, Below       string
	Frame              bool
}

// html writes a self-contained page.
func (r *report) html(ctx context.Context, out io.Writer, m *modelfile.NamedModel) error {
	p := &page{
		Title: cli.Printable(filepath.Base(r.Path)), Path: cli.Printable(r.Path),
		CSS: template.CSS(pageCSS), JS: template.JS(pageJS), CSSSum: sum(pageCSS), JSSum: sum(pageJS),
	}
	for _, n := range r.Notes {
		p.Notes = append(p.Notes, cli.Printable(n))
	}
	p.facts(r)
	c := p.color(r)
	p.maps(r, c)
	p.rows(r, c)
	p.entries(r)
	if r.Graph != nil {
		p.GraphTitle = cli.Printable(graphName(r.Graph))
		p.Graph = draw(r.Graph, func(name string) string {
			v, err := m.Tensor(name)
			if err != nil {
				return ""
			}
			return TensorType(v)
		})
	}
	if err := p.histograms(ctx, r, m); err != nil {
		return err
	}
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	return t.Execute(out, p)
}

// sum returns the hash of a script or style sheet in the form of a content security policy.
func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(h[:])
}

// facts fills the head of the page.
func (p *page) facts(r *report) {
	s := r.sums()
	p.Facts = [][2]string{
		{"Format", r.Format + " " + cli.Printable(r.Version)},
		{"File", cli.Size(r.FileSize)},
		{"Tensors", r.shown()},
		{"Parameters", cli.Grouped(s.parameters)},
		{"Data", bigSize(s.size)},
	}
	if r.Graph != nil {
		p.Facts = append(p.Facts, [2]string{"Graph", cli.Count(len(r.Graph.Nodes), "node")})
	}
	if r.Signature != nil {
		p.Notes = append(p.Notes, cli.Printable(r.Signature.line()))
	}
}

// maps draws the treemap for wide and narrow screens.
func (p *page) maps(r *report, c *colors) {
	root := tree(r.Tensors)
	for _, v := range mapSizes {
		for _, t := range treemap(root, rect{0, 0, v.Width, v.Height}) {
			v.Tiles = append(v.Tiles, t.view(c))
		}
		if len(v.Tiles) > 0 {
			p.Maps = append(p.Maps, v)
		}
	}
}

// view returns the view of a tile.
func (t *tile) view(c *colors) tileView {
	const letter = 6.3 // approximate width of a letter
	v := tileView{rect: t.rect, Class: c.class(t.dtype, t.layer), Name: cli.Printable(t.name),
		Frame: t.frame}
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
	if columns >= min(10, max(5, len(label))) && t.H >= 16 && (t.titled || !t.frame) {
		v.Label = cli.Shorten(label, columns)
		if t.H >= 32 && !t.frame {
			v.Below = cli.Cut(size, columns)
		}
	}
	if min(v.W, v.H) < 5 {
		v.Class += " thin" // its border would hide it
	}
	v.round()
	return v
}

// round rounds coordinates to keep the page small.
func (v *tileView) round() {
	for _, x := range []*float64{&v.X, &v.Y, &v.W, &v.H} {
		*x = float64(int(*x*10+0.5)) / 10
	}
}

// entries lists the metadata.
func (p *page) entries(r *report) {
	for _, e := range r.Metadata[:min(len(r.Metadata), mostEntries)] {
		text, ok := e.Value.(string)
		if !ok {
			var err error
			text, err = cli.JSON(e.Value)
			if err != nil {
				text = fmt.Sprint(e.Value) // a number that JSON lacks
			}
		}
		p.Metadata = append(p.Metadata, [2]string{cli.Cut(cli.Printable(e.Key), longest),
			cli.Cut(cli.Printable(text), longest)})
	}
	if len(p.Metadata) < len(r.Metadata) {
		p.EntryNote = fmt.Sprintf("The first %d of %d entries are listed.", mostEntries, len(r.Metadata))
	}
}

// histograms draws histograms of the largest tensors, except encrypted ones.
func (p *page) histograms(ctx context.Context, r *report, m *modelfile.NamedModel) error {
	d := modelfile.NewTensorReader(ctx, m.Model)
	largest := slices.Clone(r.Tensors)
	slices.SortStableFunc(largest, func(a, b tensorReport) int {
		return cmp.Compare(b.Bytes, a.Bytes)
	})
	for _, t := range largest[:min(len(largest), 4*mostHistograms)] { // some may have no histogram
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
		h, err := histogramOf(d, v)
		if errors.Is(err, format.ErrKey) && m.NeedsKey() {
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
