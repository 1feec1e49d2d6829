// Package digits has code shared by the examples that recognize handwritten digits: generated
// drawings of digits, so that no data is downloaded; the normalization of images; and a small
// convolutional network with functions to load it from a model file.
//
// The modules examples/train and examples/serve run the network with an inference engine.
// examples/quickstart uses the implementation in this package.
package digits

// Size is the width and height of an Image, Pixels the number of its pixels, and Classes the number
// of digits.
const (
	Size    = 16
	Pixels  = Size * Size
	Classes = 10
)

// Image is a normalized drawing in row-major order from the top: 0 is paper, 255 is ink.
type Image [Pixels]uint8

// Floats appends the image to dst as input of the network: 1 is ink, 0 is paper.
func (m *Image) Floats(dst []float32) []float32 {
	for _, ink := range m {
		dst = append(dst, float32(ink)/255)
	}
	return dst
}

// Probabilities holds the probability of each digit.
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

// Drawing is an image labeled with its digit.
type Drawing struct {
	Image Image
	Digit int
}

// Training returns the first n drawings of the training set, which are the same on every machine.
// Digits follow in turn. The last style of each digit is rare.
func Training(n int) []Drawing { return drawings(n, newPen(1), 1) }

// HeldOut returns the first n drawings of the test set, which are different from Training's. All
// styles are equally frequent.
func HeldOut(n int) []Drawing { return drawings(n, newPen(2), common) }

func drawings(n int, p *pen, rare int) []Drawing {
	list := make([]Drawing, n)
	for i := range list {
		digit := i % Classes
		list[i] = Drawing{p.draw(digit, p.style(digit, rare)), digit}
	}
	return list
}

// Draw returns a drawing of a digit from 0 to 9 in a random style, determined by seed.
func Draw(digit int, seed uint64) Image {
	p := newPen(seed)
	p.random(1) // discard the first number: nearby seeds start with similar ones
	return p.draw(digit, p.style(digit, common))
}
