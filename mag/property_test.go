package mag

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// randomModel makes a plan and data for it. Few different contents make for
// many tied tensors.
func randomModel(r *rand.Rand, dtypes []tensor.DType, least, contents int) (*format.Plan, map[string][]byte) {
	p := formattest.RandomPlan(r, formattest.PlanOptions{DTypes: dtypes, MinRank: least, Tensors: 12, MaxDim: 4})
	data := map[string][]byte{}
	for _, t := range p.Tensors {
		size, _ := t.Shape.ByteSize(t.DType)
		b := bytes.Repeat([]byte{byte(r.IntN(contents))}, int(size))
		if r.IntN(8) == 0 {
			b[len(b)-1]++
		}
		data[t.Name] = b
	}
	return p, data
}

func randomMetadata(r *rand.Rand) (m format.Metadata) {
	for i := range r.IntN(5) {
		e := format.Entry{Key: formattest.RandomName(r, i), Value: int64(r.Uint64())}
		if r.IntN(2) == 0 {
			e.Value = math.Float64frombits(r.Uint64())
		}
		if r.IntN(3) == 0 {
			e.Key = "xxh64/none " + e.Key
		}
		m = append(m, e)
	}
	return m
}

// layoutV1 is where tensors are by the rules of doc.go, worked out anew from
// the whole content.
func placesV1(p *format.Plan, data map[string][]byte, o *WriteOptions) (offsets []int64, size int64) {
	at := int64(24)
	for _, m := range p.Metadata {
		at += 16 + int64(len(m.Key))
	}
	for _, t := range p.Tensors {
		at += 20 + 8*int64(len(t.Shape)) + 4 + int64(len(t.Name))
		if !o.NoDigests {
			at += 16 + 6 + int64(len(t.Name))
		}
	}
	for _, t := range p.Tensors {
		at = (at + 63) / 64 * 64
		offsets = append(offsets, at)
		at += int64(len(data[t.Name]))
	}
	if len(offsets) > 0 {
		at = (at + 63) / 64 * 64
	}
	return offsets, at
}

// TestAnyOrder writes random plans with tensors in random order: the bytes are
// always those of the plan's order, and the layout is the one that doc.go fixes.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		p, data := randomModel(r, []tensor.DType{tensor.Float32, tensor.Int32, tensor.Bool, tensor.Float16}, 1, 1+r.IntN(4))
		p.Metadata = randomMetadata(r)
		o := &WriteOptions{NoDigests: r.IntN(3) == 0, Checksum: Checksum(r.IntN(2))}
		want := write(t, p, data, nil, o)
		got := write(t, p, data, r.Perm(len(p.Tensors)), o)
		if !bytes.Equal(want, got) {
			t.Fatalf("seed %d: %v: the bytes depend on the order of arrival", seed, o)
		}
		f, err := OpenBytes(got, nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if _, err := f.Verify(t.Context()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		offsets, size := placesV1(p, data, o)
		checkModel(t, f, p, data, offsets)
		if int64(len(got)) != size {
			t.Errorf("seed %d: %d bytes, want %d", seed, len(got), size)
		}
		checkGaps(t, got, f)
	}
}

// checkModel compares everything that f says with the plan.
func checkModel(t *testing.T, f *File, p *format.Plan, data map[string][]byte, offsets []int64) {
	t.Helper()
	var order []string
	for i, want := range p.Tensors {
		v, err := f.Tensor(want.Name)
		if err != nil {
			t.Fatal(err)
		}
		info := v.Info()
		if info.DType != want.DType || !info.Shape.Equal(want.Shape) || offsets != nil && info.Offset != offsets[i] {
			t.Errorf("%q: %v %v at %d, want %v %v", want.Name, info.DType, info.Shape, info.Offset, want.DType, want.Shape)
		}
		b, err := v.Bytes()
		if err != nil || !bytes.Equal(b, data[want.Name]) || v.ZeroCopy() != testhost.AsHost(want.DType.Size()) {
			t.Errorf("%q: other data, or a copy: %v", want.Name, err)
		}
		order = append(order, want.Name)
	}
	var got []string
	for name := range f.Tensors() {
		got = append(got, name)
	}
	if offsets != nil && !slices.Equal(got, order) {
		t.Errorf("order %q, want %q", got, order)
	}
	raw := cmp.Transformer("bits", func(x float64) uint64 { return math.Float64bits(x) })
	if diff := cmp.Diff(p.Metadata, f.Metadata(), raw); diff != "" {
		t.Errorf("metadata (-plan +file):\n%s", diff)
	}
}

// checkGaps demands FF wherever there is no tensor after the records.
func checkGaps(t *testing.T, b []byte, f *File) {
	t.Helper()
	covered := make([]bool, len(b))
	for i := range f.f.end {
		covered[i] = true
	}
	for _, v := range f.Tensors() {
		info := v.Info()
		for j := range info.Size {
			covered[info.Offset+j] = true
		}
	}
	for i, c := range covered {
		if !c && b[i] != 0xFF {
			t.Fatalf("byte %d of a gap is %02x", i, b[i])
		}
	}
}

func TestSnapshotAnyOrder(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		p, data := randomModel(r, dtypesSnapshot[:], 0, 256)
		o := &WriteOptions{Snapshot: true}
		o.Time = o.Time.AddDate(2000, 0, 0)
		want := write(t, p, data, nil, o)
		got := write(t, p, data, r.Perm(len(p.Tensors)), o)
		if !bytes.Equal(want, got) {
			t.Fatalf("seed %d: the bytes depend on the order of arrival", seed)
		}
		f, err := OpenBytes(got, nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		checkModel(t, f, p, data, nil)
		if f.f.end%64 != 0 {
			t.Errorf("seed %d: the data begins at %d", seed, f.f.end)
		}
		last := int64(8)
		for name, v := range f.Tensors() {
			if v.DType().Size() > last {
				t.Errorf("seed %d: %q is behind smaller elements", seed, name)
			}
			last = v.DType().Size()
		}
	}
}
