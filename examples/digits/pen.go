package digits

import (
	"math"
	"math/rand/v2"
)

// The canvas for digits before normalization. All arithmetic is in integers, since processors may
// round floating point differently; coordinates are in subpixels.
const (
	canvas    = 56
	subpixels = 64      // per pixel of the canvas
	unit      = 28      // subpixels per unit of the styles' grid; 100 units are 44 pixels
	one       = 1 << 10 // denominator of fixed-point factors
)

// pen draws digits with one random generator.
type pen struct {
	rng *rand.PCG
	ink [canvas * canvas]uint8
}

func newPen(seed uint64) *pen { return &pen{rng: rand.NewPCG(seed, 0x5765_6967_6874)} }

// random returns a number from 0 to n-1, the same on all machines.
func (p *pen) random(n int) int { return int(p.rng.Uint64() >> 32 * uint64(n) >> 32) }

// between returns a number from a to b.
func (p *pen) between(a, b int) int { return a + p.random(b-a+1) }

// around returns a number from -n to n; small ones are more frequent.
func (p *pen) around(n int) int { return (p.between(-n, n) + p.between(-n, n)) / 2 }

// common is the weight of the usual styles; the last style may have a smaller one.
const common = 8

// style returns a random style of a digit. The last one has weight rare, the others common.
func (p *pen) style(digit, rare int) style {
	all := styles[digit]
	return all[min(p.random(common*(len(all)-1)+rare)/common, len(all)-1)]
}

// draw draws a digit with random slant, width and thickness, normalizes it, shifts it slightly,
// varies the ink and adds noise.
func (p *pen) draw(digit int, s style) Image {
	clear(p.ink[:])
	h := p.hand()
	for _, line := range s {
		p.stroke(line, h)
	}
	m, err := Normalize(p.ink[:], canvas, canvas)
	if err != nil {
		panic(err) // a stroke always leaves ink
	}
	return p.scan(m)
}

// hand is the distortion of a digit: a fixed-point matrix with denominator one, the position of the
// center, and the radius of the pen, in subpixels.
type hand struct {
	xx, xy, yx, yy int
	x, y           int
	radius         int
}

func (p *pen) hand() hand {
	wide := one + p.around(one/3)
	high := one + p.around(one/8)
	slant := p.around(one * 3 / 8)
	turn := p.around(one / 5)
	return hand{
		xx: wide, xy: -slant - turn, yx: turn * wide / one, yy: high,
		x: canvas/2*subpixels + p.around(2*subpixels), y: canvas/2*subpixels + p.around(2*subpixels),
		radius: p.between(subpixels*5/4, subpixels*5),
	}
}

// stroke draws one line through its points, displaced slightly at random.
func (p *pen) stroke(line []point, h hand) {
	through := make([]point, len(line))
	for i, q := range line {
		if i > 0 && q == line[i-1] {
			through[i] = through[i-1] // a corner
			continue
		}
		x := (int(q.x)-50)*unit + p.around(6*unit)
		y := (int(q.y)-50)*unit + p.around(6*unit)
		through[i] = point{h.x + (h.xx*x+h.xy*y)/one, h.y + (h.yx*x+h.yy*y)/one}
	}
	last := len(through) - 1
	for i := range last {
		a := through[max(i-1, 0)]
		b := through[i]
		c := through[i+1]
		d := through[min(i+2, last)]
		for t := range steps + 1 {
			p.dab(point{spline(a.x, b.x, c.x, d.x, t), spline(a.y, b.y, c.y, d.y, t)}, h.radius)
		}
	}
}

// steps is the number of pen positions between two points.
const steps = 24

// spline returns one coordinate of the Catmull-Rom curve from b to c at step t.
func spline(a, b, c, d, t int) int {
	const n = steps
	return (2*n*n*n*b + (c-a)*t*n*n + (2*a-5*b+4*c-d)*t*t*n + (3*b-a-3*c+d)*t*t*t) / (2 * n * n * n)
}

// dab inks the pixels around at. Pixels on the edge of the pen are gray.
func (p *pen) dab(at point, radius int) {
	reach := radius + subpixels
	left := max((at.x-reach)/subpixels, 0)
	right := min((at.x+reach)/subpixels, canvas-1)
	top := max((at.y-reach)/subpixels, 0)
	bottom := min((at.y+reach)/subpixels, canvas-1)
	for y := top; y <= bottom; y++ {
		for x := left; x <= right; x++ {
			dx := x*subpixels + subpixels/2 - at.x
			dy := y*subpixels + subpixels/2 - at.y
			away := int(math.Sqrt(float64(dx*dx + dy*dy))) // exact: IEEE 754 specifies the rounding of a square root
			ink := min(max((radius-away)*255/subpixels+128, 0), 255)
			p.ink[y*canvas+x] = max(p.ink[y*canvas+x], uint8(ink))
		}
	}
}

// scan simulates a cheap scanner: it shifts m by up to a pixel, lightens it, and adds noise.
func (p *pen) scan(m Image) (out Image) {
	dx := p.between(-1, 1)
	dy := p.between(-1, 1)
	strength := p.between(170, 255)
	noise := p.random(32)
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
