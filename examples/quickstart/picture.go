package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/examples/digits"
)

// The widest bar, the width of a line with it, and the gap between image and bars.
const (
	bar  = 24
	line = len("0 100.0 % ") + bar
	gap  = 5
)

// picture prints the image and the probabilities, side by side or, in a narrow terminal, one below
// the other.
func picture(out io.Writer, image *digits.Image, said *digits.Probabilities, width int) error {
	left := drawing(image, 2)
	right := bars(said)
	if utf8.RuneCountInString(left[0]) > width {
		left = drawing(image, 1)
	}
	across := utf8.RuneCountInString(left[0]) + gap
	rows := slices.Concat(left, []string{""}, right)
	if width >= across+line {
		rows = abreast(left, right, across)
	}
	b := bufio.NewWriter(out)
	for _, row := range rows {
		fmt.Fprintln(b, strings.TrimRight(row, " "))
	}
	return b.Flush()
}

// abreast returns lines with left and right side by side. right starts at column across and is
// centered vertically.
func abreast(left, right []string, across int) []string {
	above := max(len(left)-len(right), 0) / 2
	rows := make([]string, max(len(left), above+len(right)))
	copy(rows, left)
	for i, bar := range right {
		row := &rows[above+i]
		*row += strings.Repeat(" ", across-utf8.RuneCountInString(*row)) + bar
	}
	return rows
}

// drawing returns the inked part of an image; each pixel is characters wide.
func drawing(image *digits.Image, characters int) []string {
	darkest := uint8(1)
	for _, ink := range image {
		darkest = max(darkest, ink)
	}
	shade := func(x, y int) rune {
		return []rune(" ░▒▓█")[(8*int(image[y*digits.Size+x])/int(darkest)+1)/2] // one of 5 levels
	}
	left := digits.Size
	top := digits.Size
	right := 0
	bottom := 0
	for y := range digits.Size {
		for x := range digits.Size {
			if shade(x, y) != ' ' {
				left = min(left, x)
				right = max(right, x+1)
				top = min(top, y)
				bottom = max(bottom, y+1)
			}
		}
	}
	var rows []string
	for y := top; y < bottom; y++ {
		row := "  "
		for x := left; x < right; x++ {
			row += strings.Repeat(string(shade(x, y)), characters)
		}
		rows = append(rows, row)
	}
	return rows
}

// bars returns a line for each digit.
func bars(said *digits.Probabilities) []string {
	var lines []string
	for digit, p := range said {
		eighths := int(p*bar*8 + 0.5)
		line := fmt.Sprintf("%d %5.1f %% %s", digit, 100*p, strings.Repeat("█", eighths/8))
		if eighths%8 > 0 {
			line += string([]rune("▏▎▍▌▋▊▉")[eighths%8-1])
		}
		lines = append(lines, line)
	}
	return lines
}
