package sign

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/signing"
)

// Verify is the command verify.
var Verify = &modelfile.Command{Tool: cli.Tool{
	Name: "weightmap verify", Args: "[-v | -json] [-signature IN.sig] [-trust PUB.pem] [-key HEX] FILE...",
	About: "Check files: structure, checksums, digests, data and signatures.",
	Details: "\"nothing covers\" lists the parts without a checksum, in which damage goes unnoticed.\n" +
		"Without -trust, a signature is checked with the key in the file, which proves nothing about the\n" +
		"signer. With -trust, files that this key did not sign fail. FILE may be - for standard input.\n\n" +
		"Blobs in the caches of the Hugging Face Hub and of Ollama are compared with the digests in their names.\n\n" +
		"-signature checks a file or a directory against an OpenSSF Model Signing signature by the key or\n" +
		"root certificate in -trust. It prints \"trusted\", or the file that differs, is missing or is not\n" +
		"signed.\n",
	Example: "weightmap verify -trust pub.pem model.mle other.wia\n" +
		"  weightmap verify -signature model/model.sig -trust pub.pem model",
}, Run: verify}

// verify verifies all files and continues after an error.
func verify(ctx context.Context, c *cli.Tool, args []string, out, errs io.Writer) error {
	f := c.Flags()
	v := &verification{c: c}
	f.BoolVar(&v.json, "json", false, "print a JSON object for each file, stable for scripts")
	f.BoolVar(&v.verbose, "v", false, "list the checksum of each part")
	trust := c.TrustFlag(f)
	given := modelfile.AccessFlags(c, f)
	given.PartFlag(f)
	d := detachedFlags(f, "check FILE or all files of DIR against the signature in `IN.sig`")
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return modelfile.NoFile(c, f, args)
	}
	if v.json && (v.verbose || d.signature != "") {
		return c.Usagef("-json includes what -v lists and does not go with -signature")
	}
	if d.signature != "" {
		if f.NArg() != 1 || !trust.Given() {
			return c.Usagef("verify -signature needs -trust PUB.pem or CA.pem and one FILE or DIR")
		}
		return d.verify(ctx, f.Arg(0), trust, v.verbose, out, errs)
	}
	var err error
	v.access = given
	v.trustFile = trust.File()
	v.trusted, err = trust.Public(ctx)
	if err != nil {
		return err
	}
	v.reading, err = given.Options(ctx)
	if err != nil {
		return err
	}
	return c.Each(f.Args(), errs, func(path string) error {
		if v.json {
			return v.object(path, out, errs)
		}
		text, err := v.file(path, errs)
		if err != nil {
			return modelfile.Corrected("verify", args, err)
		}
		_, err = io.WriteString(out, text)
		return err
	})
}

// verification holds the options of verify.
type verification struct {
	verbose bool
	json    bool
	trusted crypto.PublicKey

	trustFile string // that has the key
	reading   *format.Options
	access    *modelfile.Access
	c         *cli.Tool
	wholes    modelfile.Wholes
}

// file returns the text to print for a valid file. On a terminal it shows progress.
func (v *verification) file(path string, errs io.Writer) (string, error) {
	m, err := v.access.Open(path, v.reading)
	if err != nil {
		return "", err
	}
	defer m.Close()
	if v.wholes.Again(m) {
		return cli.Printable(m.Above()) + "\n", nil
	}
	m.Complain(v.c, errs)
	text, err := v.model(m.Model, errs)
	if errors.Is(err, format.ErrSignature) && m.Signature() == nil {
		err = cli.Advised(err, v.besides(path))
	}
	return cli.Printable(modelfile.ShownName(m.Path)) + ": " + text, modelfile.Hint(err, v.reading.Key)
}

// besides returns advice to check the signature in a file beside a model that has none, if there is
// one.
func (v *verification) besides(path string) string {
	if modelfile.IsAddress(path) || path == modelfile.StandardInput {
		return ""
	}
	for _, bundle := range (&signing.Policy{}).Paths(path) {
		if !modelfile.Exists(bundle) {
			continue
		}
		root := path
		if bundle == filepath.Join(filepath.Dir(path), "model.sig") { // of all files there
			root = filepath.Dir(path)
		}
		return modelfile.TryWords([]string{"verify", "-signature", bundle, "-trust", v.trustFile, root})
	}
	return ""
}

// model returns the text to print after the path.
func (v *verification) model(m *format.Model, errs io.Writer) (string, error) {
	covered, notes, err := v.check(m, errs)
	if err != nil {
		return "", err
	}
	line := fmt.Sprintf("%v (%s %s%s, %s, %s)", covered, m.Format(), m.Version(),
		modelfile.DescribePart(m), cli.Count(m.Len(), "tensor"), cli.Size(m.Stats().FileSize))
	if who := cli.Signed(covered.Signature(), m.Signature(), v.trusted); who != "" {
		line += ", " + who
	}
	for _, n := range notes {
		line += ", " + n
	}
	text := cli.Printable(line) + "\n"
	if v.verbose {
		text += coverage(covered)
	}
	return text, nil
}

// check verifies a model. It returns the notes that verification adds; inspect prints the others.
func (v *verification) check(m *format.Model, errs io.Writer) (*format.Coverage, []string, error) {
	o := &format.VerifyOptions{}
	if v.trusted != nil {
		o.Trusted = format.TrustKey(v.trusted)
	}
	known := m.Notes()
	covered, err := modelfile.Verified(v.reading.Context, m, errs, o)
	if err != nil {
		return nil, nil, err
	}
	notes := slices.DeleteFunc(m.Notes(), func(n string) bool { return slices.Contains(known, n) })
	return covered, notes, nil
}

// verdict is what verify -json prints of a file.
type verdict struct {
	Path      string                `json:"path"`
	OK        bool                  `json:"ok"`
	Error     string                `json:"error,omitempty"`
	Format    string                `json:"format,omitempty"`
	Version   string                `json:"version,omitempty"`
	FileSize  int64                 `json:"file_size,omitempty"` // of all files
	Part      *modelfile.PartReport `json:"part,omitempty"`
	Tensors   int                   `json:"tensors"`
	Signature string                `json:"signature,omitempty"`
	Sections  []sectionReport       `json:"sections"`
	Uncovered []rangeReport         `json:"uncovered"` // bytes that no checksum covers
	Notes     []string              `json:"notes"`
}

// sectionReport is a part of a file that is no tensor, and the checksum that covers it, "" for
// none.
type sectionReport struct {
	Name string `json:"name"`
	By   string `json:"by"`
}

// rangeReport is a range of a file of the model, and the part that has it, "" for what is between
// the parts.
type rangeReport struct {
	File   int    `json:"file"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Part   string `json:"part"`
}

// object prints the verdict on a file, and returns the error that is in it.
func (v *verification) object(path string, out, errs io.Writer) error {
	r := &verdict{Path: modelfile.ShownName(path), Sections: []sectionReport{},
		Uncovered: []rangeReport{}, Notes: []string{}}
	failed := v.judge(r, path, errs)
	if errors.Is(failed, context.Canceled) {
		return failed
	}
	r.OK = failed == nil
	if !r.OK {
		r.Error = failed.Error()
	}
	text, err := cli.JSON(r)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, text); err != nil {
		return err
	}
	return failed
}

// judge verifies a file and describes it.
func (v *verification) judge(r *verdict, path string, errs io.Writer) error {
	m, err := v.access.Open(path, v.reading)
	if err != nil {
		return err
	}
	defer m.Close()
	m.Complain(v.c, errs)
	r.Path = modelfile.ShownName(m.Path)
	r.Format = m.Format()
	r.Version = m.Version()
	r.FileSize = m.Stats().FileSize
	r.Tensors = m.Len()
	r.Part = modelfile.DescribePart(m.Model)
	covered, notes, err := v.check(m.Model, errs)
	if err != nil {
		return modelfile.Hint(err, v.reading.Key)
	}
	for _, s := range covered.Sections() {
		r.Sections = append(r.Sections, sectionReport{s.Name, s.By})
	}
	for u := range covered.Uncovered() {
		r.Uncovered = append(r.Uncovered, rangeReport{u.File, u.Offset, u.Size, u.Part})
	}
	r.Notes = append(r.Notes, notes...)
	r.Signature = cli.Signed(covered.Signature(), m.Signature(), v.trusted)
	return nil
}

// coverage returns a line per part of a file, and one for the tensors that each checksum covers.
func coverage(c *format.Coverage) string {
	var text strings.Builder
	line := func(what, by string) {
		if by == "" {
			by = "no checksum"
		}
		text.WriteString(cli.Printable(fmt.Sprintf("  %s: %s", what, by)) + "\n")
	}
	for _, s := range c.Sections() {
		line(s.Name, s.By)
	}
	var sums []string // in order of first appearance
	tensors := map[string]int{}
	for t := range c.Tensors() {
		if tensors[t.By]++; tensors[t.By] == 1 {
			sums = append(sums, t.By)
		}
	}
	for _, by := range sums {
		line("data of "+cli.Count(tensors[by], "tensor"), by)
	}
	return text.String()
}
