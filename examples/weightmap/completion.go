package main

import (
	"context"
	_ "embed"
	"io"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/inspect"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/examples/weightmap/internal/write"
	"github.com/weightmap/weightmap/format"
)

var (
	//go:embed completion/weightmap.bash
	bashScript string
	//go:embed completion/weightmap.zsh
	zshScript string
	//go:embed completion/weightmap.fish
	fishScript string
)

var completionCommand = &modelfile.Command{Tool: cli.Tool{
	Name: "weightmap completion", Args: "bash|zsh|fish",
	About: "Print a script that completes commands, options, their values, files and tensors.",
	Details: "  bash  source <(weightmap completion bash)    in ~/.bashrc\n" +
		"  zsh   source <(weightmap completion zsh)     in ~/.zshrc, behind compinit\n" +
		"  fish  weightmap completion fish | source     in ~/.config/fish/config.fish\n",
	Example: "weightmap completion fish | source",
}, Run: completion}

// completion prints the completion script of a shell, or the candidates that the script requests.
func completion(ctx context.Context, c *cli.Tool, args []string, out, _ io.Writer) error {
	f := c.Flags()
	asked := f.Bool("complete", false, "print what the last argument may become, for the scripts")
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	if *asked {
		_, err := io.WriteString(out, candidates(ctx, f.Args()))
		return err
	}
	script, ok := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[f.Arg(0)]
	if !ok || f.NArg() != 1 {
		return c.Usagef("completion takes bash, zsh or fish")
	}
	_, err := io.WriteString(out, script)
	return err
}

// candidate is a possible word with a description.
type candidate struct{ word, about string }

// candidates returns "files" if the last word is a file name, or else "words" and a line per
// candidate: the word, a tab and the description.
func candidates(ctx context.Context, words []string) string {
	if len(words) == 0 {
		words = []string{""}
	}
	all, files := complete(ctx, words)
	if files {
		return "files\n"
	}
	text := "words\n"
	for _, c := range all {
		// Leave out names with line breaks, which cannot be passed to a shell.
		if strings.HasPrefix(c.word, words[len(words)-1]) && cli.Printable(c.word) == c.word {
			text += strings.TrimSuffix(c.word+"\t"+c.about, "\t") + "\n"
		}
	}
	return text
}

// complete returns the candidates for the last word.
func complete(ctx context.Context, words []string) (all []candidate, files bool) {
	if len(words) == 1 {
		return commandNames(), false
	}
	i := slices.IndexFunc(commands, func(c *modelfile.Command) bool { return c.Word() == words[0] })
	if i < 0 {
		return nil, true
	}
	line := commands[i].Read(words[1:len(words)-1],
		func(t *cli.Tool) { _ = commands[i].Run(ctx, t, []string{"-help"}, io.Discard, io.Discard) })
	switch name := commands[i].Word(); {
	case line.Value != nil:
		return valuesOf(name, line.Value)
	case strings.HasPrefix(words[len(words)-1], "-") && !line.Ended:
		for _, o := range line.Options {
			all = append(all, candidate{"-" + o.Name, o.About})
		}
		return all, false
	case name == "help":
		return commandNames(), false
	case name == "completion":
		return []candidate{{"bash", ""}, {"fish", ""}, {"zsh", ""}}, false
	case name == "cat" && len(line.Others) == 1:
		return tensorNames(ctx, line.Others[0]), false
	}
	return nil, true
}

func commandNames() (all []candidate) {
	for _, c := range commands {
		all = append(all, candidate{c.Word(), c.About})
	}
	return all
}

// valuesOf returns the values of an option, if they are known.
func valuesOf(command string, o *cli.Option) (all []candidate, files bool) {
	var words []string
	switch o.Name {
	case "to":
		words = format.Names()
	case "dtype":
		words = strings.Split(write.Choices(write.FloatTypes), ", ")
	case "quantize":
		words = write.Kinds
	case "compress":
		words = write.Compressions
	case "as":
		words = []string{"csv", "npy", "raw", "text"}
	case "type":
		words = []string{"ecdsa", "ed25519", "rsa"}
	}
	for _, w := range words {
		all = append(all, candidate{w, ""})
	}
	return all, slices.Contains([]string{"FILE", "OUT", "KEY.pem", "PUB.pem"}, o.Value)
}

// mostCompleted is the memory that a file may take to open while the user waits for the shell.
const mostCompleted = 16 << 20

// tensorNames returns the tensors of a file, or nothing if it does not open, or is large to open.
func tensorNames(ctx context.Context, path string) (all []candidate) {
	if path == modelfile.StandardInput || modelfile.IsAddress(path) { // standard input belongs to the shell; an address is too slow
		return nil
	}
	o := &format.Options{Context: ctx, Check: format.CheckStructure, MaxMemory: mostCompleted}
	opened, err := modelfile.OpenModel(path, o)
	if err != nil {
		return nil
	}
	defer opened.Close()
	for name, v := range modelfile.Named(opened).Tensors() {
		all = append(all, candidate{name, inspect.TensorType(v)})
	}
	return all
}
