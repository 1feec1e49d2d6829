package bench

import (
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
)

// TestReplaced: only the named table changes.
func TestReplaced(t *testing.T) {
	const page = "text\n\n<!-- a -->\n| 1 |\n| 2 |\n\nmore\n\n<!-- b -->\n| 3 |\n\nend\n"
	for _, tt := range []struct{ name, want string }{
		{"a", "text\n\n<!-- a -->\n| new |\n\nmore\n\n<!-- b -->\n| 3 |\n\nend\n"},
		{"b", "text\n\n<!-- a -->\n| 1 |\n| 2 |\n\nmore\n\n<!-- b -->\n| new |\n\nend\n"},
	} {
		got, err := replaced(page, tt.name, "| new |\n")
		expect.OK(t, err)
		expect.Equal(t, tt.want, got)
	}
	_, err := replaced(page, "c", "| new |\n")
	if err == nil {
		t.Error("a page without the table was accepted")
	}
}
