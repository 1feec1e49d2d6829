package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestCredentials: what of an argument may be a credential, whatever the address looks like.
func TestCredentials(t *testing.T) {
	for arg, want := range map[string][]string{
		"m.gguf":                      nil,
		"dir/a b/m#1.gguf":            nil,
		"model@v2.gguf":               nil,
		"what?.gguf":                  nil,
		`C:\dir\m.gguf`:               nil,
		"C:/dir/m#1.gguf":             nil,
		"https://h/m.gguf":            nil,
		"https://h:8080/a@b/m.gguf":   nil,
		"hf://ORG/NAME@main/m.gguf":   nil,
		"hf://ORG@main":               nil,
		"https://u:p@h/m":             {"u:p@"},
		"https://token@h/m":           {"token@"},
		"https://u:p q@h/m":           {"u:p q@"},
		"https://u:p/q@h/m":           {"u:p/q@"},
		"https://u:p@q@h/m":           {"u:p@q@"},
		"https://h/m?token=x":         {"?token=x"},
		"https://h/m?x":               {"?x"},
		"https://h/m#x":               {"#x"},
		"https://u:p@h/m?token=x#y":   {"?token=x#y", "u:p@"},
		"https:/u:p@h/m":              {"u:p@"},
		"//u:p@h/m?a=b":               {"?a=b", "u:p@"},
		"u:p@h/m?a=b":                 {"?a=b", "u:p@"},
		"h/m?a=b":                     {"?a=b"},
		"s3://u:p@bucket/m?X-Amz=1":   {"?X-Amz=1", "u:p@"},
		"file:///m?token=x":           {"?token=x"},
		"hf://u:p@ORG/NAME":           {"u:p@"},
		"KEY=https://u:p@h/m?token=x": {"?token=x", "u:p@"},
		"-o=https://u:p@h/m?token=x":  {"?token=x", "u:p@"},
		"https://u:p@h/%zz?token=x":   {"?token=x", "u:p@"},
	} {
		if diff := cmp.Diff(want, credentials(arg)); diff != "" {
			t.Errorf("%s: %s", arg, diff)
		}
	}
}

// TestRedacting: messages have no credentials, plain or in quotes, and files keep their names.
func TestRedacting(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a?b=c.gguf")
	err := os.WriteFile(file, nil, 0o644)
	if err != nil {
		t.Skip("no such names here: ", err)
	}
	args := []string{"https://u:s\"e\tc@h/m?token=ü\u202e", file}
	var b bytes.Buffer
	out := Redacting(&b, args)
	fmt.Fprintf(out, "%s, %q, %s, %s\n", args[0], args[0], Printable(args[0]), file)
	expect.Equal(t, fmt.Sprintf("https://h/m, \"https://h/m\", https://h/m, %s\n", file), b.String())
	if plain := Redacting(&b, args[1:]); plain != any(&b) {
		t.Error("without credentials the writer is another one")
	}
}
