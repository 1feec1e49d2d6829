package digits

import (
	"errors"
	"image"
	"image/color"
	"slices"
	"testing"
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

// TestNormalize checks that a bar of any size, position and ink becomes 12 pixels high, centered
// and black.
func TestNormalize(t *testing.T) {
	for _, c := range []struct {
		name          string
		width, height int
		bar           image.Rectangle
		ink           uint8
		first, last   image.Point // inked pixels of the image
	}{
		{"small", 20, 20, image.Rect(2, 2, 6, 14), 255, image.Pt(6, 2), image.Pt(9, 13)},
		{"large", 280, 280, image.Rect(150, 100, 200, 250), 255, image.Pt(6, 2), image.Pt(9, 13)},
		{"pale", 60, 50, image.Rect(10, 10, 18, 34), 60, image.Pt(6, 2), image.Pt(9, 13)},
		{"wide", 60, 50, image.Rect(10, 10, 34, 18), 255, image.Pt(2, 6), image.Pt(13, 9)},
		{"all of it", 8, 24, image.Rect(0, 0, 8, 24), 255, image.Pt(6, 2), image.Pt(9, 13)},
		{"a hair on a large sheet", 1000, 2000, image.Rect(700, 20, 701, 1220), 90, image.Pt(7, 2), image.Pt(8, 13)},
		{"one pixel", 3, 3, image.Rect(1, 1, 2, 2), 255, image.Pt(2, 2), image.Pt(13, 13)},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Normalize(bar(c.width, c.height, c.bar, c.ink), c.width, c.height)
			must(t, err)
			if slices.Max(m[:]) != 255 {
				t.Errorf("the darkest pixel is %d", slices.Max(m[:]))
			}
			inside := image.Rectangle{c.first, c.last.Add(image.Pt(1, 1))}
			for y := range Size {
				for x := range Size {
					v, in := m[y*Size+x], image.Pt(x, y).In(inside)
					edge := !image.Pt(x, y).In(inside.Inset(1)) && image.Pt(x, y).In(inside.Inset(-1)) // may be gray
					if in && !edge && v < 250 || !in && !edge && v > 0 {
						t.Errorf("pixel %d,%d is %d", x, y, v)
					}
				}
			}
		})
	}
}

// TestNormalizeInside checks that a digit with all ink at one end is not clipped.
func TestNormalizeInside(t *testing.T) {
	ink := bar(40, 40, image.Rect(5, 5, 7, 35), 255)
	copy(ink[33*40+2:], bar(30, 1, image.Rect(0, 0, 30, 1), 255))
	for y := 26; y < 36; y++ {
		for x := 2; x < 32; x++ {
			ink[y*40+x] = 255
		}
	}
	m, err := Normalize(ink, 40, 40)
	must(t, err)
	sum := 0
	for _, v := range m {
		sum += int(v)
	}
	want := 0
	for _, v := range ink {
		want += int(v)
	}
	want = want * 12 * 12 / (31 * 31)
	if sum < want*95/100 || sum > want*105/100 {
		t.Errorf("ink %d of %d is left", sum, want)
	}
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
	must(t, err)
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
