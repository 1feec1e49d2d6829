package modelfile

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	ggufEnding  = ".gguf"       // of models whose first part opens all
	indexEnding = ".index.json" // of the file that lists the parts of other models
	mostIndexes = 16            // that are tried
)

// SplitNumber returns what the name of a part begins with, and the number of parts: "m" and 3 for
// "m-00001-of-00003.gguf". It returns "" for another name.
func SplitNumber(name string) (stem string, count int) {
	rest := strings.TrimSuffix(name, path.Ext(name))
	at := len(rest) - len("-00001-of-00003")
	if at <= 0 {
		return "", 0
	}
	var no int
	_, err := fmt.Sscanf(rest[at:], "-%05d-of-%05d", &no, &count)
	if err != nil || no < 1 || no > count || count < 2 {
		return "", 0
	}
	return rest[:at], count
}

// opening returns the names of what may open the model that the file called name is a part of.
func opening(name string) []string {
	if IsAddress(name) {
		address, query, asked := strings.Cut(name, "?")
		if asked {
			query = "?" + query
		}
		dir, base := path.Split(address)
		usual := usualOpener(base)
		if usual == "" {
			return nil
		}
		return []string{dir + usual + query}
	}
	dir, base := filepath.Split(name)
	dir = filepath.Join(dir, ".")
	var all []string
	usual := usualOpener(base)
	if usual != "" {
		all = append(all, filepath.Join(dir, usual))
	}
	return append(append(all, indexes(dir, usual)...), dir)
}

// usualOpener returns the usual name of the file that opens the model of a part, "" if the name is
// not that of a part.
func usualOpener(part string) string {
	stem, count := SplitNumber(part)
	ending := path.Ext(part)
	switch {
	case stem == "":
		return ""
	case ending == ggufEnding:
		return fmt.Sprintf("%s-00001-of-%05d%s", stem, count, ending)
	}
	return stem + ending + indexEnding
}

// indexes returns the indexes in a directory, without the one called usual.
func indexes(dir, usual string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), indexEnding) && e.Name() != usual {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	return all[:min(len(all), mostIndexes)]
}

// OpenerOf returns the path of what opens the model that several files are parts of, or "".
func OpenerOf(parts []string) string {
	opens := ""
	for i, part := range parts {
		dir, base := filepath.Split(part)
		usual := usualOpener(base)
		if usual == "" || i > 0 && dir+usual != opens {
			return ""
		}
		opens = dir + usual
	}
	if !Exists(opens) {
		return ""
	}
	return opens
}
