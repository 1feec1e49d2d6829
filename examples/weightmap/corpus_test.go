package main

import (
	"bytes"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/testhost"
)

// TestVerifyCorpora runs verify over the corpora of all formats: the exit status is that
// of the index, and a refusal is one line with format, field and offset.
func TestVerifyCorpora(t *testing.T) {
	for _, dir := range []string{
		"mobi", "mag", "tsr", "mle", "wia", "format/safetensors", "format/gguf", "format/npy/npy", "format/npy/npz", "format/onnx",
	} {
		kind, sub := filepath.Base(dir), ""
		if strings.HasPrefix(dir, "format/npy/") {
			dir, sub = "format/npy", kind
		}
		root := filepath.Join("..", "..", filepath.FromSlash(dir), "testdata", "corpus", sub)
		t.Run(kind, func(t *testing.T) {
			root := testhost.RoundedCopy(t, root)
			for _, l := range corpus.Read(t, root) {
				t.Run(l.File, func(t *testing.T) { verifyLine(t, kind, root, l) })
			}
		})
	}
}

func verifyLine(t *testing.T, kind, root string, l corpus.Line) {
	path := filepath.Join(root, filepath.FromSlash(l.File))
	args := []string{"verify"}
	if l.Key != "" {
		args = append(args, "-key", l.Key)
	}
	if l.Trust != "" {
		args = append(args, "-trust", trusted(t, l.Trust))
	}
	var out, errs bytes.Buffer
	status := run(t.Context(), append(args, path), &out, &errs)
	if l.Want == "ok" {
		if status != 0 || errs.Len() > 0 || !strings.HasPrefix(out.String(), path+": ok") || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("status %d, output %q, errors %q", status, &out, &errs)
		}
		return
	}
	line := errs.String()
	if status != 1 || out.Len() > 0 || strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
		t.Errorf("status %d, output %q, errors %q", status, &out, line)
	}
	if kind == "tsr" && l.Field == "directory" { // which is of no format without a member
		contains(t, line, "unknown format: the directory has no model")
		return
	}
	if b, err := os.ReadFile(path); err == nil && (claimedBy(b) != kind || l.Want == "ErrUnknownFormat") {
		// No format claims it: the tool says so, or what else the file is.
		if !strings.Contains(line, "unknown format") && !strings.Contains(line, ": this is ") {
			t.Errorf("%q does not say that the format is unknown", line)
		}
		return
	}
	want := []string{kind + ": ", ": " + clipped(l.Field)}
	if *l.Offset >= 0 {
		want = append(want, fmt.Sprintf("at 0x%x: ", *l.Offset))
	}
	for _, part := range want {
		contains(t, line, part)
	}
}

// claimedBy returns the format that claims a file by its beginning.
func claimedBy(b []byte) string {
	name, err := format.Detect(b, int64(len(b)))
	if err != nil {
		return ""
	}
	return name
}

// clipped is a field as it is printed: what is long loses its middle.
func clipped(field string) string {
	if len(field) > 200 {
		return field[:200]
	}
	return field
}

// trusted writes a public key, which an index has as hexadecimal DER.
func trusted(t *testing.T, text string) string {
	t.Helper()
	der, err := hex.DecodeString(text)
	must(t, err)
	path := filepath.Join(t.TempDir(), "trusted.pem")
	must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o666))
	return path
}
