// Package digits is what the examples share that recognize handwritten digits:
// drawings of digits, made by the program itself, so that nothing is downloaded;
// the same normalization for them and for what people draw; and a small
// convolutional network, with the way from any model file to its weights.
//
// Training and serving use an engine (examples/train, examples/serve, modules of
// their own). examples/quickstart computes by hand.
package digits

// Size is the width and height of an Image, Pixels how many pixels it has, and
// Classes how many digits there are.
const (
	Size    = 16
	Pixels  = Size * Size
	Classes = 10
)

// Image is a normalized drawing, row by row from the top: 0 is paper, 255 is ink.
type Image [Pixels]uint8

// Floats appends the image to dst as the network wants it: ink is 1, paper 0.
func (m *Image) Floats(dst []float32) []float32 {
	for _, ink := range m {
		dst = append(dst, float32(ink)/255)
	}
	return dst
}

// Probabilities says of each digit how likely it is.
type Probabilities [Classes]float32

// Best returns the most likely digit.
func (p *Probabilities) Best() (digit int) {
	for d := range p {
		if p[d] > p[digit] {
			digit = d
		}
	}
	return digit
}

// Drawing is an image of a known digit.
type Drawing struct {
	Image Image
	Digit int
}

// Training returns the first n drawings to learn from, the same on every machine.
// The digits take turns. The last style of each digit is rare.
func Training(n int) []Drawing { return drawings(n, newPen(1), 1) }

// HeldOut returns the first n drawings of others than Training's, to measure what
// was learned. All styles are as frequent.
func HeldOut(n int) []Drawing { return drawings(n, newPen(2), common) }

func drawings(n int, p *pen, rare int) []Drawing {
	list := make([]Drawing, n)
	for i := range list {
		digit := i % Classes
		list[i] = Drawing{p.draw(digit, p.style(digit, rare)), digit}
	}
	return list
}

// Draw returns a drawing of a digit, 0 to 9, in any style: another one for every
// seed.
func Draw(digit int, seed uint64) Image {
	p := newPen(seed)
	p.random(1) // seeds that are close would begin alike
	return p.draw(digit, p.style(digit, common))
}
