package bench

import (
	"fmt"
	"os"
	"strings"
)

// Replace replaces a table in a page in Markdown. It begins behind the line <!-- NAME --> and ends at
// the next empty line.
func Replace(page, name, table string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text, err := replaced(string(old), name, table)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(text), 0o666)
}

// replaced returns a page with another table.
func replaced(page, name, table string) (string, error) {
	mark := "<!-- " + name + " -->\n"
	before, rest, found := strings.Cut(page, mark)
	if !found {
		return "", fmt.Errorf("no line <!-- %s -->", name)
	}
	_, after, _ := strings.Cut(rest, "\n\n")
	return before + mark + strings.TrimSpace(table) + "\n\n" + after, nil
}
