package codec

import "io"

// RangeWriter writes to W a range of what is written to it, and discards the rest.
type RangeWriter struct {
	W    io.Writer
	Skip int64 // number of bytes before the range
	Left int64 // size of the range
}

// Write implements io.Writer.
func (r *RangeWriter) Write(b []byte) (int, error) {
	skip := min(r.Skip, int64(len(b)))
	n := min(r.Left, int64(len(b))-skip)
	r.Skip -= skip
	r.Left -= n
	if n > 0 {
		_, err := r.W.Write(b[skip:][:n])
		if err != nil {
			return 0, err
		}
	}
	return len(b), nil
}
