package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// inspect shows one file, as a table for people or as JSON for scripts.
func inspect(c *command, args []string, out, errs io.Writer) error {
	f := c.flags(errs)
	asJSON := f.Bool("json", false, "print one JSON object, stable for scripts")
	sums := f.Bool("sha256", false, "with -json: add the SHA-256 of each tensor's decoded bytes")
	opts := keyFlag(f)
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return fmt.Errorf("%w: inspect takes one FILE", errUsage)
	}
	if *sums && !*asJSON {
		return fmt.Errorf("%w: -sha256 goes with -json", errUsage)
	}
	path := f.Arg(0)
	m, err := format.Open(path, opts)
	if err != nil {
		return err
	}
	defer m.Close()
	r, err := describe(path, m, *sums)
	if err != nil {
		return err
	}
	if *asJSON {
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		return e.Encode(r)
	}
	return table(out, r)
}

// report is the JSON object that inspect prints.
type report struct {
	Path     string          `json:"path"`
	Format   string          `json:"format"`
	Version  string          `json:"version"`
	FileSize int64           `json:"file_size"`
	Metadata format.Metadata `json:"metadata"`
	Tensors  []tensorReport  `json:"tensors"`
	Graph    *format.Graph   `json:"graph"`
	Notes    []string        `json:"notes"`
}

type tensorReport struct {
	Name        string  `json:"name"`
	DType       string  `json:"dtype"`
	Shape       []int64 `json:"shape"`
	Offset      int64   `json:"offset"`
	Bytes       int64   `json:"bytes"`
	StoredBytes int64   `json:"stored_bytes"`
	Compression string  `json:"compression"`
	ZeroCopy    bool    `json:"zero_copy"`
	SHA256      string  `json:"sha256,omitempty"`
}

// describe collects the report of an open model.
func describe(path string, m format.Model, sums bool) (*report, error) {
	r := &report{
		Path: path, Format: m.Format(), Version: m.Version(), FileSize: totalSize(path),
		Metadata: m.Metadata(), Tensors: []tensorReport{}, Notes: []string{},
	}
	if n, ok := m.(format.Noter); ok {
		r.Notes = append(r.Notes, n.Notes()...)
	}
	var hashes hashes
	if sums {
		hashes = newHashes()
	}
	for _, v := range m.Tensors() {
		t, err := describeTensor(v, hashes)
		if errors.Is(err, format.ErrKey) {
			// The rest of an encrypted file is worth showing without its key.
			err = nil
		}
		if err != nil {
			return nil, err
		}
		r.Tensors = append(r.Tensors, t)
	}
	if g, ok := m.(format.Grapher); ok {
		graph, err := g.Graph()
		if err != nil {
			return nil, err
		}
		r.Graph = graph
	}
	return r, nil
}

func describeTensor(v tensor.View, h hashes) (tensorReport, error) {
	info := v.Info()
	t := tensorReport{
		Name: info.Name, DType: info.DType.String(), Shape: append([]int64{}, info.Shape...),
		Offset: info.Offset, Bytes: info.Size, StoredBytes: info.Stored,
		Compression: info.Compression, ZeroCopy: v.ZeroCopy(),
	}
	var err error
	if h != nil {
		t.SHA256, err = h.sum(v)
	}
	return t, err
}

// hashes remembers the SHA-256 of memory that several tensors may share.
type hashes map[memory]string

type memory struct {
	address uintptr
	size    int
}

func newHashes() hashes { return hashes{} }

// sum returns the SHA-256 of a tensor's bytes. Only what lies in the mapping
// has an address of its own for as long as the file is open.
func (h hashes) sum(v tensor.View) (text string, err error) {
	err = v.Use(func(b []byte) error {
		at := memory{tensor.Address(b), len(b)}
		if known, ok := h[at]; ok {
			text = known
			return nil
		}
		sum := sha256.Sum256(b)
		text = hex.EncodeToString(sum[:])
		if v.ZeroCopy() {
			h[at] = text
		}
		return nil
	})
	return text, err
}

// totalSize is the size of a file, or of the files in a directory.
func totalSize(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	if !st.IsDir() {
		return st.Size()
	}
	total := int64(0)
	files, _ := os.ReadDir(path)
	for _, f := range files {
		if st, err := os.Stat(filepath.Join(path, f.Name())); err == nil && st.Mode().IsRegular() {
			total += st.Size()
		}
	}
	return total
}

// table prints a report for people.
func table(out io.Writer, r *report) error {
	fmt.Fprintf(out, "%s: %s %s, %s, %s\n", printable(r.Path), r.Format, r.Version, count(len(r.Tensors), "tensor"), size(r.FileSize))
	for _, e := range r.Metadata {
		fmt.Fprintf(out, "  %s = %s\n", printable(e.Key), printable(short(e.Value)))
	}
	if len(r.Tensors) > 0 {
		fmt.Fprintln(out)
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tDTYPE\tSHAPE\tBYTES\tOFFSET\tSTORED")
		for _, t := range r.Tensors {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", printable(t.Name), t.DType, dims(t.Shape), t.Bytes, offset(t.Offset), stored(t))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if r.Graph != nil {
		tableGraph(out, r.Graph)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(out, "note: %s\n", printable(n))
	}
	return nil
}

// stored says in a word or two how a tensor's bytes lie in the file.
func stored(t tensorReport) string {
	how := t.Compression
	switch {
	case how != "" && t.StoredBytes >= 0:
		how = fmt.Sprintf("%s, %d bytes", how, t.StoredBytes)
	case how == "" && t.ZeroCopy:
		how = "zero-copy"
	case how == "":
		how = "by copy"
	}
	return how
}

func offset(n int64) string {
	if n < 0 {
		return "-"
	}
	return fmt.Sprintf("0x%x", n)
}

func dims(shape []int64) string {
	return strings.ReplaceAll(tensor.Shape(shape).String(), " ", "")
}

// short cuts a value to a line.
func short(v any) string {
	text, err := json.Marshal(v)
	s := string(text)
	if err != nil {
		s = fmt.Sprint(v)
	}
	const most = 100
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return s
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// size prints bytes with three digits and a decimal prefix.
func size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	f, unit := float64(n), 0
	for f >= 999.5 && unit < 4 {
		f /= 1000
		unit++
	}
	digits := 1
	if f >= 99.95 {
		digits = 0
	}
	return fmt.Sprintf("%.*f %cB", digits, f, " kMGT"[unit])
}
