package tensor

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// reads records the ranges that are read.
type reads struct {
	r      io.ReaderAt
	ranges [][2]int64
}

func (r *reads) ReadAt(p []byte, off int64) (int, error) {
	r.ranges = append(r.ranges, [2]int64{off, int64(len(p))})
	return r.r.ReadAt(p, off)
}

func TestFromReaderAt(t *testing.T) {
	data := at(24, 0)
	r := &reads{r: bytes.NewReader(data)}
	v, err := FromReaderAt(Info{Name: "w", DType: Int16, Shape: Shape{3, 4}, Offset: 7, Compression: "zstd"}, r)
	expect.OK(t, err)
	expect.Equal(t, Info{Name: "w", DType: Int16, Shape: Shape{3, 4}, Size: 24, Stored: 24}, v.Info())
	expect.Equal(t, false, v.ZeroCopy())
	if r.ranges != nil {
		t.Errorf("%v were read before the first use", r.ranges)
	}
	row, err := v.Slice(At(1))
	expect.OK(t, err)
	if r.ranges != nil {
		t.Errorf("%v were read before the use of a slice", r.ranges)
	}

	uses := []struct {
		name   string
		use    func() ([]byte, error)
		want   []byte
		ranges [][2]int64
	}{
		{"Bytes", v.Bytes, data, [][2]int64{{0, 24}}},
		{"Bytes of a slice", row.Bytes, data[8:16], [][2]int64{{8, 8}}},
		{"ReadAt", func() ([]byte, error) { b := make([]byte, 5); _, err := v.ReadAt(b, 3); return b, err }, data[3:8], [][2]int64{{3, 5}}},
		{"ReadInto", func() ([]byte, error) { b := make([]byte, 24); _, err := v.ReadInto(b); return b, err }, data, [][2]int64{{0, 24}}},
		{"Use", func() (c []byte, err error) {
			err = v.Use(func(b []byte) error { c = bytes.Clone(b); return nil })
			return c, err
		}, data, [][2]int64{{0, 24}}},
		{"Clone", func() ([]byte, error) { c, err := v.Clone(); return errOr(c.Bytes, err) }, data, [][2]int64{{0, 24}}},
		{"columns", func() ([]byte, error) { c, err := v.Slice(Range{0, 2}, At(1)); return errOr(c.Bytes, err) }, []byte{2, 3, 10, 11}, [][2]int64{{2, 2}, {10, 2}}},
		{"another name", func() ([]byte, error) {
			c, err := row.WithInfo(Info{Name: "x", DType: Uint8, Shape: Shape{8}})
			return errOr(c.Bytes, err)
		}, data[8:16], [][2]int64{{8, 8}}},
	}
	for _, u := range uses {
		t.Run(u.name, func(t *testing.T) {
			r.ranges = nil
			got, err := u.use()
			expect.OK(t, err)
			expect.Equal(t, u.want, got)
			expect.Equal(t, u.ranges, r.ranges)
		})
	}
	got, err := Decode[int16](nil, row)
	expect.OK(t, err)
	expect.Equal(t, []int16{0x908, 0xb0a, 0xd0c, 0xf0e}, got)
	part := make([]float32, 2)
	r.ranges = nil
	expect.OK(t, DecodeAt(part, v, 10))
	expect.Equal(t, []float32{0x1514, 0x1716}, part)
	expect.Equal(t, [][2]int64{{20, 4}}, r.ranges)
}

// errOr returns the result of f unless there was an error before.
func errOr(f func() ([]byte, error), err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return f()
}

func TestFromReaderAtView(t *testing.T) {
	v, err := FromReaderAt(Info{Name: "w", DType: Uint8, Shape: Shape{4}}, bytes.NewReader(at(4, 0)))
	expect.OK(t, err)
	renamed, err := v.WithInfo(Info{Name: "x", DType: Uint8, Shape: Shape{2, 2}})
	expect.OK(t, err)
	clone, err := renamed.Clone()
	expect.OK(t, err)
	for _, v := range []View{v, renamed} {
		_, err = As[uint8](v)
		expect.Refused(t, ErrUnsupported)(nil, err)
		_, err = As[float32](v)
		expect.Refused(t, ErrDType)(nil, err)
	}
	got, err := As[uint8](clone)
	expect.OK(t, err)
	expect.Equal(t, at(4, 0), got)
}

// waiting is a reader whose reads end with the context.
type waiting struct{}

func (waiting) ReadAt([]byte, int64) (int, error) { return 0, errors.New("read without a context") }

func (waiting) ReadAtContext(ctx context.Context, _ []byte, _ int64) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func TestFromReaderAtErrors(t *testing.T) {
	broken := errors.New("no such disk")
	whole := Info{Name: "w", DType: Uint8, Shape: Shape{4}}
	huge := Info{Name: "w", DType: Uint8, Shape: Shape{math.MaxInt64}}
	cases := []struct {
		name string
		info Info
		r    io.ReaderAt
		want error
	}{
		{"no reader", whole, nil, ErrOption},
		{"a negative dim", Info{Name: "w", DType: Uint8, Shape: Shape{-4}}, bytes.NewReader(nil), ErrShape},
		{"no type", Info{Name: "w"}, bytes.NewReader(nil), ErrDType},
		{"a negative size", Info{Name: "w", Encoding: &Encoding{Name: "U"}, Size: -1}, bytes.NewReader(nil), ErrShape},
		{"a short reader", whole, bytes.NewReader(at(3, 0)), ErrTruncated},
		{"an empty reader", whole, bytes.NewReader(nil), ErrTruncated},
		{"a hostile size", Info{Name: "w", DType: Uint8, Shape: Shape{1 << 30}}, bytes.NewReader(at(3, 0)), ErrTruncated},
		{"a size that no memory has", huge, bytes.NewReader(at(3, 0)), ErrLimit},
		{"a reader that fails", whole, failing{broken}, broken},
		{"a reader that reads nothing", whole, failing{}, ErrTruncated},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v, err := FromReaderAt(c.info, c.r)
			if err == nil {
				_, err = v.Bytes()
			}
			expect.Refused(t, c.want)(v, err)
			var e *Error
			if v.ref().Info() != nil && c.r != nil && errors.As(err, &e) {
				expect.Equal(t, `tensor "w"`, e.Field)
			}
		})
	}
	v, err := FromReaderAt(whole, waiting{})
	expect.OK(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = v.ReadIntoContext(ctx, make([]byte, 4))
	expect.Refused(t, context.Canceled)(nil, err)
	empty, err := FromReaderAt(Info{Name: "e", DType: Uint8, Shape: Shape{0}}, failing{broken})
	expect.OK(t, err)
	b, err := empty.Bytes()
	expect.OK(t, err)
	expect.Equal(t, 0, len(b))
}

// failing is a reader of nothing but an error.
type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }
