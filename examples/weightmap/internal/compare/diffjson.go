package compare

import (
	"fmt"
	"io"
	"math"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
)

// diffReport is what diff -json prints.
type diffReport struct {
	A        string       `json:"a"` // paths
	B        string       `json:"b"`
	Equal    bool         `json:"equal"`
	Tensors  []tensorDiff `json:"tensors"`            // those that differ, the largest errors first
	Layers   []layerDiff  `json:"layers,omitempty"`   // of several tensors whose values differ
	Bits     int          `json:"equal_bits"`         // tensors with equal values in other bits, or within the tolerance
	DigestA  string       `json:"digest_a,omitempty"` // with -digest
	DigestB  string       `json:"digest_b,omitempty"`
	Metadata changeReport `json:"metadata"`
	Graph    changeReport `json:"graph"`
	Docs     changeReport `json:"docs"`
	Native   changeReport `json:"native"` // what only one of the formats has
}

// tensorDiff is a tensor that differs.
type tensorDiff struct {
	Name    string      `json:"name"`
	Differs string      `json:"differs"`
	A       string      `json:"a"` // type and shape, "" if the tensor is missing
	B       string      `json:"b"`
	Values  *valuesDiff `json:"values,omitempty"` // absent if no values were compared
}

// valuesDiff has numbers about the values of a tensor. Numbers that are not finite are null.
type valuesDiff struct {
	Differ int64    `json:"differ"`
	Count  int64    `json:"count"`
	NaN    int64    `json:"nan"`
	Max    *float64 `json:"max"`
	Mean   *float64 `json:"mean"`
	Cosine *float64 `json:"cosine"`
	NMSE   *float64 `json:"nmse"`

	SaturatedA *int64 `json:"saturated_a,omitempty"` // quantized integers at the limits of their type
	SaturatedB *int64 `json:"saturated_b,omitempty"`
}

// layerDiff has numbers about the tensors of a layer.
type layerDiff struct {
	Name    string      `json:"name"`
	Tensors int         `json:"tensors"`
	Values  *valuesDiff `json:"values"`
}

func valuesReport(m *measure) *valuesDiff {
	return &valuesDiff{
		Differ: m.differ, Count: m.count, NaN: m.nan,
		Max: finite(m.max), Mean: finite(m.mean()), Cosine: finite(m.cosine()), NMSE: finite(m.nmse()),
		SaturatedA: m.a.reported(), SaturatedB: m.b.reported(),
	}
}

// reported returns the number at the limits, or nil if nothing is quantized.
func (s saturation) reported() *int64 {
	if !s.quantized {
		return nil
	}
	return &s.limits
}

// changeReport lists the lines that only one side has.
type changeReport struct {
	A []string `json:"a"`
	B []string `json:"b"`
}

// json prints the differences as one JSON object.
func (d *difference) json(out io.Writer) error {
	r := diffReport{
		A: modelfile.ShownName(d.a.path), B: modelfile.ShownName(d.b.path), Equal: d.equal(),
		Tensors: []tensorDiff{}, Bits: d.bits,
		DigestA: d.a.digest, DigestB: d.b.digest,
		Metadata: reportOf(d.metadata), Graph: reportOf(d.graph),
		Docs: reportOf(d.docs), Native: reportOf(d.native),
	}
	for _, row := range d.rows {
		t := tensorDiff{Name: row.name, Differs: row.what, A: row.a, B: row.b}
		if m := row.values; m != nil {
			t.Values = valuesReport(m)
		}
		r.Tensors = append(r.Tensors, t)
	}
	for _, l := range d.layers {
		r.Layers = append(r.Layers, layerDiff{l.name, l.tensors, valuesReport(&l.values)})
	}
	text, err := cli.JSON(r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, text)
	return err
}

func reportOf(c change) changeReport {
	return changeReport{append([]string{}, c.a...), append([]string{}, c.b...)}
}

// finite returns a pointer to x, or nil for what JSON lacks.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
