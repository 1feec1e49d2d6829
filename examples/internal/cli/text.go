package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// Printable escapes, as JSON does, what would disturb a terminal or a line:
// control characters, and those that change direction or cannot be seen.
func Printable(s string) string { return escaped(s, unsafeRune) }

// PrintableJSON does the same in JSON text, which keeps its meaning: such
// characters occur inside of strings only, and line breaks only outside.
func PrintableJSON(text []byte) []byte {
	return []byte(escaped(string(text), func(r rune) bool { return r != '\n' && unsafeRune(r) }))
}

func unsafeRune(r rune) bool { return !unicode.IsGraphic(r) }

func escaped(s string, wanted func(rune) bool) string {
	if strings.IndexFunc(s, wanted) < 0 {
		return strings.ToValidUTF8(s, "\ufffd")
	}
	var b strings.Builder
	for _, r := range s {
		switch high, low := utf16.EncodeRune(r); {
		case !wanted(r):
			b.WriteRune(r)
		case high != unicode.ReplacementChar:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// JSON returns v on one line, with <, > and & as they are.
func JSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// isPlain reports whether s is ASCII without control characters, as nearly all texts are.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i]-' ' > '~'-' ' {
			return false
		}
	}
	return true
}

// Shorten cuts the middle out of s where it would take more than width
// columns: names differ at their ends.
func Shorten(s string, width int) string {
	if len(prefix(s, width)) == len(s) {
		return s
	}
	head := prefix(s, width/2)
	// No tail is longer than this; between the two, a name may be as long as its file.
	at := max(len(head), len(s)-8*width)
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	for at < len(s) {
		cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(s[at:], -1)
		at += len(cluster)
		if tail := s[at:]; len(tail) <= 4*width && uniseg.StringWidth(tail) <= width-1-uniseg.StringWidth(head) {
			return head + "…" + tail
		}
	}
	return head + "…"
}

// Cut cuts the end off where s would take more than width columns.
func Cut(s string, width int) string {
	if len(prefix(s, width)) == len(s) {
		return s
	}
	return prefix(s, width-1) + "…"
}

// prefix returns as much of s as fits into width columns.
func prefix(s string, width int) string {
	used := 0
	for at := 0; at < len(s); {
		cluster, _, n, _ := uniseg.FirstGraphemeClusterInString(s[at:], -1)
		if used += n; used > width {
			return s[:at]
		}
		at += len(cluster)
	}
	return s
}

// List joins names by commas, as many as can show before a line is cut off at width
// columns: names, and how often they are used, may make a line as long as many files.
func List(names []string, width int) string {
	most := 16 * width // bytes, some of which combine
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		if b.Len()+len(name) > most {
			b.WriteString(strings.ToValidUTF8(name[:max(0, min(len(name), most-b.Len()))], "") + "…")
			break
		}
		b.WriteString(name)
	}
	return b.String()
}

// Terminal reports whether somebody is watching.
func Terminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// plainWidth is how long lines get where there is no terminal.
const plainWidth = 160

// Width returns how many columns a line may take.
func Width(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return plainWidth
}

// Count returns "1 tensor", "2,000 tensors".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Grouped(n) + " " + what + "s"
}

// Grouped shows an integer with commas between thousands.
func Grouped(n any) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Size prints bytes with three digits and a decimal prefix.
func Size(n int64) string {
	if n < 1000 {
		return Count(int(n), "byte")
	}
	f, unit := float64(n), 0
	for f >= 999.5 && unit < 4 {
		f /= 1000
		unit++
	}
	digits := 1
	if f >= 99.95 {
		digits = 0
	}
	return fmt.Sprintf("%.*f %cB", digits, f, " kMGT"[unit])
}
