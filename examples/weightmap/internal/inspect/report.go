package inspect

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tensor/quant"
)

// report is the output of inspect.
type report struct {
	Path      string
	Format    string
	Version   string
	FileSize  int64
	Files     []fileReport
	Part      *modelfile.PartReport // nil unless the file is a part of a model
	Digest    string                // of all tensors; "" if it is not asked for
	Metadata  schema.Metadata
	Tensors   []tensorReport
	Graph     *schema.Graph    // nil if the format has none
	Native    []nativeReport   // never nil
	Docs      []docReport      // doc strings and properties
	Signature *signatureReport // nil for an unsigned file
	Notes     []string

	all int // tensors in the file, shown or not
}

type tensorReport struct {
	Name         string              `json:"name"`
	ID           string              `json:"id,omitempty"` // name in the file, if different
	DType        string              `json:"dtype"`
	Shape        []int64             `json:"shape"`
	File         *int                `json:"file,omitempty"` // index in the report's Files, absent if there is one
	Offset       int64               `json:"offset"`
	Bytes        int64               `json:"bytes"`
	StoredBytes  int64               `json:"stored_bytes"`
	Compression  string              `json:"compression"`
	ZeroCopy     bool                `json:"zero_copy"`
	Quantization *quantizationReport `json:"quantization,omitempty"` // absent for a plain tensor
	Scales       *scalesReport       `json:"scales,omitempty"`       // absent unless another tensor holds scales
	SHA256       string              `json:"sha256,omitempty"`
	Stats        *statistics         `json:"stats,omitempty"` // absent if elements are not real numbers

	encrypted bool
}

// fileReport is a file of a model.
type fileReport struct {
	Path string `json:"path"`
	Size int64  `json:"size"` // -1 if it is missing
}

// describeFiles lists the files of a model, without a directory that holds them. opened is the name
// that the model was opened by.
func describeFiles(opened string, stats format.Stats) []fileReport {
	files := make([]fileReport, len(stats.Files))
	for i, f := range stats.Files {
		files[i] = fileReport{cmp.Or(f.Path, modelfile.ShownName(opened)), f.Size}
	}
	st, err := os.Stat(files[0].Path)
	if err == nil && st.IsDir() {
		files = files[1:]
	}
	return files
}

// chosen returns " (FILE)" with the file that opens the model in a directory, or "" for another
// path and for a directory that is the model.
func (r *report) chosen() string {
	st, err := os.Stat(r.Path)
	if err != nil || !st.IsDir() || len(r.Files) == 0 || r.Format == "tsr" {
		return ""
	}
	name, err := filepath.Rel(r.Path, r.Files[0].Path)
	if err != nil {
		name = r.Files[0].Path
	}
	return " (" + name + ")"
}

// placeIn records which of the files has the data.
func (t *tensorReport) placeIn(files []fileReport, info tensor.Info, stats format.Stats) {
	if len(files) > 1 {
		at := info.File - (len(stats.Files) - len(files))
		t.File = &at
	}
}

// quantizationReport counts the parameters; there may be one per channel.
type quantizationReport struct {
	Scheme     string `json:"scheme"` // "linear" or "logarithmic"
	Axis       int    `json:"axis"`   // -1: one scale for the whole tensor
	Scales     int    `json:"scales"`
	ZeroPoints int    `json:"zero_points"` // 0: all are 0
}

// scalesReport names the tensor that holds the scales of another one.
type scalesReport struct {
	Tensor string `json:"tensor"`
	Layout string `json:"layout"` // "block scales 128x128"
}

// describePacked finds packed weights, and tensors that hold scales of others. It adds a note for
// each kind.
func (r *report) describePacked(m *modelfile.NamedModel) {
	if r.Graph != nil && len(r.Graph.Nodes) > 0 {
		return // a graph defines the meaning of tensors
	}
	infos := make([]tensor.Info, 0, m.Len())
	for name, v := range m.Tensors() {
		info := v.Info()
		info.Name = name
		infos = append(infos, info)
	}
	at := make(map[string]*tensorReport, len(r.Tensors))
	for i := range r.Tensors {
		at[r.Tensors[i].Name] = &r.Tensors[i]
	}
	for _, p := range quant.Pairs(infos) {
		t := at[infos[p.Weight].Name]
		if t != nil {
			t.Scales = &scalesReport{infos[p.Scale].Name, p.Layout}
		}
	}
	for _, p := range quant.FindPacked(infos) {
		note := p.String()
		if p.Joins {
			note += "; convert -join decodes them"
		}
		r.Notes = append(r.Notes, note)
	}
}

// saysPacked reports whether a name is one that a tensor beside packed weights may have.
func saysPacked(name string) bool {
	companions := [...]string{"scale", "SCB", "absmax", "bitmask"}
	return slices.ContainsFunc(companions[:],
		func(part string) bool { return strings.Contains(name, part) })
}

// signatureReport describes the signature in a file. Error says that the key in the file did not
// make it; otherwise it has not been compared with the data, nor with a trusted key.
type signatureReport struct {
	Algorithm   string  `json:"algorithm"`
	Fingerprint *string `json:"fingerprint"` // SHA-256 of the PKIX key, null if the file has no key
	Time        *string `json:"time"`        // RFC 3339 in UTC, null after the year 9999
	Error       string  `json:"error,omitempty"`
}

func describeTensor(v tensor.View) tensorReport {
	info := v.Info()
	t := tensorReport{
		Name: info.Name, DType: info.TypeName(), Shape: info.Shape,
		Offset: info.Offset, Bytes: info.Size, StoredBytes: info.Stored,
		Compression: info.Compression, ZeroCopy: v.ZeroCopy(),
	}
	if len(t.Shape) == 0 {
		t.Shape = []int64{} // an array in JSON
	}
	if q := info.Quant; q != nil {
		t.Quantization = &quantizationReport{q.Scheme.String(), q.Axis, len(q.Scales), len(q.ZeroPoints)}
	}
	return t
}

// describeSignature returns nil for nil. claim is the result of CheckClaim.
func describeSignature(s *schema.Signature, claim error) *signatureReport {
	if s == nil {
		return nil
	}
	r := &signatureReport{Algorithm: s.Algorithm}
	var located *tensor.Error
	switch {
	case errors.As(claim, &located):
		r.Error = located.Err.Error()
	case claim != nil:
		r.Error = claim.Error()
	}
	text, isKnown := strings.CutPrefix(cli.Fingerprint(s.PublicKey), "SHA256:")
	if isKnown {
		r.Fingerprint = &text
	}
	if when := time.Unix(s.Timestamp, 0).UTC(); when.Year() >= 0 && when.Year() <= 9999 {
		text := when.Format(time.RFC3339)
		r.Time = &text
	}
	return r
}
