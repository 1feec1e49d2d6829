package modelfile

import (
	"iter"

	"github.com/weightmap/weightmap/tensor"
)

// PieceElems is the maximum number of elements processed at a time.
const PieceElems = 1 << 16

// Piece is a range of consecutive elements of a tensor.
type Piece struct {
	at, n  int64          // index of the first element, and number of elements
	Ranges []tensor.Range // for View.Slice; valid until the next piece
}

// Pieces yields the pieces of a tensor in row-major order, each with at most pieceElems elements.
func Pieces(shape tensor.Shape) iter.Seq[Piece] {
	return func(yield func(Piece) bool) {
		if n, err := shape.Elems(); err != nil || n == 0 {
			return
		}
		// Axes after the split one are whole; those before it advance one index at a time.
		split := len(shape) - 1
		inner := int64(1)
		for split > 0 && inner*shape[split] <= PieceElems {
			inner *= shape[split]
			split--
		}
		p := Piece{n: 1, Ranges: make([]tensor.Range, len(shape))}
		if len(shape) == 0 {
			yield(p)
			return
		}
		for i, d := range shape {
			p.Ranges[i] = tensor.Range{From: 0, To: d}
			if i < split {
				p.Ranges[i].To = 1
			}
		}
		step := PieceElems / inner
		for more := true; more; more = advance(p.Ranges[:split], shape) {
			for from := int64(0); from < shape[split]; from += step {
				to := min(from+step, shape[split])
				p.Ranges[split] = tensor.Range{From: from, To: to}
				p.n = (to - from) * inner
				if !yield(p) {
					return
				}
				p.at += p.n
			}
		}
	}
}

// advance moves the ranges, which have one index each, to the next position, and reports whether
// there is one.
func advance(ranges []tensor.Range, shape tensor.Shape) bool {
	for i := len(ranges) - 1; i >= 0; i-- {
		if ranges[i].To < shape[i] {
			ranges[i].From++
			ranges[i].To++
			return true
		}
		ranges[i] = tensor.Range{From: 0, To: 1}
	}
	return false
}
