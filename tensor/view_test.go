package tensor

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/internal/vector"
)

// owner is memory whose lifetime a test controls and counts. Without loaded
// bytes it makes aligned copies of mem.
type owner struct {
	closed                  bool
	entered, exposed, loads int
	mem                     []byte
	loaded                  []byte // what Load returns
	loadErr                 error
	ranged                  bool // ReadAt gets parts of mem
	shown                   int
	showErr                 error
	reads                   []Range
}

func (o *owner) Enter(*Info) error {
	if o.closed {
		return ErrClosed
	}
	o.entered++
	return nil
}

func (o *owner) Leave() { o.entered-- }

func (o *owner) Expose(*Info, []byte) error {
	if o.closed {
		return ErrClosed
	}
	o.exposed++
	return o.showErr
}

func (o *owner) Show([]byte) error {
	o.shown++
	return o.showErr
}

func (o *owner) Load(*Info) ([]byte, error) {
	o.loads++
	if o.loaded == nil && o.loadErr == nil {
		return append(memory.Aligned(len(o.mem))[:0], o.mem...), nil
	}
	return o.loaded, o.loadErr
}

func (o *owner) File(info *Info) (pass.File, int64) {
	if !o.ranged {
		return nil, 0
	}
	return o, 0
}

func (*owner) Memory() []byte { return nil }

func (*owner) Mapping() pass.Mapping { return nil }

func (*owner) Kind() pass.Kind { return pass.Kind{IsReader: true} }

func (o *owner) ReadAtContext(_ context.Context, p []byte, off int64) (int, error) {
	if o.loadErr != nil {
		return 0, o.loadErr
	}
	o.reads = append(o.reads, Range{off, off + int64(len(p))})
	if off+int64(len(p)) > int64(len(o.mem)) {
		return 0, io.ErrUnexpectedEOF
	}
	return copy(p, o.mem[off:]), nil
}

func (o *owner) Holds(uintptr) bool { return false }

func (o *owner) Fault(uintptr) error { return ErrTruncated }

func (o *owner) Explain(info *Info, err error) error {
	return &Error{Format: "test", Path: "file.test", Field: fmt.Sprintf("tensor %q", info.Name), Offset: info.Offset, Err: err}
}

// newView makes the view of a tensor of o whose bytes are data.
func newView(info *Info, o *owner, data []byte) View {
	o.mem = data
	return View(memory.New(info, memory.Owner[Info](o), data))
}

// at returns n bytes 0, 1, 2... that begin skip bytes after a multiple of 64.
func at(n, skip int) []byte {
	b := memory.Aligned(n + skip)[skip:]
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// uses are all ways to a view's bytes, as copies.
var uses = []struct {
	name string
	call func(v View) ([]byte, error)
}{
	{"Bytes", func(v View) ([]byte, error) { return v.Bytes() }},
	{"Use", func(v View) (b []byte, err error) {
		err = v.Use(func(p []byte) error { b = bytes.Clone(p); return nil })
		return b, err
	}},
	{"ReadInto", func(v View) ([]byte, error) {
		b := make([]byte, v.Info().Size+3)
		n, err := v.ReadInto(b)
		return b[:n], err
	}},
	{"ReadAt", func(v View) ([]byte, error) {
		b := make([]byte, v.Info().Size+3)
		n, err := v.ReadAt(b, 0)
		if err == io.EOF {
			err = nil
		}
		return b[:n], err
	}},
	{"Clone", func(v View) ([]byte, error) {
		c, err := v.Clone()
		if err != nil {
			return nil, err
		}
		return c.Bytes()
	}},
	{"As", func(v View) ([]byte, error) {
		s, err := As[uint16](v)
		if !memory.LittleEndian && errors.Is(err, ErrByteOrder) {
			return v.Bytes()
		}
		return memory.BytesOf(s), err
	}},
	{"Decode", func(v View) ([]byte, error) {
		s, err := Decode[uint16](nil, v)
		var b []byte
		for _, x := range s {
			b = binary.LittleEndian.AppendUint16(b, x)
		}
		return b, err
	}},
	{"Slice", func(v View) ([]byte, error) {
		s, err := v.Slice()
		if err != nil {
			return nil, err
		}
		return s.Bytes()
	}},
}

func TestViewUses(t *testing.T) {
	info := &Info{Name: "w", DType: Uint16, Shape: Shape{4}, Offset: 64, Size: 8, Stored: 8}
	for _, tt := range []struct {
		name     string
		view     func() (View, *owner)
		zeroCopy bool
	}{
		{"aligned", func() (View, *owner) { o := &owner{}; return newView(info, o, at(8, 0)), o }, true},
		{"misaligned", func() (View, *owner) { o := &owner{}; return newView(info, o, at(8, 1)), o }, false},
		{"misaligned, kept aligned elsewhere", func() (View, *owner) {
			o := &owner{loaded: at(8, 0)}
			return newView(info, o, at(8, 1)), o
		}, false},
		{"loaded", func() (View, *owner) { o := &owner{loaded: at(8, 0)}; return newView(info, o, nil), o }, false},
		{"behind a reader", func() (View, *owner) {
			o := &owner{ranged: true}
			v := newView(info, o, nil)
			o.mem = at(8, 0)
			return v, o
		}, false},
	} {
		for _, u := range uses {
			t.Run(tt.name+"/"+u.name, func(t *testing.T) {
				v, o := tt.view()
				if v.ZeroCopy() != (tt.zeroCopy && memory.LittleEndian) {
					t.Errorf("ZeroCopy = %v", v.ZeroCopy())
				}
				got, err := u.call(v)
				expect.OK(t, err)
				equal(t, "", at(8, 0), got)
				if o.entered != 0 {
					t.Errorf("%d more Enter than Leave", o.entered)
				}
				o.closed = true
				expect.Refused(t, ErrClosed, "after Close")(u.call(v))
				var e *Error
				if _, err := u.call(v); !errors.As(err, &e) || e.Format != "test" || e.Path != "file.test" || e.Field != `tensor "w"` {
					t.Errorf("the error does not say which tensor: %v", err)
				}
				if o.entered != 0 {
					t.Errorf("after Close: %d more Enter than Leave", o.entered)
				}
			})
		}
	}
}

func TestZeroView(t *testing.T) {
	var v View
	for _, u := range uses {
		expect.Refused(t, ErrClosed, u.name, "of the zero View")(u.call(v))
	}
	expect.Refused(t, ErrClosed, "Digest of the zero View")(v.Digest())
	if v.ZeroCopy() || v.Elems() != 0 || v.Name() != "" || v.Shape() != nil || v.DType() != Invalid || v.Info().Offset != -1 {
		t.Errorf("the zero View: %+v", v.Info())
	}
}

// TestSectionOfAView is ../shared/cases/anchors/viewlen.go.txt: what bounds an io.SectionReader counts bytes, so that
// it reads all of the tensor.
func TestSectionOfAView(t *testing.T) {
	v, err := Of("w", Shape{2, 2}, []float32{1, 2, 3, 4})
	expect.OK(t, err)
	got, err := io.ReadAll(io.NewSectionReader(v, 0, v.Size()))
	expect.OK(t, err)
	want, err := v.Bytes()
	expect.OK(t, err)
	equal(t, "the section", want, got)
	equal(t, "Size, Elems", [2]int64{16, 4}, [2]int64{v.Size(), v.Elems()})
	var zero View
	equal(t, "Size, Elems of the zero View", [2]int64{}, [2]int64{zero.Size(), zero.Elems()})
}

func TestFromBytes(t *testing.T) {
	data := at(12, 0)
	v, err := FromBytes("w", Float32, Shape{3}, data)
	expect.OK(t, err)
	want := Info{Name: "w", DType: Float32, Shape: Shape{3}, Offset: -1, Size: 12, Stored: 12}
	equal(t, "", want, v.Info())
	if v.Name() != "w" || v.DType() != Float32 || !v.Shape().Equal(Shape{3}) || v.Elems() != 3 || v.ZeroCopy() != memory.LittleEndian {
		t.Errorf("%v %v %v, %d elements, ZeroCopy %v", v.Name(), v.DType(), v.Shape(), v.Elems(), v.ZeroCopy())
	}
	if sum, err := v.Digest(); err != nil || sum != xxhash.Sum64(data) {
		t.Errorf("Digest = %x, %v", sum, err)
	}
	for _, tt := range []struct {
		name  string
		d     DType
		shape Shape
		n     int
		want  error
	}{
		{"too short", Float32, Shape{3}, 11, ErrShape},
		{"too long", Float32, Shape{3}, 13, ErrShape},
		{"negative", Float32, Shape{-1}, 4, ErrShape},
		{"overflow", Int8, Shape{1 << 32, 1 << 32}, 0, ErrShape},
		{"invalid", Invalid, Shape{1}, 1, ErrDType},
	} {
		expect.Refused(t, tt.want, tt.name)(FromBytes("w", tt.d, tt.shape, make([]byte, tt.n)))
	}
	empty, err := FromBytes("e", Float64, Shape{0, 3}, nil)
	expect.OK(t, err)
	if b, err := empty.Bytes(); err != nil || len(b) != 0 || empty.ZeroCopy() != memory.LittleEndian {
		t.Errorf("no bytes: %x, %v", b, err)
	}
	if s, err := As[float64](empty); memory.LittleEndian && (err != nil || s == nil || len(s) != 0) {
		t.Errorf("As of no bytes: %v, %v", s, err)
	}
}

func TestViewReadIntoShort(t *testing.T) {
	v, _ := FromBytes("w", Uint8, Shape{4}, at(4, 0))
	if n, err := v.ReadInto(make([]byte, 3)); n != 0 || !errors.Is(err, ErrShape) {
		t.Errorf("ReadInto a short buffer = %d, %v", n, err)
	}
}

// TestViewUseErrors passes on what the caller's function and the loader return.
func TestViewUseErrors(t *testing.T) {
	mine := errors.New("mine")
	o := &owner{}
	v := newView(&Info{Name: "w", DType: Uint8, Shape: Shape{1}, Size: 1}, o, at(1, 0))
	if err := v.Use(func([]byte) error { return mine }); err != mine {
		t.Errorf("Use = %v, want the function's own error", err)
	}
	func() {
		defer func() {
			if recover() != mine {
				t.Error("a panic inside Use changed")
			}
			if o.entered != 0 {
				t.Error("a panic inside Use kept the memory")
			}
		}()
		v.Use(func([]byte) error { panic(mine) })
	}()
	l := &owner{loadErr: mine}
	lv := newView(&Info{Name: "w", DType: Uint16, Shape: Shape{1}, Offset: -1, Size: 2}, l, nil)
	for _, u := range uses {
		expect.Refused(t, mine, u.name)(u.call(lv))
		if l.entered != 0 {
			t.Errorf("%s keeps the memory after the loader's error", u.name)
		}
	}
}

func TestViewAllocations(t *testing.T) {
	v := newView(&Info{Name: "w", DType: Int8, Shape: Shape{4, 4}, Size: 16}, &owner{}, at(16, 0))
	encoding := &Encoding{Name: "q", BlockElems: 2, BlockBytes: 2, Decode: func([]float32, []byte) error { return nil }}
	blocks := newView(&Info{Name: "b", Encoding: encoding, Shape: Shape{4, 4}, Size: 16}, &owner{}, at(16, 0))
	into := make([]byte, 16)
	dst := make([]float32, 16)
	sliced := func(v View) {
		part, err := v.Slice(Range{1, 3})
		expect.OK(t, err)
		_, err = Decode(dst, part)
		expect.OK(t, err)
	}
	use := func([]byte) error { return nil }
	for name, f := range map[string]func(){
		"Bytes":           func() { v.Bytes() },
		"As":              func() { As[int8](v) },
		"Use":             func() { v.Use(use) },
		"ZeroCopy":        func() { v.ZeroCopy() },
		"Info":            func() { v.Info() },
		"ReadInto":        func() { v.ReadInto(into) },
		"ReadAt":          func() { v.ReadAt(into[:5], 3) },
		"Decode":          func() { Decode(dst, v) },
		"Slice":           func() { sliced(v) },
		"Slice of blocks": func() { sliced(blocks) },
	} {
		limit := 0.0
		switch name {
		case "ReadInto":
			limit = 4 // closures
		case "Slice", "Slice of blocks":
			limit = 1 // the description of the slice
		}
		if n := testing.AllocsPerRun(100, f); n > limit {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func TestErrorText(t *testing.T) {
	for _, tt := range []struct {
		e    Error
		want string
	}{
		{Error{Format: "mag", Path: "m.mag", Field: "checksum", Offset: 8, Err: fmt.Errorf("header checksum mismatch")}, "mag: m.mag: at 0x8: checksum: header checksum mismatch"},
		{Error{Format: "mag", Offset: -1, Err: ErrClosed}, "mag: closed"},
		{Error{Offset: 0, Err: ErrCorrupt}, "at 0x0: corrupt"},
		{Error{Offset: -1}, ""},
		{Error{Format: "mag", Path: "m.mag", Field: "magic", Err: &Error{Format: "mag", Path: "m.mag", Err: ErrTruncated}}, "mag: m.mag: at 0x0: magic: truncated"},
		{Error{Format: "wia", Path: "m.wia", Field: "w", Offset: 8, Err: &Error{Path: "m.data", Offset: 8, Err: ErrTruncated}}, "wia: m.wia: at 0x8: w: m.data: at 0x8: truncated"},
	} {
		if got := tt.e.Error(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	if !errors.Is(&Error{Err: ErrShape}, ErrShape) {
		t.Error("Unwrap does not show the cause")
	}
}

func TestCheckName(t *testing.T) {
	for name, good := range map[string]bool{
		"w": true, "größe": true, "a b\n": true, "😀": true, "": false, "a\x00": false, "\x00": false, "\xff": false, "a\xc3": false, "\xed\xa0\x80": false,
	} {
		err := CheckName(name)
		if good != (err == nil) || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
	}
}

// le appends values of any fixed size as a file has them.
func le(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// TestViewReadAt holds ReadAt to io.ReaderAt, over the heap and through an owner
// that reads ranges, which is asked for no more than that.
func TestViewReadAt(t *testing.T) {
	info := &Info{Name: "w", DType: Uint8, Shape: Shape{8}, Size: 8}
	onHeap, err := FromBytes("w", Uint8, Shape{8}, at(8, 0))
	expect.OK(t, err)
	o := &owner{ranged: true}
	ranged := newView(info, o, nil)
	o.mem = at(8, 0)
	for name, v := range map[string]View{"heap": onHeap, "memory": newView(info, &owner{}, at(8, 0)), "ranged": ranged} {
		for _, tt := range []struct {
			off  int64
			n    int
			want string
			err  error
		}{
			{0, 8, "0001020304050607", nil}, {2, 3, "020304", nil}, {6, 3, "0607", io.EOF}, {8, 1, "", io.EOF}, {9, 1, "", io.EOF},
			{1<<63 - 1, 2, "", io.EOF}, {0, 0, "", nil}, {8, 0, "", nil}, {9, 0, "", nil}, {-1, 1, "", ErrShape}, {-1 << 63, 0, "", ErrShape},
		} {
			p := make([]byte, tt.n)
			n, err := v.ReadAt(p, tt.off)
			if got := fmt.Sprintf("%x", p[:n]); got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%s: %d bytes at %d: %s, %v, want %s, %v", name, tt.n, tt.off, got, err, tt.want, tt.err)
			}
		}
	}
	if d := cmp.Diff([]Range{{0, 8}, {2, 5}, {6, 8}}, o.reads); d != "" || o.loads != 0 {
		t.Errorf("%d loads (-want +got)\n%s", o.loads, d)
	}
}

// TestReadIntoContext stops between steps, and reads a range at a time.
func TestReadIntoContext(t *testing.T) {
	const size = 2*pass.FetchSize + 5
	o := &owner{ranged: true}
	v := newView(&Info{Name: "w", DType: Uint8, Shape: Shape{size}, Size: size}, o, nil)
	o.mem = at(size, 0)
	dst := make([]byte, size)
	if n, err := v.ReadIntoContext(context.Background(), dst); n != size || err != nil || !bytes.Equal(dst, o.mem) {
		t.Errorf("%d, %v", n, err)
	}
	equal(t, "", []Range{{0, pass.FetchSize}, {pass.FetchSize, 2 * pass.FetchSize}, {2 * pass.FetchSize, size}}, o.reads)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if n, err := v.ReadIntoContext(ctx, dst); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is done: %d, %v", n, err)
	}
	o.loadErr = ErrTruncated
	if n, err := v.ReadInto(dst); n != 0 || !errors.Is(err, ErrTruncated) {
		t.Errorf("%d, %v", n, err)
	}
}

// TestSliceRanged: contiguous elements behind a reader are read when they are
// asked for, others at once, and no bytes but theirs.
func TestSliceRanged(t *testing.T) {
	o := &owner{ranged: true}
	v := newView(&Info{Name: "w", DType: Uint16, Shape: Shape{4, 3}, Offset: 100, Size: 24}, o, nil)
	o.mem = at(24, 0)
	row, err := v.Slice(Range{1, 3}, Range{0, End})
	if err != nil || row.Info().Offset != 106 || row.Info().Size != 12 || len(o.reads)+o.loads != 0 {
		t.Errorf("rows: %+v, %v, read %v", row.Info(), err, o.reads)
	}
	column, err := v.Slice(Range{1, 3}, At(2))
	if err != nil || column.Info().Offset != -1 {
		t.Errorf("a column: %+v, %v", column.Info(), err)
	}
	b, err := column.Bytes()
	if d := cmp.Diff([]byte{10, 11, 16, 17}, b); d != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
	if d := cmp.Diff([]Range{{10, 12}, {16, 18}}, o.reads); d != "" || o.loads != 0 {
		t.Errorf("%d loads (-want +got)\n%s", o.loads, d)
	}
}

// TestReadNotShown: where copies are read although the bytes are in memory, no copy is made of the bytes in place, which
// are shown by Bytes, As and Use alone.
func TestReadNotShown(t *testing.T) {
	const n = workerPart/4 + 1000
	signed, other := at(4*n, 0), bytes.Repeat([]byte{0xee}, 4*n)
	for i := range signed {
		signed[i] = byte(i) % 100
	}
	o := &owner{ranged: true}
	v := newView(&Info{Name: "w", DType: Float32, Shape: Shape{n / 2, 2}, Size: 4 * n}, o, append(at(4*n, 0)[:0], other...))
	o.mem = signed
	part, err := v.Slice(Range{10, 20})
	expectNoError(t, err)
	column, err := v.Slice(Range{0, End}, At(1))
	expectNoError(t, err)
	numbers, _ := FromBytes("w", Float32, Shape{n}, signed)
	floats, err := Decode[float32](nil, numbers)
	expectNoError(t, err)
	digest, err := numbers.Digest()
	expectNoError(t, err)

	b := make([]byte, 4*n)
	_, err = v.ReadInto(b)
	equal(t, "ReadInto", nil, err)
	equal(t, "ReadInto", true, bytes.Equal(signed, b))
	_, err = v.ReadAt(b[:9], 33)
	equal(t, "ReadAt", nil, err)
	equal(t, "ReadAt", signed[33:42], b[:9])
	equal(t, "offset of a slice", int64(80), part.Info().Offset)
	clone, err := v.Clone()
	equal(t, "Clone", nil, err)
	cloned, _ := clone.Bytes()
	equal(t, "Clone", true, bytes.Equal(signed, cloned))
	got, err := Decode[float32](nil, v)
	equal(t, "Decode", nil, err)
	equal(t, "Decode", true, slices.Equal(floats, got))
	err = DecodeAt(got[:5], v, 7)
	equal(t, "DecodeAt", nil, err)
	equal(t, "DecodeAt", floats[7:12], got[:5])
	second, err := column.Bytes()
	equal(t, "a column", nil, err)
	equal(t, "a column", signed[4:8], second[:4])
	sum, err := v.Digest()
	equal(t, "Digest", nil, err)
	equal(t, "Digest", digest, sum)
	equal(t, "shown or exposed", 0, o.shown+o.exposed)

	expectNoError(t, v.Use(func(b []byte) error {
		equal(t, "Use", byte(0xee), b[0])
		return nil
	}))
	_, err = v.Bytes()
	equal(t, "Bytes", nil, err)
	equal(t, "shown by Use", 1, o.shown)
	equal(t, "exposed by Bytes", 1, o.exposed)
	o.showErr = ErrCorrupt
	if err := v.Use(func([]byte) error { t.Error("Use called f"); return nil }); !errors.Is(err, ErrCorrupt) {
		t.Error("Use:", err)
	}
	if b, err := v.Bytes(); b != nil || !errors.Is(err, ErrCorrupt) {
		t.Error("Bytes:", err)
	}
	o.loadErr = ErrCorrupt
	for name, err := range map[string]error{
		"ReadInto": failure(v.ReadInto(b)), "Clone": failure(v.Clone()), "Decode": failure(Decode(got, v)), "Digest": failure(v.Digest()),
	} {
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	equal(t, "entered", 0, o.entered)
}

// failure returns the error of a call.
func failure[T any](_ T, err error) error { return err }

func expectNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestPrinted: package fmt prints what a view is, with any verb and from within any struct,
// and never its data, which may be large, or gone.
func TestPrinted(t *testing.T) {
	data := bytes.Repeat([]byte{201, 202, 203, 204}, 1000)
	v, err := FromBytes("conv\n1", Float32, Shape{10, 100}, data)
	expect.OK(t, err)
	const want = `"conv\n1" float32 [10, 100]`
	// The data in every form that fmt has for bytes, each longer than what an address can hold.
	printed := []string{"201 202", "201, 202", "c9cacbccc9ca", "0xc9, 0xca", `\xc9\xca`, string(data[:4])}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		if got := fmt.Sprintf(verb, v); got != want {
			t.Errorf("%s: %.200q, want %q", verb, got, want)
		}
		if got := fmt.Sprintf(verb, &v); got != want {
			t.Errorf("%s of a pointer: %.200q, want %q", verb, got, want)
		}
		hidden := struct{ weights View }{v}
		got := fmt.Sprintf(verb, hidden)
		if len(got) > 300 || slices.ContainsFunc(printed, func(s string) bool { return strings.Contains(got, s) }) {
			t.Errorf("%s of a struct: %.300q", verb, got)
		}
	}
	if got := fmt.Sprint(View{}); got != "no tensor" {
		t.Errorf("zero View: %q", got)
	}
}

// TestCloneOutlives closes the owner and goes on with the clone.
func TestCloneOutlives(t *testing.T) {
	o := &owner{}
	info := &Info{Name: "w", DType: Float32, Shape: Shape{2}, Offset: 100, Size: 8, Stored: 3, Compression: "gzip", Quant: &Quantization{Scales: []float32{1}}}
	c, err := newView(info, o, at(8, 1)).Clone()
	expect.OK(t, err)
	o.closed = true
	b, err := c.Bytes()
	if err != nil || !bytes.Equal(b, at(8, 0)) || c.ZeroCopy() != memory.LittleEndian {
		t.Errorf("%x, %v, ZeroCopy %v", b, err, c.ZeroCopy())
	}
	want := Info{Name: "w", DType: Float32, Shape: Shape{2}, Offset: -1, Size: 8, Stored: 8, Quant: info.Quant}
	equal(t, "", want, c.Info())
}

// equal fails the test if got is not want.
func equal(t *testing.T, what string, want, got any, o ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, o...); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

// TestCast holds the one unsafe conversion to what it promises.
func TestCast(t *testing.T) {
	mem := memory.Aligned(64)
	if _, ok := memory.Cast[uint32](mem[1:9]); ok {
		t.Error("misaligned")
	}
	for want, b := range map[int][]byte{0: mem[3:3], 1: mem[:7], 3: mem[4:16:18]} {
		if s, ok := memory.Cast[uint32](b); !ok || len(s) != want || cap(s) != want {
			t.Errorf("%d bytes: %v, %v", len(b), s, ok)
		}
	}
	// The copying version agrees.
	for i := range mem {
		mem[i] = byte(3 * i)
	}
	want := make([]uint32, 16)
	vector.Copy(want, mem, 4)
	if got, ok := memory.Cast[uint32](mem); memory.LittleEndian && (!ok || !cmp.Equal(want, got)) {
		t.Error("cast and copy differ")
	}
}

func TestAsErrorsNameTheTensor(t *testing.T) {
	for want, info := range map[string]Info{
		"int8": {Name: "w", DType: Int8, Shape: Shape{1}, Offset: 64, Size: 1},
		"Q9":   {Name: "w", Encoding: &Encoding{Name: "Q9", BlockElems: 4, BlockBytes: 1}, Shape: Shape{4}, Offset: 64, Size: 1},
	} {
		_, err := As[float32](newView(&info, &owner{}, at(1, 0)))
		want = `test: file.test: at 0x40: tensor "w": wrong dtype: ` + want + ", not float32"
		if fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// decoder is an owner with workers.
type decoder struct {
	owner
	workers int
}

func (o *decoder) Workers() int                              { return o.workers }
func (*decoder) Advise(memory.Advice, []byte) (int64, error) { return 0, nil }

// TestDecodeOnWorkers: several goroutines decode what one does.
func TestDecodeOnWorkers(t *testing.T) {
	for _, d := range []DType{Uint8, Int16, BFloat16, Float64} {
		o := &decoder{owner: owner{mem: memory.Aligned(1<<20 + 8)}, workers: 4}
		for i := range o.mem {
			o.mem[i] = byte(i * 11 >> 2)
		}
		n := int64(len(o.mem)) / d.Size()
		info := &Info{Name: "w", DType: d, Shape: Shape{n}, Size: int64(len(o.mem))}
		v := View(memory.New(info, memory.Owner[Info](o), o.mem))
		got, err := Decode[float32](nil, v)
		expect.OK(t, err)
		want := make([]float32, n)
		expect.OK(t, DecodeAt(want, v, 0))
		if !bytes.Equal(memory.BytesOf(want), memory.BytesOf(got)) || slices.Max(got) == 0 {
			t.Errorf("%v: differs", d)
		}
	}
}
