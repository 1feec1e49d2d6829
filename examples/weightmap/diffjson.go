package main

import (
	"fmt"
	"io"
	"math"

	"github.com/weightmap/weightmap/examples/internal/cli"
)

// diffReport is what diff -json prints.
type diffReport struct {
	A        string       `json:"a"` // paths
	B        string       `json:"b"`
	Equal    bool         `json:"equal"`
	Tensors  []tensorDiff `json:"tensors"`            // those that differ
	Bits     int          `json:"equal_bits"`         // tensors with equal values in other bits, or within the tolerance
	DigestA  string       `json:"digest_a,omitempty"` // with -digest
	DigestB  string       `json:"digest_b,omitempty"`
	Metadata changeReport `json:"metadata"`
	Graph    changeReport `json:"graph"`
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
}

// changeReport lists the lines that only one side has.
type changeReport struct {
	A []string `json:"a"`
	B []string `json:"b"`
}

// json prints the differences as one JSON object.
func (d *difference) json(out io.Writer) error {
	r := diffReport{
		A: shownName(d.a.path), B: shownName(d.b.path), Equal: d.equal(), Tensors: []tensorDiff{}, Bits: d.bits,
		DigestA: d.a.digest, DigestB: d.b.digest,
		Metadata: reportOf(d.metadata), Graph: reportOf(d.graph), Native: reportOf(d.native),
	}
	for _, row := range d.rows {
		t := tensorDiff{Name: row.name, Differs: row.what, A: row.a, B: row.b}
		if m := row.values; m != nil {
			t.Values = &valuesDiff{m.differ, m.count, m.nan, finite(m.max), finite(m.mean()), finite(m.cosine())}
		}
		r.Tensors = append(r.Tensors, t)
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
