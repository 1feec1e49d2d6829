package tensor

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
)

// selected returns the indexes of the selected elements.
func selected(shape Shape, sel []Range) []int64 {
	all := []int64{0}
	for i, r := range sel {
		var next []int64
		for _, at := range all {
			for x := r.From; x < r.To; x++ {
				next = append(next, at*shape[i]+x)
			}
		}
		all = next
	}
	return all
}

func TestSliceRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	for range 3000 {
		d := allDTypes()[r.IntN(len(allDTypes()))]
		shape, sel := randSelection(r)
		size, err := shape.ByteSize(d)
		expect.OK(t, err)
		skip := r.IntN(2)
		o := &owner{}
		info := &Info{Name: "w", DType: d, Shape: shape, Offset: 640, Size: size, Stored: size}
		v := newView(info, o, randBytesAt(r, int(size), skip))
		// Ranges that take whole axes at the end may be left out, and ends may
		// be given from the end.
		ranges := spellings(r, shape, sel)
		got, err := v.Slice(ranges...)
		if err != nil {
			t.Fatalf("%v %v %v: %v", d, shape, ranges, err)
		}
		all := selected(shape, sel)
		var want []byte
		for _, at := range all {
			want = append(want, v.ref().Data()[at*d.Size():][:d.Size()]...)
		}
		b, err := got.Bytes()
		if err != nil || !bytes.Equal(b, want) {
			t.Fatalf("%v %v %v: %x, %v, want %x", d, shape, ranges, b, err, want)
		}
		checkSliced(t, v, got, all, sel)
	}
}

// checkSliced looks at the description of a slice of some elements.
func checkSliced(t *testing.T, v, got View, all []int64, sel []Range) {
	t.Helper()
	var dims Shape
	for _, r := range sel {
		dims = append(dims, r.To-r.From)
	}
	info := got.Info()
	if !info.Shape.Equal(dims) || info.Size != info.Stored || info.Size != int64(len(got.ref().Data())) || info.Name != "w" {
		t.Fatalf("%v: described as %+v", sel, info)
	}
	if len(all) == 0 {
		return // it lies nowhere in particular
	}
	if viewed(v.ref()) && all[len(all)-1]-all[0] == int64(len(all)-1) {
		if want := v.Info().Offset + all[0]*v.DType().Size(); info.Offset != want || got.ZeroCopy() != (memory.LittleEndian || info.DType.Size() == 1) {
			t.Fatalf("%v: contiguous, at %d, ZeroCopy %v; want %d", sel, info.Offset, got.ZeroCopy(), want)
		}
	} else if info.Offset != -1 {
		t.Fatalf("%v: a copy that claims to lie at %d", sel, info.Offset)
	}
}

func randSelection(r *rand.Rand) (Shape, []Range) {
	shape := make(Shape, r.IntN(5))
	sel := make([]Range, len(shape))
	for i := range shape {
		shape[i] = 1 + r.Int64N(4)
		if r.IntN(12) == 0 {
			shape[i] = 0
		}
		sel[i] = Range{0, shape[i]}
		if r.IntN(2) == 0 {
			sel[i].From = r.Int64N(shape[i] + 1)
			sel[i].To = sel[i].From + r.Int64N(shape[i]-sel[i].From+1)
		}
	}
	return shape, sel
}

func randBytesAt(r *rand.Rand, n, skip int) []byte {
	b := memory.Aligned(n + skip)[skip:]
	copy(b, randBytes(r, n))
	return b
}

// spellings writes a selection in one of the ways there are.
func spellings(r *rand.Rand, shape Shape, sel []Range) []Range {
	ranges := append([]Range{}, sel...)
	for i := range ranges {
		switch {
		case ranges[i] == (Range{0, shape[i]}) && r.IntN(2) == 0:
			ranges[i] = Range{0, End}
		case r.IntN(2) == 0 && ranges[i].To == shape[i]:
			ranges[i].To = End
		case ranges[i].To < shape[i] && (ranges[i] == Range{} || r.IntN(2) == 0):
			ranges[i].To -= shape[i]
		}
		if ranges[i].From < shape[i] && r.IntN(2) == 0 {
			ranges[i].From -= shape[i]
		}
	}
	for n := len(ranges); n > 0 && sel[n-1] == (Range{0, shape[n-1]}) && r.IntN(2) == 0; n-- {
		ranges = ranges[:n-1]
	}
	return ranges
}

func TestSliceErrors(t *testing.T) {
	v, err := FromBytes("w", Uint8, Shape{4, 3}, make([]byte, 12))
	expect.OK(t, err)
	const max = 1<<63 - 1
	for _, ranges := range [][]Range{
		{{0, 5}}, {{-1, 2}}, {{3, 2}}, {{0, -5}}, {{4, 5}}, {{5, 5}}, {Range{0, End}, {0, 4}}, {Range{0, End}, Range{0, End}, Range{0, End}},
		{{0, max - 1}}, {{max, max}}, {{-max - 1, max}}, {{0, -max - 1}}, {At(4)}, {At(-5)}, {At(max)}, {At(max - 1)}, {{-1, 0}},
		{{5, End}}, {{-5, End}}, {{}}, {Range{0, End}, {}},
	} {
		if s, err := v.Slice(ranges...); !errors.Is(err, ErrShape) {
			t.Errorf("%v = %v, %v, want ErrShape", ranges, s.Shape(), err)
		}
	}
	for _, ranges := range [][]Range{{}, {Range{0, End}}, {Range{0, End}, Range{0, End}}, {{4, 4}}, {{0, -4}}, {{4, End}}, {{-1, End}}, {At(-4)}} {
		if _, err := v.Slice(ranges...); err != nil {
			t.Errorf("%v: %v", ranges, err)
		}
	}
}

func TestSliceQuantization(t *testing.T) {
	perChannel := &Quantization{Scales: []float32{1, 2, 3}, ZeroPoints: []int32{10, 20, 30}, Axis: 1}
	shared := &Quantization{Scales: []float32{1, 2, 3}, ZeroPoints: []int32{5}, Axis: 1}
	unfit := &Quantization{Scales: []float32{1, 2}, Axis: 1}
	whole := &Quantization{Scales: []float32{1}, Axis: PerTensor}
	for _, tt := range []struct {
		name     string
		in, want *Quantization
	}{
		{"none", nil, nil},
		{"per tensor", whole, whole},
		{"per channel", perChannel, &Quantization{Scales: []float32{2, 3}, ZeroPoints: []int32{20, 30}, Axis: 1}},
		{"one zero point", shared, &Quantization{Scales: []float32{2, 3}, ZeroPoints: []int32{5}, Axis: 1}},
		{"parameters that do not fit", unfit, unfit},
		{"an axis that is not there", &Quantization{Scales: []float32{1}, Axis: 7}, &Quantization{Scales: []float32{1}, Axis: 7}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newView(&Info{Name: "w", DType: Int8, Shape: Shape{2, 3}, Size: 6, Quant: tt.in}, &owner{}, at(6, 0))
			s, err := v.Slice(Range{0, End}, Range{1, 3})
			expect.OK(t, err)
			equal(t, "", tt.want, s.Info().Quant)
		})
	}
	if len(perChannel.Scales) != 3 {
		t.Error("slicing changed the model's own parameters")
	}
}

// TestSliceRepeats: the view that comes with an error repeats it, whatever it is asked.
func TestSliceRepeats(t *testing.T) {
	plain, err := FromBytes("w", Int8, Shape{2, 3}, make([]byte, 6))
	expect.OK(t, err)
	blocks, err := FromInfo(Info{Name: "w", Encoding: &Encoding{Name: "Q9", BlockElems: 4, BlockBytes: 2}, Shape: Shape{8}}, make([]byte, 4))
	expect.OK(t, err)
	for name, tt := range map[string]struct {
		v    View
		rng  Range
		want error
	}{
		"outside":       {plain, Range{1, 3}, ErrShape},
		"blocks":        {blocks, Range{0, 6}, ErrShape},
		"no tensor":     {View{}, Range{0, End}, ErrClosed},
		"outside twice": {failed(t, plain), Range{5, 6}, ErrShape},
	} {
		v, err := tt.v.Slice(tt.rng)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		for _, u := range uses {
			if _, got := u.call(v); !errors.Is(got, err) && got.Error() != err.Error() {
				t.Errorf("%s: %s of the view: %v, want %v", name, u.name, got, err)
			}
		}
	}
}

// failed is a slice that could not be made.
func failed(t *testing.T, v View) View {
	t.Helper()
	s, err := v.Slice(Range{7, 8})
	if err == nil {
		t.Fatal("no error")
	}
	return s
}

// TestSliceBlocks: of blocks whole ones are taken, in one piece or many.
func TestSliceBlocks(t *testing.T) {
	e := &Encoding{Name: "Q9", BlockElems: 4, BlockBytes: 2}
	data := make([]byte, 3*2*2*2) // [3, 2, 8]: two blocks a row
	for i := range data {
		data[i] = byte(i)
	}
	v, err := FromInfo(Info{Name: "w", Encoding: e, Shape: Shape{3, 2, 8}}, data)
	expect.OK(t, err)
	for _, tt := range []struct {
		name   string
		ranges []Range
		shape  Shape
		want   []byte
	}{
		{"all", nil, Shape{3, 2, 8}, data},
		{"rows", []Range{{1, 3}}, Shape{2, 2, 8}, data[8:]},
		{"one row", []Range{At(2), At(1)}, Shape{1, 1, 8}, data[20:]},
		{"one block", []Range{At(0), At(1), {4, 8}}, Shape{1, 1, 4}, data[6:8]},
		{"up to the end", []Range{At(0), At(1), {4, End}}, Shape{1, 1, 4}, data[6:8]},
		{"the same row of each", []Range{Range{0, End}, At(1)}, Shape{3, 1, 8}, []byte{4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23}},
		{"first blocks", []Range{{0, 2}, Range{0, End}, {0, 4}}, Shape{2, 2, 4}, []byte{0, 1, 4, 5, 8, 9, 12, 13}},
		{"none", []Range{{1, 1}}, Shape{0, 2, 8}, []byte{}},
	} {
		s, err := v.Slice(tt.ranges...)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got, err := s.Bytes()
		if d := cmp.Diff(tt.want, got); d != "" || err != nil {
			t.Errorf("%s: %v %s", tt.name, err, d)
		}
		if info := s.Info(); !info.Shape.Equal(tt.shape) || info.Encoding != e || info.Size != int64(len(tt.want)) {
			t.Errorf("%s: %+v, want %v", tt.name, info, tt.shape)
		}
	}
	equal(t, "the whole changed", Shape{3, 2, 8}, v.Shape())
	for name, ranges := range map[string][]Range{"through a block": {Range{0, End}, Range{0, End}, {0, 6}}, "from within one": {Range{0, End}, Range{0, End}, {2, 8}}} {
		expect.Refused(t, ErrShape, name)(v.Slice(ranges...))
	}
	unknown, err := FromInfo(Info{Name: "w", Encoding: &Encoding{Name: "F4"}, Shape: Shape{8}}, data)
	expect.OK(t, err)
	expect.Refused(t, ErrDType, "elements of unknown size")(unknown.Slice())
}

// TestTooLarge: a tensor that no memory can hold is refused before it is allocated. Tensors of files that
// are not mapped may be larger than what can be addressed.
func TestTooLarge(t *testing.T) {
	v := onHeap(&Info{Name: "w", DType: Uint8, Shape: Shape{2, 1 << 61}, Size: 1 << 62}, make([]byte, 8))
	expect.Refused(t, ErrLimit, "a part")(v.Slice(Range{0, End}, Range{0, 1<<61 - 1}))
	expect.Refused(t, ErrLimit, "all of it as float32")(Decode[float32](nil, v))
}

// TestSliceProves: for a part that a reader only claims to have no memory is taken.
func TestSliceProves(t *testing.T) {
	const rows, row = 4, 256 << 20
	if r := memory.RunsOf(Shape{3, 4, 5}, []Range{{0, 2}, {1, 3}, {2, 5}}, 1); r.At(0) != 5+2 || r.At(3) != 1*20+2*5+2 || r.Count != 2*2 || r.Bytes != 3 {
		t.Errorf("%+v", r)
	}
	o := &owner{ranged: true, mem: make([]byte, 100)}
	info := &Info{Name: "w", DType: Uint8, Shape: Shape{rows, row}, Size: rows * row}
	v := View(memory.New[Info](info, o, nil))
	if _, err := v.Slice(Range{0, End}, Range{0, row / 2}); !errors.Is(err, io.ErrUnexpectedEOF) || len(o.reads) != 1 {
		t.Errorf("%v after reads of %v", err, o.reads)
	}
}
