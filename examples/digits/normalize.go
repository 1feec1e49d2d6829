package digits

import (
	"errors"
	"fmt"
	"image"
	"image/color"
)

// ErrEmpty is returned for a drawing without ink.
var ErrEmpty = errors.New("digits: nothing is drawn")

const (
	box     = 12      // longer side of a digit in an Image, in pixels
	maxSide = 1 << 14 // largest width and height of a drawing
	faint   = 24      // ink up to this value is ignored
	fine    = 256     // units per pixel of the drawing
)

// Normalize converts a drawing of any size to an Image: it scales the longer side of the digit to
// 12 pixels, centers it by its center of mass, and makes its darkest pixel black. The drawing is
// width times height bytes in row-major order, 0 for paper. Without ink the error is ErrEmpty.
func Normalize(ink []uint8, width, height int) (Image, error) {
	if width <= 0 || height <= 0 || width > maxSide || height > maxSide || len(ink) != width*height {
		return Image{}, fmt.Errorf("digits: a drawing of %d by %d pixels in %d bytes", width, height, len(ink))
	}
	f := frame{ink: ink, width: width, height: height}
	if !f.find() {
		return Image{}, ErrEmpty
	}
	var means [Pixels]int64
	darkest := int64(0)
	for i := range means {
		means[i] = f.mean(i%Size, i/Size)
		darkest = max(darkest, means[i])
	}
	if darkest == 0 {
		return Image{}, ErrEmpty // only a few dots far apart
	}
	var m Image
	for i, v := range means {
		m[i] = uint8(v * 255 / darkest)
	}
	return m, nil
}

// frame is the section of a drawing that becomes the image.
type frame struct {
	ink           []uint8
	width, height int
	x, y, step    int64 // top left corner, and size of an image pixel, in units of 1/fine pixel
}

// find locates the digit and reports whether there is one.
func (f *frame) find() bool {
	darkest := faint
	for _, v := range f.ink {
		darkest = max(darkest, int(v))
	}
	if darkest == faint {
		return false
	}
	left := f.width
	top := f.height
	right := 0
	bottom := 0
	var sum, sumX, sumY int64
	for y := range f.height {
		for x, v := range f.ink[y*f.width:][:f.width] {
			if int(v) < darkest/4 {
				continue
			}
			left = min(left, x)
			right = max(right, x+1)
			top = min(top, y)
			bottom = max(bottom, y+1)
			sum += int64(v)
			sumX += int64(v) * (int64(x)*fine + fine/2)
			sumY += int64(v) * (int64(y)*fine + fine/2)
		}
	}
	f.step = int64(max(right-left, bottom-top)) * fine / box
	f.x = f.around(sumX/sum, left, right)
	f.y = f.around(sumY/sum, top, bottom)
	return true
}

// around returns the start of the image along one axis: center is in the middle, or as close to it
// as possible with first to end inside.
func (f *frame) around(center int64, first, end int) int64 {
	side := Size * f.step
	return min(max(center-side/2, int64(end)*fine-side), int64(first)*fine)
}

// mean returns the average ink in the area of one pixel of the image, in 4096ths, since a thin line
// is a small part of the area.
func (f *frame) mean(x, y int) int64 {
	x0 := f.x + int64(x)*f.step
	y0 := f.y + int64(y)*f.step
	x1 := x0 + f.step
	y1 := y0 + f.step
	var sum int64
	for sy := max(y0/fine, 0); sy*fine < y1 && sy < int64(f.height); sy++ {
		high := min(y1, (sy+1)*fine) - max(y0, sy*fine)
		for sx := max(x0/fine, 0); sx*fine < x1 && sx < int64(f.width); sx++ {
			wide := min(x1, (sx+1)*fine) - max(x0, sx*fine)
			sum += int64(f.ink[sy*int64(f.width)+sx]) * wide * high
		}
	}
	return sum * 4096 / (f.step * f.step)
}

// FromImage normalizes a picture: dark ink on a light background, light on dark, or any color on
// transparency. The border determines the background.
func FromImage(m image.Image) (Image, error) {
	b := m.Bounds()
	if b.Dx() <= 0 || b.Dy() <= 0 || b.Dx() > maxSide || b.Dy() > maxSide {
		return Image{}, fmt.Errorf("digits: a picture of %d by %d pixels", b.Dx(), b.Dy())
	}
	gray := make([]uint8, b.Dx()*b.Dy())
	alpha := make([]uint8, b.Dx()*b.Dy())
	var paper, opaque, border int
	for y := range b.Dy() {
		for x := range b.Dx() {
			i := y*b.Dx() + x
			c := m.At(b.Min.X+x, b.Min.Y+y)
			_, _, _, a := c.RGBA()
			gray[i] = color.GrayModel.Convert(c).(color.Gray).Y
			alpha[i] = uint8(a >> 8)
			if x == 0 || y == 0 || x == b.Dx()-1 || y == b.Dy()-1 {
				paper = paper + int(gray[i])
				opaque = opaque + int(alpha[i])
				border = border + 1
			}
		}
	}
	if opaque/border < 128 {
		return Normalize(alpha, b.Dx(), b.Dy())
	}
	paper /= border
	for i, v := range gray {
		if paper < 128 {
			gray[i] = uint8(max(int(v)-paper, 0))
		} else {
			gray[i] = uint8(max(paper-int(v), 0))
		}
	}
	return Normalize(gray, b.Dx(), b.Dy())
}
