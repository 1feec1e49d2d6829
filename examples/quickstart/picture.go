package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/examples/internal/digits"
)

// The widest bar, all of a line with it, and what is between the image and the bars.
const (
	bar  = 24
	line = len("0 100.0 % ") + bar
	gap  = 5
)

// picture prints the image, and the probabilities next to it, or below where the
// terminal is narrow.
func picture(out io.Writer, image *digits.Image, said *digits.Probabilities, width int) error {
	left, right := drawing(image, 2), bars(said)
	if utf8.RuneCountInString(left[0]) > width {
		left = drawing(image, 1)
	}
	across := utf8.RuneCountInString(left[0]) + gap
	b := bufio.NewWriter(out)
	if width < across+line {
		fmt.Fprintf(b, "%s\n\n%s\n", strings.Join(left, "\n"), strings.Join(right, "\n"))
		return b.Flush()
	}
	above := max(len(left)-len(right), 0) / 2 // the bars are in the middle
	for i := range max(len(left), above+len(right)) {
		row := ""
		if i < len(left) {
			row = left[i]
		}
		if i >= above && i < above+len(right) {
			row += strings.Repeat(" ", across-utf8.RuneCountInString(row)) + right[i-above]
		}
		fmt.Fprintln(b, strings.TrimRight(row, " "))
	}
	return b.Flush()
}

// drawing returns the part of an image that has ink, each pixel as some characters.
func drawing(image *digits.Image, characters int) []string {
	darkest := uint8(1)
	for _, ink := range image {
		darkest = max(darkest, ink)
	}
	shade := func(x, y int) rune {
		return []rune(" ░▒▓█")[(8*int(image[y*digits.Size+x])/int(darkest)+1)/2] // the nearest of 5
	}
	left, top, right, bottom := digits.Size, digits.Size, 0, 0
	for y := range digits.Size {
		for x := range digits.Size {
			if shade(x, y) != ' ' {
				left, right, top, bottom = min(left, x), max(right, x+1), min(top, y), max(bottom, y+1)
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
