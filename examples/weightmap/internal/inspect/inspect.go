// Package inspect has the commands that show a model: inspect as text, JSON or a page, and cat.
package inspect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// Inspect is the command inspect.
var Inspect = &modelfile.Command{Tool: cli.Tool{
	Name: "weightmap inspect", Args: "[-json | -html] [-stats] [-digest] [-filter GLOB] [-o OUT] [more options] FILE...",
	About: "Show metadata, tensors, quantization, graph and signature of files.",
	Details: "FILE may be a directory with a model in it, a repository or snapshot of the Hugging Face cache, an\n" +
		"http(s) address, hf://ORG/NAME[@REV][/FILE], or - for standard input. Set HF_TOKEN to read private\n" +
		"repositories, and HF_HUB_OFFLINE=1 to use the cache only. Without -key, inspect shows the parts of an\n" +
		"encrypted file that are not encrypted. -o OUT.html and -o OUT.json imply -html and -json.\n",
	Example: "weightmap inspect -json -sha256 model.mag\n" +
		"  weightmap inspect -o model.html model.mag",
}, Run: inspect}

// inspect prints the content of files as tables or as JSON. It continues after an error.
func inspect(ctx context.Context, c *cli.Tool, args []string, out, errs io.Writer) error {
	f := c.Flags()
	o := &inspection{c: c, errs: errs}
	f.BoolVar(&o.json, "json", false, "print a JSON object for each file, stable for scripts")
	f.BoolVar(&o.noArrays, "no-arrays", false,
		"with -json: print only the type and length of arrays in the metadata")
	f.BoolVar(&o.sums, "sha256", false, "with -json: add the SHA-256 of each tensor's decoded bytes")
	f.BoolVar(&o.digest, "digest", false, "show a digest of all tensors, which does not depend on the format; reads the data")
	f.BoolVar(&o.html, "html", false, "write an HTML page, which works offline: sizes, types, graph, values, searchable table")
	f.BoolVar(&o.stats, "stats", false, "show minimum, maximum and mean of finite values, and count zeros, NaN and infinities; reads the data")
	f.Var(&o.filter, "filter", "show only tensors whose names match `GLOB` (* is any text, ? any character); may be repeated")
	output := c.OutputFlag(f)
	given := modelfile.TrustFlags(c, f)
	given.PartFlag(f)
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return modelfile.NoFile(c, f, args)
	}
	o.takeForm(*output)
	if o.sums && !o.json {
		return c.Usagef("-sha256 needs -json")
	}
	if o.noArrays && !o.json {
		return c.Usagef("-no-arrays needs -json")
	}
	if o.html && f.NArg() == 2 && isNewPage(f.Arg(1)) {
		return cli.Advised(c.Usagef("-o names the page"),
			modelfile.TryWords([]string{"inspect", "-o", f.Arg(1), f.Arg(0)}))
	}
	if o.html && (o.json || o.stats || o.digest || f.NArg() > 1) {
		return c.Usagef("an HTML page shows one FILE, without -json, -stats and -digest")
	}
	for _, glob := range o.filter {
		o.globs = append(o.globs, modelfile.GlobOf(glob))
	}
	var err error
	o.access = given
	o.reading, err = given.Options(ctx)
	if err != nil {
		return err
	}
	if o.html {
		if err := cli.CheckBinary(*output, out, "a page for a browser"); err != nil {
			return err
		}
	}
	for _, path := range f.Args() {
		if err := cli.CheckOutput(*output, path); err != nil {
			return err
		}
	}
	o.many = f.NArg() > 1
	err = c.Output(ctx, *output, out, func(out io.Writer) error {
		if !o.many {
			return o.show(f.Arg(0), out)
		}
		return c.Each(f.Args(), errs, func(path string) error { return o.show(path, out) })
	})
	for _, claim := range o.claims {
		c.Complain(claim, errs)
	}
	if err == nil && len(o.claims) > 0 {
		return cli.ErrReported
	}
	return err
}

// inspection holds the options of inspect.
type inspection struct {
	json, sums, stats, html bool
	digest                  bool
	noArrays                bool
	errs                    io.Writer
	many                    bool // print a line of JSON per file
	shown                   int  // number of files shown
	filter                  modelfile.List
	globs                   []*regexp.Regexp
	reading                 *format.Options
	access                  *modelfile.Access
	c                       *cli.Tool
	wholes                  modelfile.Wholes
	claims                  []error // of signatures that the key in the file did not make
}

// isNewPage reports whether a path is that of a page that is not there.
func isNewPage(path string) bool {
	return strings.EqualFold(filepath.Ext(path), ".html") && !modelfile.Exists(path)
}

// takeForm chooses the form of the output by the name of its file, unless an option has chosen it.
func (o *inspection) takeForm(output string) {
	if o.json || o.html {
		return
	}
	switch strings.ToLower(filepath.Ext(output)) {
	case ".html", ".htm":
		o.html = true
	case ".json":
		o.json = true
	}
}

// show prints one file. It reads everything before it prints, so that an error prevents incomplete
// output.
func (o *inspection) show(path string, out io.Writer) error {
	opened, err := o.access.Open(path, o.reading)
	if err != nil {
		return err
	}
	defer opened.Close()
	if !o.json && o.wholes.Again(opened) {
		_, err := fmt.Fprintln(out, cli.Printable(opened.Above()))
		return err
	}
	opened.Complain(o.c, o.errs)
	path = opened.Path
	m := modelfile.Named(opened.Model)
	r, err := describe(path, m, o)
	if err != nil {
		return err
	}
	if r.Graph != nil {
		// Next to a graph of a hundred megabytes, a hundred megabytes of discarded lines
		// would wait to be collected.
		defer debug.SetGCPercent(debug.SetGCPercent(10))
	}
	w := bufio.NewWriterSize(out, 64<<10)
	switch {
	case o.html:
		err = r.html(o.reading.Context, w, m)
	case o.json:
		if o.noArrays {
			r.Metadata, err = withoutArrays(r.Metadata)
			if err != nil {
				return err
			}
		}
		err = r.json(w, o.many)
	default:
		if o.shown++; o.shown > 1 {
			w.WriteByte('\n')
		}
		err = r.table(w, cli.Width(out))
	}
	if err != nil {
		return err
	}
	claim := m.CheckClaim()
	if claim != nil {
		o.claims = append(o.claims, claim) // after the output
	}
	return w.Flush()
}

// json prints the report as JSON, indented or on one line.
func (r *report) json(out *bufio.Writer, oneLine bool) error {
	s := &jsonStream{out: out, lines: !oneLine}
	s.begin("{")
	s.field("path", r.Path)
	s.field("format", r.Format)
	s.field("version", r.Version)
	s.field("file_size", r.FileSize)
	elements(s, "files", r.Files)
	if r.Part != nil {
		s.field("part", r.Part)
	}
	if r.Digest != "" {
		s.field("digest", r.Digest)
	}
	s.field("metadata", r.Metadata)
	elements(s, "tensors", r.Tensors)
	s.graph(r.Graph)
	if len(r.Native) > 0 {
		s.field("native", r.Native)
	}
	if len(r.Docs) > 0 {
		s.field("docs", r.Docs)
	}
	s.field("signature", r.Signature)
	s.field("notes", r.Notes)
	s.end("}")
	return s.finish()
}

// describe builds the report of an open model.
func describe(path string, m *modelfile.NamedModel, o *inspection) (*report, error) {
	stats := m.Stats()
	meta, err := m.Metadata()
	if err != nil {
		return nil, err
	}
	r := &report{
		Path: modelfile.ShownName(path), Format: m.Format(), Version: m.Version(),
		FileSize: stats.FileSize, Files: describeFiles(path, stats),
		Metadata: meta, Tensors: []tensorReport{},
		Notes:     append(append([]string{}, m.Notes()...), signatureNotes(path)...),
		Signature: describeSignature(m.Signature(), m.CheckClaim()), all: m.Len(),
		Part: modelfile.DescribePart(m.Model),
	}
	d := modelfile.NewTensorReader(o.reading.Context, m.Model)
	locked := modelfile.Encrypted(m.Model)
	progress := cli.NewProgress(o.errs, "reading")
	defer progress.Finish()
	d.Watch(progress, o.passes()*stats.FileSize)
	if len(o.globs) == 0 {
		r.Tensors = slices.Grow(r.Tensors, m.Len())
	}
	packed := false // whether some tensors may be packed weights
	for name, v := range m.Tensors() {
		id := v.Name()
		packed = packed || saysPacked(name)
		if !o.shows(name) && !o.shows(id) {
			continue
		}
		if err := o.reading.Context.Err(); err != nil {
			return nil, err
		}
		t := describeTensor(v)
		t.placeIn(r.Files, v.Info(), stats)
		if name != id {
			t.Name = name
			t.ID = id
		}
		t.encrypted = locked && t.Offset < 0 // data in another file is not encrypted
		if err := o.read(&t, v, d); err != nil && !(m.NeedsKey() && errors.Is(err, format.ErrKey)) {
			// Show the rest of an encrypted file without its key. A wrong key is still an error.
			return nil, err
		}
		r.Tensors = append(r.Tensors, t)
	}
	if err := o.checkFilter(path, m); err != nil {
		return nil, err
	}
	r.Docs, err = describeDocs(m.Model)
	if err != nil {
		return nil, err
	}
	r.Native, err = describeNative(m.Model)
	if err != nil {
		return nil, err
	}
	r.Graph, err = m.Graph()
	if err != nil {
		return r, err
	}
	if packed {
		r.describePacked(m)
	}
	if o.digest {
		r.Digest, err = DigestOf(o.reading.Context, m.Model, o.errs)
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// passes returns how many times the data is read.
func (o *inspection) passes() (n int64) {
	for _, reads := range []bool{o.sums, o.stats} {
		if reads {
			n++
		}
	}
	return n
}

// shows reports whether the filter selects a tensor.
func (o *inspection) shows(name string) bool {
	return len(o.globs) == 0 || slices.ContainsFunc(o.globs,
		func(r *regexp.Regexp) bool { return r.MatchString(name) })
}

// checkFilter returns an error for a pattern that matches no tensor.
func (o *inspection) checkFilter(path string, m *modelfile.NamedModel) error {
	var all []string
	for i, r := range o.globs {
		if len(all) == 0 {
			all = m.All()
		}
		if !slices.ContainsFunc(all, r.MatchString) {
			return fmt.Errorf("%s: -filter: no tensor matches %q%s", modelfile.ShownName(path), o.filter[i],
				cli.DidYouMean(strings.Trim(o.filter[i], "*?"), "", all))
		}
	}
	return nil
}

// read adds the results that require the data of a tensor.
func (o *inspection) read(t *tensorReport, v tensor.View, d *modelfile.TensorReader) error {
	if !o.sums && !o.stats {
		return nil
	}
	v, err := d.Tensor(v)
	if err != nil {
		return err
	}
	if o.sums {
		t.SHA256, err = d.Sum(v)
		if err != nil {
			return err
		}
	}
	if o.stats {
		t.Stats, err = statisticsOf(d, v)
	}
	return err
}
