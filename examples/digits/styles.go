package digits

import (
	"fmt"
	"strings"
)

// style is a way to write a digit: strokes of the pen, each a curve through points. A repeated
// point is a corner.
type style [][]point

// point is a position in the styles' grid, from 0 to 100 from the left and the top, or in subpixels
// of the canvas.
type point struct{ x, y int }

// styles holds the styles of each digit. The last one of each is the rare one.
var styles = [Classes][]style{
	0: parse(
		"50,0 25,12 18,50 25,88 50,100 75,88 82,50 75,12 50,0",             // an oval
		"55,2 36,20 28,55 36,90 50,98 64,80 71,45 65,12 55,2",              // narrow
		"66,8 45,2 24,22 20,60 34,92 58,98 78,74 80,36 68,12 52,4",         // begun and ended on the right
		"50,0 25,12 18,50 25,88 50,100 75,88 82,50 75,12 50,0|26,84 74,16", // slashed
	),
	1: parse(
		"50,0 50,100",                          // a bar
		"30,25 52,0 52,0 52,100",               // with a serif
		"34,20 52,0 52,0 52,100|28,100 76,100", // and a foot
		"22,38 56,0 56,0 56,100",               // with a long serif
	),
	2: parse(
		"22,25 32,6 52,0 72,8 76,28 62,52 20,100 20,100 80,100",                 // with a corner
		"22,22 36,4 60,2 74,20 66,46 42,76 24,92 20,80 34,74 52,88 66,98 82,92", // with a loop
		"22,12 50,2 74,16 70,38 20,98 20,98 48,92 80,98",                        // with a wave
		"22,4 74,4 74,4 62,44 20,98 20,98 82,98",                                // flat, like a z
	),
	3: parse(
		"22,14 44,0 70,8 72,32 46,46 46,46 76,56 80,80 56,100 20,90",        // round
		"22,2 74,2 74,2 44,40 44,40 74,52 80,78 54,100 20,90",               // flat on top
		"24,12 50,0 74,20 58,42 44,46 64,52 80,74 56,98 22,90",              // without a corner
		"22,16 46,0 72,16 62,40 46,50 40,44 50,42 74,58 76,84 50,100 20,88", // with a loop
	),
	4: parse(
		"30,0 22,58 22,58 84,58|66,20 66,100",      // open
		"64,0 16,66 16,66 86,66|64,0 64,100",       // closed
		"34,4 18,62 18,62 82,54|62,36 54,100",      // open and slanted
		"24,2 22,36 34,52 68,48|72,0 68,48 64,100", // open and round
	),
	5: parse(
		"76,2 30,2 30,2 26,44 26,44 52,38 78,56 76,84 50,100 20,90", // one stroke
		"32,2 28,44 28,44 58,40 78,64 64,94 22,96|32,2 80,2",        // the bar at the end
		"74,6 40,4 28,24 36,42 66,54 76,76 58,98 22,90",             // like an s
		"74,0 28,0 28,0 28,46 28,46 76,46 76,46 76,98 76,98 22,98",  // angular
	),
	6: parse(
		"68,2 36,26 22,66 34,96 62,98 78,76 64,54 40,56 24,74",       // round
		"62,0 26,62 28,90 52,100 74,84 70,60 46,56 28,70",            // straight
		"74,14 54,0 28,24 20,64 36,98 66,94 78,70 60,52 34,62 24,80", // curled
		"58,0 34,40 24,80 44,100 64,86 56,66 34,70 26,82",            // with a small loop
	),
	7: parse(
		"20,2 80,2 80,2 42,100",                         // two lines
		"20,2 80,2 80,2 42,100|34,52 76,52",             // with a bar
		"20,18 22,2 22,2 80,2 80,2 58,48 46,100",        // with a serif
		"18,10 46,4 80,2 80,2 52,40 46,100|30,50 70,46", // curved, with a bar
	),
	8: parse(
		"66,12 46,0 28,18 40,40 66,58 74,82 50,100 26,82 34,58 62,38 70,18 52,0",             // one stroke
		"50,0 30,10 28,32 50,46 72,32 70,10 50,0|50,46 24,60 22,86 50,100 78,86 76,60 50,46", // two circles
		"74,8 50,4 28,22 46,44 72,66 66,94 40,98 24,78 44,52 70,26 62,6",                     // open on top
		"60,0 42,8 38,28 54,46 66,70 58,94 40,100 32,80 46,54 64,34 70,12 60,0",              // narrow
	),
	9: parse(
		"72,26 56,2 30,8 24,34 42,50 66,42 74,20 74,20 72,100",       // a straight tail
		"74,24 54,0 28,14 26,40 50,52 70,38 76,16 76,60 60,96 28,94", // a curved one
		"50,0 28,12 28,40 50,50 72,38 72,14 50,0|74,20 52,100",       // a circle and a tail
		"76,30 58,4 30,4 22,28 36,48 62,46 76,22 76,22 78,70 64,96",  // a bent one
	),
}

// parse parses styles: "|" separates strokes, blanks separate points.
func parse(texts ...string) []style {
	list := make([]style, len(texts))
	for i, text := range texts {
		for line := range strings.SplitSeq(text, "|") {
			var points []point
			for pair := range strings.FieldsSeq(line) {
				var p point
				if _, err := fmt.Sscanf(pair, "%d,%d", &p.x, &p.y); err != nil {
					panic("digits: " + text)
				}
				points = append(points, p)
			}
			list[i] = append(list[i], points)
		}
	}
	return list
}
