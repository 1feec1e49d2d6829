package digits

import (
	"errors"
	"image"
	"image/color"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// bar returns a drawing of a filled rectangle.
func bar(width, height int, r image.Rectangle, ink uint8) []uint8 {
	out := make([]uint8, width*height)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			out[y*width+x] = ink
		}
	}
	return out
}

func TestNormalizeRefuses(t *testing.T) {
	for _, c := range []struct {
		name          string
		ink           []uint8
		width, height int
		empty         bool
	}{
		{"no pixels", nil, 0, 0, false},
		{"negative", nil, -1, -1, false},
		{"too few bytes", make([]uint8, 5), 2, 3, false},
		{"too wide", make([]uint8, maxSide+1), maxSide + 1, 1, false},
		{"a product that overflows", nil, 1 << 31 >> 1, 4, false},
		{"paper", make([]uint8, 6), 2, 3, true},
		{"too faint", []uint8{0, 0, faint, 0, 0, 0}, 2, 3, true},
	} {
		if _, err := Normalize(c.ink, c.width, c.height); err == nil || errors.Is(err, ErrEmpty) != c.empty {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := FromImage(image.NewGray(image.Rect(0, 0, 0, 3))); err == nil {
		t.Error("a picture without pixels is accepted")
	}
	if _, err := FromImage(image.NewGray(image.Rect(0, 0, 30, 30))); !errors.Is(err, ErrEmpty) {
		t.Errorf("a black picture: %v", err)
	}
}

// TestFromImage checks that a digit in black on white, white on black, and red on transparency
// gives the same image.
func TestFromImage(t *testing.T) {
	r := image.Rect(10, 5, 30, 45)
	ink := bar(50, 60, r, 255)
	want, err := Normalize(ink, 50, 60)
	expect.OK(t, err)
	for _, c := range []struct {
		name       string
		paper, ink color.Color
	}{
		{"black on white", color.White, color.Black},
		{"white on black", color.Black, color.White},
		{"blue on yellow", color.RGBA{255, 255, 0, 255}, color.RGBA{0, 0, 255, 255}},
		{"red on nothing", color.Transparent, color.RGBA{255, 0, 0, 255}},
		{"white on nothing", color.Transparent, color.White},
	} {
		m := image.NewRGBA(image.Rect(-7, 3, 43, 63)) // bounds need not begin at 0
		for i, v := range ink {
			p := c.paper
			if v > 0 {
				p = c.ink
			}
			m.Set(-7+i%50, 3+i/50, p)
		}
		if got, err := FromImage(m); err != nil || got != want {
			t.Errorf("%s: %v, the same image: %v", c.name, err, got == want)
		}
	}
}

// FuzzNormalize checks that every drawing either is an error or gives an image with ink.
func FuzzNormalize(f *testing.F) {
	f.Add([]byte{0, 200, 0, 0, 0, 255}, 2)
	f.Add([]byte{1, 25, 3}, 3)
	f.Add(bar(40, 30, image.Rect(3, 2, 9, 28), 255), 40)
	f.Add([]byte{}, -1)
	f.Fuzz(func(t *testing.T, ink []byte, width int) {
		height := 1
		if width > 0 {
			height = len(ink) / width
		}
		m, err := Normalize(ink, width, height)
		if err == nil && m == (Image{}) {
			t.Errorf("nothing is left of %d by %d pixels", width, height)
		}
	})
}
