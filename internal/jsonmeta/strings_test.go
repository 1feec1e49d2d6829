package jsonmeta

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// walked is what is known of a string after it was walked.
type walked struct {
	Raw     string
	End     int
	Escaped bool
	Err     string
}

// fast walks the string that begins at byte from of b as this package does.
func fast(b []byte, from int, o Options) (w walked) {
	s := Scanner{b: b, i: from, o: o}
	raw, err := s.text()
	if err != nil {
		return walked{Err: err.Error()}
	}
	return walked{string(raw), s.i, s.escaped, ""}
}

// twin walks it byte by byte.
func twin(b []byte, from int, o Options) walked {
	failed := func(i int, reason string) walked { return walked{Err: (&Error{int64(i), reason}).Error()} }
	escaped := false
	for i := from + 1; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			return walked{string(b[from+1 : i]), i + 1, escaped, ""}
		case c < ' ':
			return failed(i, "control character in a string")
		case c == '\\':
			escaped = true
			n := twinEscape(b[i:])
			if n == 0 {
				return failed(i, "invalid escape sequence")
			}
			if half := twinSurrogate(b[i:]); half != 0 && !o.LoneSurrogates {
				if half != 'h' || twinSurrogate(b[i+n:]) != 'l' {
					return failed(i, "a surrogate without its other half")
				}
				n += 6
			}
			i += n
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n < 2 {
				return failed(i, "invalid UTF-8")
			}
			i += n
		}
	}
	return failed(len(b), "the text ends within a string")
}

// twinEscape returns the length of the escape sequence that b begins with, or 0.
func twinEscape(b []byte) int {
	switch {
	case len(b) > 1 && strings.IndexByte(`"\/bfnrt`, b[1]) >= 0:
		return 2
	case len(b) < 6 || b[1] != 'u':
		return 0
	}
	for _, c := range b[2:6] {
		if strings.IndexByte("0123456789abcdefABCDEF", c) < 0 {
			return 0
		}
	}
	return 6
}

// twinSurrogate tells whether b begins with the escape sequence of a high or a low
// surrogate, or neither.
func twinSurrogate(b []byte) byte {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' || twinEscape(b) == 0 || b[2]|' ' != 'd' {
		return 0
	}
	switch {
	case strings.IndexByte("89abAB", b[3]) >= 0:
		return 'h'
	case strings.IndexByte("cdefCDEF", b[3]) >= 0:
		return 'l'
	}
	return 0
}

// checkTwins compares both.
func checkTwins(t *testing.T, b []byte, from int) {
	for _, lone := range []bool{false, true} {
		o := Options{LoneSurrogates: lone}
		if want, got := twin(b, from, o), fast(b, from, o); want != got {
			t.Fatalf("%q from %d, lone surrogates %v (-twin +ours)\n%s", b, from, lone, cmp.Diff(want, got))
		}
	}
}

// morsels are what strings are made of in these tests.
var morsels = []string{
	"a", "tensor.", "weight_0", strings.Repeat("x", 31), "é", "模", "\U0001f600", "\x7f", " ", "!", "#", "[", "]",
	`"`, `\"`, `\\`, `\n`, `\u0041`, `\u0000`, `\ud83d\ude00`, `\ud800`, `\uDC00`, `\`, `\x`, `\u12`, `\u12g4`, `\u+123`,
	"\x00", "\x1f", "\n", "\x80", "\xbf", "\xc0\x80", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff",
}

// TestTwins compares the scanning of eight bytes a step with that of one: each piece of a
// string at every place of a word, with any other behind it.
func TestTwins(t *testing.T) {
	for _, a := range morsels {
		for _, b := range morsels {
			for before := range 17 {
				for _, after := range []int{0, 1, 7, 8, 20} {
					text := `"` + strings.Repeat("~", before) + a + b + strings.Repeat("z", after)
					checkTwins(t, []byte(text), 0)
					checkTwins(t, []byte(text+`",1]`), 0)
				}
			}
		}
	}
}

// FuzzTwins looks for a string of which they think differently.
func FuzzTwins(f *testing.F) {
	for _, m := range morsels {
		f.Add([]byte(m + `"`))
		f.Add([]byte("seven.." + m + "seven.." + m + `" , 1`))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkTwins(t, append([]byte{'"'}, b...), 0) })
}
