package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a field of bytes: those of text, or messages in it.
func message(num protowire.Number, parts ...string) string {
	return string(protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), strings.Join(parts, "")))
}

// TestNative: what only ONNX has is shown, compared, copied, and lost elsewhere only if told so.
func TestNative(t *testing.T) {
	dir := t.TempDir()
	in, out, other := filepath.Join(dir, "in.onnx"), filepath.Join(dir, "out.onnx"), filepath.Join(dir, "out.wia")
	graph := message(1, message(1, "x"), message(2, "y"), message(4, "Twice"), message(7, "mine"), message(6, "doc")) + message(2, "g") + message(11, message(1, "x")) + message(12, message(1, "y"))
	function := message(25, message(1, "Twice"), message(4, "a"), message(5, "b"), message(7, message(1, "a"), message(1, "a"), message(2, "b"), message(4, "Add")), message(10, "mine"))
	model := "\x08\x08" + message(8, "\x10\x11") + message(8, message(1, "mine"), "\x10\x01") + message(7, graph) + function
	must(t, os.WriteFile(in, []byte(model), 0o666))
	text, _ := tool(t, 0, "inspect", in)
	contains(t, text, "only onnx doc_string: 1, 5 bytes\nonly onnx functions: 1, 38 bytes\n")
	text, _ = tool(t, 0, "inspect", "-json", in)
	contains(t, text, `"kind": "functions"`)
	tool(t, 0, "convert", in, out)
	tool(t, 0, "diff", in, out)
	tool(t, 0, "set", in, out, "k=v")
	if text, _ = tool(t, 1, "diff", in, out); strings.Contains(text, "only the format") {
		t.Error(text)
	}
	_, errs := tool(t, 1, "convert", in, other)
	contains(t, errs, "native:functions would be lost: only onnx has it (1, 38 bytes)")
	tool(t, 0, "convert", "-lossy", in, other)
	text, _ = tool(t, 1, "diff", in, other)
	contains(t, text, "  - onnx functions: 1, 38 bytes, sha256 ")
	must(t, os.WriteFile(out, []byte(strings.Replace(model, "\x03Add", "\x03Mul", 1)), 0o666))
	text, _ = tool(t, 1, "diff", in, out)
	contains(t, text, "what only the format has differs")
}
