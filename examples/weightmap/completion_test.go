package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
)

// completions are command lines, and the words that the last of theirs may become, "files" for
// those that shells know. The current directory has a model.
var completions = []struct {
	name  string
	words []string
	want  []string
}{
	{"a command", []string{"con"}, []string{"convert"}},
	{"no command", []string{"x"}, nil},
	{"an option", []string{"convert", "m.mag", "-dt"}, []string{"-dtype"}},
	{"a format", []string{"convert", "m.mag", "-to", "m"}, []string{"mag", "mle", "mobi"}},
	{"a dtype", []string{"convert", "-dtype", "float6"}, []string{"float64"}},
	{"what to quantize to", []string{"convert", "--quantize", "int"}, []string{"int8", "int16"}},
	{"a compression", []string{"convert", "-compress", "z"}, []string{"zstd"}},
	{"a form", []string{"cat", "-as", ""}, []string{"csv", "npy", "raw", "text"}},
	{"a kind of key", []string{"keygen", "-type", "e"}, []string{"ecdsa", "ed25519"}},
	{"a number", []string{"bench", "-rounds", ""}, nil},
	{"help of a command", []string{"help", "ver"}, []string{"verify", "version"}},
	{"a shell", []string{"completion", "z"}, []string{"zsh"}},
	{"a file", []string{"inspect", ""}, []string{"files"}},
	{"a key", []string{"sign", "-with", "k"}, []string{"files"}},
	{"no option", []string{"inspect", "--", "-"}, []string{"files"}},
	{"a tensor", []string{"cat", "m.mag", "fc."}, []string{"fc.weight", "fc.bias"}},
	{"a tensor behind options", []string{"cat", "-as", "csv", "m.mag", "-slice", "0", "fc.w"}, []string{"fc.weight"}},
	{"a tensor with blanks", []string{"cat", "m.mag", "$("}, []string{"$(touch it) 'x'"}},
	{"a tensor of no model", []string{"cat", "none.mag", ""}, nil},
}

// completed goes to a directory with the model, and skips where there is no such shell.
func completed(t *testing.T, shell string) {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		t.Skip(err)
	}
	path := save(t, "m.mag", schema.Schema{}, floats("fc.weight", 1), floats("fc.bias", 1), floats("$(touch it) 'x'", 1), floats("a\nb", 1))
	inPath(t)
	content := expect.Read(t, path)
	t.Chdir(t.TempDir())
	expect.OK(t, os.WriteFile("m.mag", content, 0o666))
}

// script runs a script of a shell.
func script(t *testing.T, text, shell string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), shell, append(args, text)...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// quote makes a word of a POSIX shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// TestCompletionBash runs the function that bash calls.
func TestCompletionBash(t *testing.T) {
	completed(t, "bash")
	var text strings.Builder
	text.WriteString("source <(weightmap completion bash); complete -p weightmap\n")
	want := "complete -o default -F _weightmap weightmap\n"
	for _, c := range completions {
		text.WriteString("COMP_WORDS=(weightmap")
		for _, w := range c.words {
			text.WriteString(" " + quote(w))
		}
		fmt.Fprintf(&text, "); COMP_CWORD=%d; _weightmap; for w in \"${COMPREPLY[@]}\"; do eval \"printf '<%%s>\\n' $w\"; done; echo\n", len(c.words))
		for _, w := range c.want {
			if w != "files" { // which bash completes
				want += "<" + w + ">\n"
			}
		}
		want += "\n"
	}
	expect.Equal(t, want, script(t, text.String(), "bash", "--norc", "-c"))
}

// TestCompletionZsh runs the function that zsh calls, with what it would call in turn replaced.
func TestCompletionZsh(t *testing.T) {
	completed(t, "zsh")
	var text, want strings.Builder
	text.WriteString("autoload -Uz compinit; compinit -D -u; source <(weightmap completion zsh)\n" +
		"compadd() { printf '<%s>\\n' \"${(@P)argv[-1]}\" }\n_files() { print '<files>' }\nprint $_comps[weightmap]\n")
	want.WriteString("_weightmap\n")
	for _, c := range completions {
		text.WriteString("words=(weightmap")
		for _, w := range c.words {
			text.WriteString(" " + quote(quote(w)))
		}
		fmt.Fprintf(&text, "); CURRENT=%d; _weightmap; print\n", len(c.words)+1)
		for _, w := range c.want {
			want.WriteString("<" + w + ">\n")
		}
		if len(c.want) == 0 {
			want.WriteString("<>\n")
		}
		want.WriteString("\n")
	}
	expect.Equal(t, want.String(), script(t, text.String(), "zsh", "-f", "-c"))
}

// TestCompletionFish has fish complete command lines.
func TestCompletionFish(t *testing.T) {
	completed(t, "fish")
	t.Setenv("HOME", t.TempDir())
	for _, c := range completions {
		line := "weightmap"
		for i, w := range c.words {
			if i < len(c.words)-1 {
				w = quote(w)
			} else {
				w = strings.NewReplacer("$", `\$`, "(", `\(`).Replace(w)
			}
			line += " " + w
		}
		out := script(t, "weightmap completion fish | source; complete -C "+fishQuote(line), "fish", "--no-config", "-c")
		got := map[string]bool{}
		for l := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSpace(l), "\t")
			got[word] = true
		}
		want := map[string]bool{}
		for _, w := range c.want {
			if w == "files" && !strings.HasPrefix("m.mag", c.words[len(c.words)-1]) {
				continue
			} else if w == "files" {
				w = "m.mag"
			}
			want[w] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", c.name, line, diff)
		}
	}
}

// fishQuote makes a word of fish.
func fishQuote(word string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(word) + "'"
}

// TestCompletionWords: what the scripts call.
func TestCompletionWords(t *testing.T) {
	out, _ := tool(t, 0, "completion", "-complete")
	contains(t, out, "words\ninspect\t")
	out, _ = tool(t, 0, "completion", "-complete", "--", "cat", "-", "")
	expect.Equal(t, "words\n", out)
}

// TestCompletionOpensNothingLarge: a file whose structure takes long to read has no names for the shell.
func TestCompletionOpensNothingLarge(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "", "small.safetensors", schema.Schema{}, floats("first", 1))
	large := expect.Read(t, "small.safetensors")
	length := binary.LittleEndian.Uint64(large)
	padded := binary.LittleEndian.AppendUint64(nil, length+mostCompleted)
	padded = append(append(padded, large[8:8+length]...), bytes.Repeat([]byte{' '}, mostCompleted)...)
	expect.OK(t, os.WriteFile("large.safetensors", append(padded, large[8+length:]...), 0o666))
	tool(t, 0, "inspect", "large.safetensors")
	for path, want := range map[string]string{"small.safetensors": "words\nfirst\tfloat32[1]\n", "large.safetensors": "words\n"} {
		out, _ := tool(t, 0, "completion", "-complete", "--", "cat", path, "")
		expect.Equal(t, want, out)
	}
}
