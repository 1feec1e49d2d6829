// Command weightmap inspects, verifies, compares, converts, changes and signs model files
// of every format the library knows.
//
//	weightmap help [COMMAND]
//	weightmap FILE...       is weightmap inspect FILE...
//
// Options may be before, between and after files; -- ends them. -o FILE replaces OUT, and
// -max-memory SIZE limits the memory that an opened file may use. Exit status: 0 success, 1 a file
// is invalid, differs or cannot be converted, 2 wrong usage, 130 interrupted. Errors go to standard
// error, one line each, with format, field and offset. Another line has the usage, or a command
// line that works. HEX is 64 digits, or @FILE for a file with them, because other users can see
// command lines.
//
// # inspect -json
//
// The output is an object, stable for scripts; for several files, one object per line:
//
//	{"path": "m.mag", "format": "mag", "version": "1", "file_size": 2624,
//	 "files": [{"path": "m.mag", "size": 2624}], "metadata": {...},
//	 "tensors": [{"name": "w", "dtype": "float32", "shape": [3,3], "offset": 128, "bytes": 36, "stored_bytes": 36,
//	              "compression": "", "zero_copy": true,
//	              "quantization": {"scheme": "linear", "axis": -1, "scales": 1, "zero_points": 0},
//	              "sha256": "<hex of the decoded little-endian bytes>",
//	              "stats": {"min": -1, "max": 2, "mean": 0.5, "zeros": 0, "nan": 0, "infinite": 0}}],
//	 "graph": {"name": "", "inputs": [{"name": "x", "dtype": "float32", "shape": [1,784]}], "outputs": [...],
//	           "nodes": [{"name": "", "op": "Conv2D", "inputs": ["x","1"], "outputs": ["2"], "attributes": {}}]},
//	 "signature": {"algorithm": "Ed25519", "fingerprint": "<SHA-256 of the key>", "time": "2024-02-29T23:59:58Z"},
//	 "notes": ["header checksum not recorded"]}
//
// Tensors are in file order. "file_size" is the size of all "files": a file of external data that
// is missing has size -1. "offset" is the offset of the data in its file, or -1 if the data is
// compressed or encrypted. Tensors of a model of several files have "file" before it, the index of
// theirs in "files". "id" is the number of a tensor in a MOBI file that stores the original names;
// it is absent elsewhere. "quantization" is absent for plain tensors, "sha256" and "stats" unless
// requested. "part": {"index": 1, "count": 2} after "file_size" is present if the file is a part of
// a model whose other parts are not there. "digest" after it is present with -digest: the
// hexadecimal digest of all tensors that package format/digest describes. With -no-arrays an array
// in the metadata becomes {"type": "string", "length": 32000}. "docs" are the doc strings and
// properties of a WIA or ONNX file, {"path": "graph.nodes[0]", "name": "conv", "text": "...",
// "properties": {...}}; it is absent if there are none. "graph" and "signature" are null if there is none. A
// signature that the key in the file did not make has "error", and the status is 1; others have not
// been compared with the data.
//
// # verify -json and diff -json
//
// verify prints one object per file, on a line each. "uncovered" are the bytes that no checksum
// covers, "file" the index of theirs among the files of the model; "error" is present if "ok" is
// false, and the other fields as far as the file opened:
//
//	{"path": "m.mag", "ok": true, "format": "mag", "version": "1", "file_size": 2624, "tensors": 15,
//	 "sections": [{"name": "header", "by": "crc32"}], "uncovered": [{"file": 0, "offset": 0, "bytes": 8, "part": "header"}], "notes": []}
//
// diff prints one object. "tensors" are those that differ, the largest "nmse" first, with the
// numbers of "values" if values were compared; "saturated_a" and "saturated_b" are present for
// quantized integers. "layers" is absent for layers of one tensor. "a" and "b" of the others are
// the lines that only A or only B has:
//
//	{"a": "a.mag", "b": "b.gguf", "equal": false,
//	 "tensors": [{"name": "w", "differs": "data", "a": "float32[3,3]", "b": "float32[3,3]",
//	              "values": {"differ": 2, "count": 9, "nan": 0, "max": 0.5, "mean": 0.1, "cosine": 0.99, "nmse": 0.01, "saturated_b": 1}}],
//	 "layers": [{"name": "encoder.0", "tensors": 2, "values": {...}}],
//	 "equal_bits": 0, "digest_a": "<with -digest>", "digest_b": "<with -digest>", "metadata": {"a": ["epoch = 7"], "b": []}, "graph": {"a": [], "b": []},
//	 "docs": {"a": [], "b": []}, "native": {"a": [], "b": []}}
package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/compare"
	"github.com/weightmap/weightmap/examples/weightmap/internal/inspect"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/examples/weightmap/internal/sign"
	"github.com/weightmap/weightmap/examples/weightmap/internal/write"
	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
)

func main() { cli.Main(run) }

var commands = []*modelfile.Command{
	inspect.Inspect,
	sign.Verify,
	write.Convert,
	write.Split,
	write.Merge,
	compare.Diff,
	inspect.Cat,
	write.Set,
	sign.Sign,
	sign.Keygen,
	benchCommand,
	versionCommand,
}

func init() { commands = append(commands, completionCommand, helpCommand) } // separate, since they list the commands

var helpCommand = &modelfile.Command{Tool: cli.Tool{
	Name: "weightmap help", Args: "[COMMAND]",
	About:   "Explain a command, or list all.",
	Example: "weightmap help convert",
}, Run: help}

// help prints the help of a command or of the program.
func help(ctx context.Context, c *cli.Tool, args []string, out, errs io.Writer) error {
	f := c.Flags()
	if err := c.Parse(f, args, out); err != nil {
		return err
	}
	switch f.NArg() {
	case 0:
		return program().Parse(program().Flags(), []string{"-help"}, out)
	case 1:
		asked, err := find(c, f.Arg(0))
		if err != nil {
			return err
		}
		return asked.Run(ctx, &asked.Tool, []string{"-help"}, out, errs)
	}
	return c.Usagef("help takes one COMMAND")
}

// find returns the command called name.
func find(c *cli.Tool, name string) (*modelfile.Command, error) {
	for _, command := range commands {
		if command.Word() == name {
			return command, nil
		}
	}
	return nil, c.Usagef("unknown command %q%s", name, cli.DidYouMean(name, "", allCommands()))
}

// otherNames maps names that people try to commands.
var otherNames = map[string]string{
	"info": "inspect", "show": "inspect", "ls": "inspect", "list": "inspect", "view": "inspect",
	"open": "inspect", "head": "inspect", "metadata": "inspect", "meta": "inspect",
	"stats": "inspect -stats", "html": "inspect -html", "hash": "inspect -digest",
	"digest": "inspect -digest", "sha256": "inspect -json -sha256",
	"dump": "cat", "print": "cat", "get": "cat", "extract": "cat",
	"tensors": "cat", "names": "cat", "keys": "cat",
	"check": "verify", "validate": "verify", "test": "verify",
	"compare": "diff", "cmp": "diff",
	"copy": "convert", "cp": "convert", "export": "convert", "quantize": "convert -quantize int8",
	"join": "merge", "shard": "split", "edit": "set", "key": "keygen", "benchmark": "bench",
}

// misplaced returns advice for a command line that does not begin with a command: one with another
// name, or options or files before the command.
func misplaced(args []string) string {
	known := func(name string) bool {
		_, err := find(program(), name)
		return err == nil && !modelfile.Exists(name)
	}
	first := args[0]
	switch {
	case first == "-v" || first == "-V":
		return modelfile.TryWords([]string{"version"})
	case otherNames[first] != "" && len(args) == 1:
		return modelfile.TryWords([]string{"help", strings.Fields(otherNames[first])[0]})
	case otherNames[first] != "":
		return modelfile.TryWords(append(strings.Fields(otherNames[first]), args[1:]...))
	}
	for i, arg := range args[1:] {
		if known(arg) {
			return modelfile.TryWords(slices.Concat([]string{arg}, args[:i+1], args[i+2:]))
		}
	}
	if strings.HasPrefix(first, "-") {
		if slices.ContainsFunc(args[1:], modelfile.Exists) {
			return modelfile.TryWords(append([]string{"inspect"}, args...))
		}
		return ""
	}
	near := cli.Nearest(first, allCommands())
	if len(near) > 0 {
		return modelfile.TryWords(append([]string{near[0]}, args[1:]...))
	}
	return ""
}

func allCommands() (names []string) {
	for _, c := range commands {
		names = append(names, c.Word())
	}
	return names
}

// program returns the help of the program.
func program() *cli.Tool {
	var names []string
	t := &cli.Tool{
		About:   "Inspect, verify, compare and convert model files.",
		Example: "weightmap inspect model.mag",
	}
	for _, c := range commands {
		names = append(names, c.Word())
		t.Details += fmt.Sprintf("  %-10s %s\n", c.Word(), c.About)
	}
	t.Name = "weightmap"
	t.Args = strings.Join(names, "|") + " [arguments]"
	t.Details += "\nFormats: " + strings.Join(format.Names(), ", ") + "\n" +
		"\n\"weightmap help COMMAND\" explains a command. \"weightmap FILE\" inspects a file.\n" +
		"Options may stand before, between and after files, and -- ends them.\n" +
		"Exit status: 0 success, 1 a file is invalid, differs or cannot be converted, 2 wrong usage,\n" +
		"130 interrupted.\n"
	return t
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	t := program()
	if len(args) == 0 {
		return t.Status(t.Usagef("no command; weightmap help explains the commands"), errs)
	}
	name := args[0]
	switch name {
	case "-h", "-help", "--help":
		name = "help"
	case "-version", "--version":
		name = "version"
	}
	if strings.HasPrefix(name, "-") {
		err := t.Usagef("options follow the command: %s", name)
		return t.Status(cli.Advised(err, misplaced(args)), errs)
	}
	c, err := find(t, name)
	if err != nil && (modelfile.Exists(name) || namesModel(name)) {
		if len(args) == 2 && !modelfile.Exists(args[1]) {
			_, commandErr := find(t, args[1])
			if commandErr == nil {
				return t.Status(cli.Advised(t.Usagef("files follow the command: %s", name), misplaced(args)),
					errs)
			}
		}
		c, err = find(t, "inspect")
		args = append([]string{""}, args...)
	}
	if err != nil {
		err := t.Usagef("unknown command or file %q%s", name, cli.DidYouMean(name, "", allCommands()))
		return t.Status(cli.Advised(err, misplaced(args)), errs)
	}
	args = args[1:]
	err = c.Run(ctx, &c.Tool, args, out, errs)
	return c.Status(modelfile.Corrected(c.Word(), args, err), errs)
}

// namesModel reports whether an argument is the name of a model rather than a command.
func namesModel(arg string) bool {
	return modelfile.FormatOf(arg) != "" || strings.ContainsAny(arg, "/\\")
}
