package corpus

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/wire"
)

// A row of a table has an offset, a size, names, and after two spaces what they mean.
var tableRow = regexp.MustCompile(`^ *(\d+|-|\d+\+\S+) +(\d+|-|N|\d+\*\w+) +(\S.*)$`)

// Tables returns the tables of a package's doc comment by the line above each, without its last
// colon. A row of several names, separated by commas, is that many fields. Rows that only describe
// what follows, in several words without a column for names, are left out.
func Tables(doc string) map[string][]wire.Field {
	tables := make(map[string][]wire.Field)
	title := ""
	for line := range strings.Lines(doc) {
		line = strings.TrimRight(line, "\n")
		block, ok := strings.CutPrefix(line, "//\t")
		if !ok {
			title = titleOf(strings.TrimPrefix(line, "//"), title)
			continue
		}
		row := tableRow.FindStringSubmatch(block)
		if row == nil {
			isContinued := strings.HasPrefix(block, "        ") && !strings.HasSuffix(block, ":")
			if !isContinued && !strings.HasPrefix(block, "offset") {
				title = titleOf(block, title)
			}
			continue
		}
		text, _, hasColumn := strings.Cut(row[3], "  ")
		names := strings.Split(text, ", ")
		isProse := !hasColumn && slices.ContainsFunc(names,
			func(s string) bool { return strings.Contains(s, " ") })
		if isProse || strings.HasSuffix(text, ":") {
			title = titleOf(text, title)
			continue
		}
		offset := number(row[1])
		size := number(row[2])
		if size > 0 {
			size /= int64(len(names))
		}
		for _, name := range names {
			tables[title] = append(tables[title],
				wire.Field{Name: strings.Trim(name, `"`), Offset: offset, Size: size})
			if offset >= 0 && size >= 0 {
				offset += size
			} else {
				offset = -1
			}
		}
	}
	return tables
}

// titleOf returns the title that a line is, or the one before if the line is empty.
func titleOf(line, before string) string {
	line = strings.TrimSuffix(strings.TrimSpace(line), ":")
	if line == "" {
		return before
	}
	return line
}

// number returns a decimal number, -1 for anything else.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// Documented checks that the fields that a Record has read are those of a table in the package's
// doc.go. The names of the Record may have a prefix, such as "tensor ".
func Documented(t *testing.T, table, prefix string, r *wire.Record) {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	want := Tables(string(doc))[table]
	if r.Err() != nil || len(want) == 0 {
		t.Fatalf("doc.go has %d fields of %q; reading it: %v", len(want), table, r.Err())
	}
	got := slices.Clone(r.Fields())
	for i := range got {
		got[i].Name = strings.TrimPrefix(got[i].Name, prefix)
		if i < len(want) && want[i].Offset < 0 {
			got[i].Offset = -1
		}
		if i < len(want) && want[i].Size < 0 {
			got[i].Size = -1
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-doc.go +reader):\n%s", table, diff)
	}
}
