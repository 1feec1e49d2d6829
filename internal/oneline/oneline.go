// Package oneline describes values on one line of limited length, for fmt and log/slog: files hold
// names, metadata and weights of any size, and keys must not be printed at all.
package oneline

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	mostText = 60  // bytes of a string
	mostList = 200 // bytes of a list
	mostLine = 400 // bytes of a line
)

// Secret stands for a key in Struct, which prints whether there is one.
type Secret bool

// Struct describes a struct by its name and pairs of a field's name and value. It leaves out values
// that are zero.
func Struct(name string, pairs ...any) string {
	var fields []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if text := value(pairs[i+1]); text != "" {
			fields = append(fields, fmt.Sprint(pairs[i], ": ", text))
		}
	}
	return cut(name+"{"+strings.Join(fields, ", ")+"}", mostLine)
}

// value describes a value, "" for zero.
func value(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case Secret:
		if !v {
			return ""
		}
		return "(hidden)"
	case bool:
		if !v {
			return ""
		}
		return "true"
	case string:
		if v == "" {
			return ""
		}
		return Text(v)
	case []string:
		return List(v, Text)
	}
	text := fmt.Sprint(v)
	if text == "0" || text == "" || text == "<nil>" || text == "0s" {
		return ""
	}
	return cut(text, mostList)
}

// Text quotes a string, and shortens it.
func Text(s string) string {
	if len(s) > mostText {
		return strconv.Quote(cut(s, mostText))
	}
	return strconv.Quote(s)
}

// List describes a list by its first elements and its length, "" if it is empty.
func List[T any](list []T, one func(T) string) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteByte('[')
	for i, x := range list {
		text := one(x)
		if b.Len()+len(text) > mostList && i > 0 {
			fmt.Fprintf(&b, " and %d more", len(list)-i)
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(cut(text, mostList))
	}
	b.WriteByte(']')
	return b.String()
}

// Count describes a number of things, "" for none.
func Count(n int, thing string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// cut shortens a text to most bytes and marks the end.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "..."
}

// Plain is a text that Struct does not quote.
type Plain string

// String shortens the text.
func (p Plain) String() string { return cut(string(p), mostList) }
