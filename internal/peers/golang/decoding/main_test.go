package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/internal/bench"
	"github.com/weightmap/weightmap/tensor"
)

// TestSameValues: both programs decode every type to the same bits.
func TestSameValues(t *testing.T) {
	dir := t.TempDir()
	program, err := compile(dir)
	if err != nil {
		t.Skip("no C compiler here: ", err)
	}
	t.Chdir("..")
	for _, b := range bench.BlockTypes {
		t.Run(b.Name, func(t *testing.T) {
			blocks := b.Encoded(64)
			v, err := b.View(blocks)
			if err != nil {
				t.Fatal(err)
			}
			c, err := start(program, dir, b.Name, blocks)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.round(3); err != nil {
				t.Fatal(err)
			}
			got, err := c.finish()
			if err != nil {
				t.Fatal(err)
			}
			values, err := tensor.Decode[float32](nil, v)
			if err != nil {
				t.Fatal(err)
			}
			want, err := binary.Append(nil, binary.LittleEndian, values)
			if err != nil || !bytes.Equal(want, got) {
				t.Errorf("C has other values, or %v", err)
			}
		})
	}
}

// TestTable: the table has a row for each named type.
func TestTable(t *testing.T) {
	dir := t.TempDir()
	if _, err := compile(dir); err != nil {
		t.Skip("no C compiler here: ", err)
	}
	t.Chdir("..")
	var out strings.Builder
	if err := table(&out, dir, []string{"Q4_0", "IQ2_S"}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "\n| ") != 3 || !strings.Contains(text, "\n| IQ2_S | ") {
		t.Error(text)
	}
	t.Setenv("CC", os.DevNull)
	out.Reset()
	if err := table(&out, dir, nil); err != nil || !strings.HasPrefix(out.String(), "There is no C compiler") {
		t.Error(out.String(), err)
	}
}
