package tsr

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// random makes a plan of up to eight tensors and its data.
func random(r *rand.Rand) (*format.Plan, map[string][]byte) {
	p, data := &format.Plan{}, map[string][]byte{}
	for i := range 1 + r.IntN(8) {
		t := tensor.Info{Name: "t" + strconv.Itoa(i), DType: dtypes[r.IntN(len(dtypes))], Shape: tensor.Shape{}}
		for range r.IntN(maxRank + 1) {
			t.Shape = append(t.Shape, r.Int64N(6))
		}
		size, _ := t.Shape.ByteSize(t.DType)
		b := make([]byte, size)
		for j := range b {
			b[j] = byte(r.Uint32())
		}
		p.Tensors = append(p.Tensors, t)
		data[t.Name] = b
	}
	return p, data
}

// TestRoundTrip writes random directories, reads them, and writes them again.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		p, data := random(r)
		first, second := filepath.Join(t.TempDir(), "m"), filepath.Join(t.TempDir(), "m")
		w, err := CreateDir(first, p, &WriteOptions{WriteOptions: format.WriteOptions{NoSync: true}})
		if err != nil {
			t.Fatal(err)
		}
		finish(t, w, data)
		f, err := Open(first, &format.Options{Check: format.CheckAll})
		if err != nil {
			t.Fatal(err)
		}
		again, err := format.PlanOf(f.Model)
		if err != nil {
			t.Fatal(err)
		}
		// Files sort like the plan: names differ in one digit.
		for i, want := range p.Tensors {
			v := f.At(i)
			got := make([]byte, v.Info().Size)
			if _, err := v.ReadInto(got); err != nil || !bytes.Equal(got, data[want.Name]) {
				t.Errorf("%v: % x, %v", want, got, err)
			}
			if v.Name() != want.Name || v.DType() != want.DType || !v.Shape().Equal(want.Shape) {
				t.Errorf("%+v, want %+v", v.Info(), want)
			}
		}
		w, err = CreateDir(second, again, &WriteOptions{WriteOptions: format.WriteOptions{NoSync: true}})
		if err != nil {
			t.Fatal(err)
		}
		if err := format.Copy(w, f.Model); err != nil {
			t.Fatal(err)
		}
		f.Close()
		for n := range data {
			if diff := cmp.Diff(read1(t, filepath.Join(first, n+".tsr")), read1(t, filepath.Join(second, n+".tsr"))); diff != "" {
				t.Error(diff)
			}
		}
	}
}
