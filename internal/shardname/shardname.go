// Package shardname has the names of the parts of a model in several files, as the Hugging Face Hub
// and gguf-split have them.
package shardname

import (
	"fmt"
	"strconv"
	"strings"
)

// Name returns the name of a part, counted from 1: "m-00001-of-00003.gguf".
func Name(stem string, no, count int, extension string) string {
	return fmt.Sprintf("%s-%05d-of-%05d%s", stem, no, count, extension)
}

// Names returns the names of all parts.
func Names(stem string, count int, extension string) (names []string) {
	for i := range count {
		names = append(names, Name(stem, i+1, count, extension))
	}
	return names
}

// Split is the inverse of Name. name must not have a directory.
func Split(name, extension string) (stem string, no, count int, ok bool) {
	at := len(name) - len(Name("", 1, 1, extension))
	if at <= 0 {
		return "", 0, 0, false
	}
	stem = name[:at]
	no, _ = strconv.Atoi(name[at+len("-") : at+len("-00001")])
	count, _ = strconv.Atoi(name[at+len("-00001-of-") : at+len("-00001-of-00003")])
	return stem, no, count, no >= 0 && count >= 0 && Name(stem, no, count, extension) == name
}

// generationDigits is how many hexadecimal digits the generation in a stem has:
// "m-3f9a01c2-00001-of-00002.safetensors".
const generationDigits = 8

// WithGeneration returns the stem of the parts of a generation, which is at least 8 hexadecimal
// digits long.
func WithGeneration(model, generation string) string {
	return model + "-" + generation[:generationDigits]
}

// SplitStem is the inverse of WithGeneration. generation is "" if the stem has none.
func SplitStem(stem string) (model, generation string) {
	at := len(stem) - generationDigits - 1
	if at < 1 || stem[at] != '-' || strings.Trim(stem[at+1:], "0123456789abcdef") != "" {
		return stem, ""
	}
	return stem[:at], stem[at+1:]
}
