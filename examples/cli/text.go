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

// Printable escapes, with JSON escapes, characters that could disturb a terminal or a line: control
// characters, invisible ones, and those that change the direction of text.
func Printable(s string) string { return escaped(s, unsafeRune) }

// PrintableJSON escapes these characters in JSON text without changing its meaning: in valid JSON
// they occur only in strings, except for line breaks, which occur only outside.
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

// JSON returns v as JSON on one line. It does not escape <, > and &.
func JSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// isPlain reports whether s is ASCII without control characters, as most text is.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i]-' ' > '~'-' ' {
			return false
		}
	}
	return true
}

// Shorten removes the middle of s if it is wider than width, since names usually differ at their
// ends.
func Shorten(s string, width int) string {
	if len(prefix(s, width)) == len(s) {
		return s
	}
	head := prefix(s, width/2)
	// Do not search further back for the tail: a name may be as long as its file.
	at := max(len(head), len(s)-8*width)
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	for at < len(s) {
		cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(s[at:], -1)
		at += len(cluster)
		if tail := s[at:]; len(tail) <= 4*width &&
			uniseg.StringWidth(tail) <= width-1-uniseg.StringWidth(head) {
			return head + "…" + tail
		}
	}
	return head + "…"
}

// Cut removes the end of s if it is wider than width.
func Cut(s string, width int) string {
	if len(prefix(s, width)) == len(s) {
		return s
	}
	return prefix(s, width-1) + "…"
}

// prefix returns the longest prefix of s that is at most width columns wide.
func prefix(s string, width int) string {
	used := 0
	for at := 0; at < len(s); {
		cluster, _, n, _ := uniseg.FirstGraphemeClusterInString(s[at:], -1)
		used += n
		if used > width {
			return s[:at]
		}
		at += len(cluster)
	}
	return s
}

// List joins names with commas. It stops when the line is too wide to show more, since a file may
// have many names and long ones.
func List(names []string, width int) string {
	most := 16 * width // in bytes, to allow for combining characters
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

// Terminal reports whether out is a terminal.
func Terminal(out io.Writer) bool {
	f := file(out)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// file returns the file that out writes to, or nil.
func file(out io.Writer) *os.File {
	switch out := out.(type) {
	case *os.File:
		return out
	case *redactor:
		return file(out.to)
	case *stoppable:
		return out.f
	}
	return nil
}

// plainWidth is the maximum width of lines if the output is not a terminal.
const plainWidth = 160

// Width returns the maximum width of a line on out.
func Width(out io.Writer) int {
	if f := file(out); f != nil {
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

// Grouped formats an integer with commas between groups of three digits.
func Grouped(n any) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Size formats a number of bytes with three digits and a decimal prefix.
func Size(n int64) string {
	if n < 1000 {
		return Count(int(n), "byte")
	}
	f := float64(n)
	unit := 0
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
