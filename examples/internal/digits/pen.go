package digits

import (
	"math"
	"math/rand/v2"
)

// The canvas that digits are drawn on, before they are normalized like anything
// that somebody draws. All drawing is done in integers, since floating point may
// be rounded in other ways on another processor: coordinates in subpixels.
const (
	canvas    = 56
	subpixels = 64      // in a pixel of the canvas
	unit      = 28      // subpixels in a unit of the styles' grid: 100 of them are 44 pixels
	one       = 1 << 10 // of factors
)

// pen draws. It makes all its choices with one random generator.
type pen struct {
	rng *rand.PCG
	ink [canvas * canvas]uint8
}

func newPen(seed uint64) *pen { return &pen{rng: rand.NewPCG(seed, 0x5765_6967_6874)} }

// random returns a number from 0 to n-1, by the same arithmetic on all machines.
func (p *pen) random(n int) int { return int(p.rng.Uint64() >> 32 * uint64(n) >> 32) }

// between returns a number from a to b.
func (p *pen) between(a, b int) int { return a + p.random(b-a+1) }

// around returns a number from -n to n, more often a small one.
func (p *pen) around(n int) int { return (p.between(-n, n) + p.between(-n, n)) / 2 }

// common is how much more frequent the usual styles can be than the last one.
const common = 8

// style chooses a style of a digit. The last one has the weight rare, the others
// common.
func (p *pen) style(digit, rare int) style {
	all := styles[digit]
	return all[min(p.random(common*(len(all)-1)+rare)/common, len(all)-1)]
}

// draw draws a digit: in a hand that differs in slant, width, thickness and the
// rest, then normalized, moved a little, in weak or strong ink, with noise.
func (p *pen) draw(digit int, s style) Image {
	clear(p.ink[:])
	h := p.hand()
	for _, line := range s {
		p.stroke(line, h)
	}
	m, err := Normalize(p.ink[:], canvas, canvas)
	if err != nil {
		panic(err) // a stroke leaves ink
	}
	return p.scan(m)
}

// hand is how a digit is distorted as a whole: a matrix, in terms of one, where
// the middle lies, and the radius of the pen, in subpixels.
type hand struct {
	xx, xy, yx, yy int
	x, y           int
	radius         int
}

func (p *pen) hand() hand {
	wide, high := one+p.around(one/3), one+p.around(one/8)
	slant, turn := p.around(one*3/8), p.around(one/5)
	return hand{
		xx: wide, xy: -slant - turn, yx: turn * wide / one, yy: high,
		x: canvas/2*subpixels + p.around(2*subpixels), y: canvas/2*subpixels + p.around(2*subpixels),
		radius: p.between(subpixels*5/4, subpixels*5),
	}
}

// stroke draws one line through its points, which the hand does not quite hit.
func (p *pen) stroke(line []point, h hand) {
	through := make([]point, len(line))
	for i, q := range line {
		if i > 0 && q == line[i-1] {
			through[i] = through[i-1] // a corner
			continue
		}
		x, y := (int(q.x)-50)*unit+p.around(6*unit), (int(q.y)-50)*unit+p.around(6*unit)
		through[i] = point{h.x + (h.xx*x+h.xy*y)/one, h.y + (h.yx*x+h.yy*y)/one}
	}
	last := len(through) - 1
	for i := range last {
		a, b, c, d := through[max(i-1, 0)], through[i], through[i+1], through[min(i+2, last)]
		for t := range steps + 1 {
			p.dab(point{spline(a.x, b.x, c.x, d.x, t), spline(a.y, b.y, c.y, d.y, t)}, h.radius)
		}
	}
}

// steps is how many steps the pen takes between two points.
const steps = 24

// spline returns one coordinate of the Catmull-Rom curve from b to c, after t steps.
func spline(a, b, c, d, t int) int {
	const n = steps
	return (2*n*n*n*b + (c-a)*t*n*n + (2*a-5*b+4*c-d)*t*t*n + (3*b-a-3*c+d)*t*t*t) / (2 * n * n * n)
}

// dab inks the pixels around at. One that the edge of the pen crosses is gray.
func (p *pen) dab(at point, radius int) {
	reach := radius + subpixels
	left, right := max((at.x-reach)/subpixels, 0), min((at.x+reach)/subpixels, canvas-1)
	top, bottom := max((at.y-reach)/subpixels, 0), min((at.y+reach)/subpixels, canvas-1)
	for y := top; y <= bottom; y++ {
		for x := left; x <= right; x++ {
			dx, dy := x*subpixels+subpixels/2-at.x, y*subpixels+subpixels/2-at.y
			away := int(math.Sqrt(float64(dx*dx + dy*dy))) // exact: IEEE 754 says how it is rounded
			ink := min(max((radius-away)*255/subpixels+128, 0), 255)
			p.ink[y*canvas+x] = max(p.ink[y*canvas+x], uint8(ink))
		}
	}
}

// scan returns m as a cheap scanner sees it: off the middle by up to a pixel, paler,
// and with noise.
func (p *pen) scan(m Image) (out Image) {
	dx, dy := p.between(-1, 1), p.between(-1, 1)
	strength, noise := p.between(170, 255), p.random(32)
	for y := range Size {
		for x := range Size {
			ink := p.around(noise)
			if fx, fy := x-dx, y-dy; fx >= 0 && fx < Size && fy >= 0 && fy < Size {
				ink += int(m[fy*Size+fx]) * strength / 255
			}
			out[y*Size+x] = uint8(min(max(ink, 0), 255))
		}
	}
	return out
}
