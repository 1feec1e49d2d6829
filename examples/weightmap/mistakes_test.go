package main

import (
	"os"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
)

// TestMistakes: after a mistake with one answer, the line after the error is that answer, and it
// works. After others it is the usage, or there is none.
func TestMistakes(t *testing.T) {
	const (
		shards = "shards-safetensors/model-00001-of-00002.safetensors shards-safetensors/model-00002-of-00002.safetensors"
		parts  = "shards-gguf/plain-00001-of-00002.gguf shards-gguf/plain-00002-of-00002.gguf"
	)
	for _, tt := range []struct {
		line, says, then string // then is the second line, without "weightmap"; "usage" for the usage
	}{
		{"head m.mag", `unknown command or file "head"`, "try: inspect m.mag"},
		{"info", `unknown command or file "info"`, "try: help inspect"},
		{"hash m.mag", `unknown command or file "hash"`, "try: inspect -digest m.mag"},
		{"names m.mag", `unknown command or file "names"`, "try: cat m.mag"},

		{"inspect M.MAG", "M.MAG: no such file or directory; did you mean m.mag?", "try: inspect m.mag"},
		{"verify plain.safetensor", "did you mean plain.safetensors?", "try: verify plain.safetensors"},
		{"diff plan.safetensors plain.safetensors", "did you mean plain.safetensors?", "try: diff plain.safetensors plain.safetensors"},
		{"convert plian.safetensors o.gguf", "did you mean plain.safetensors?", "try: convert plain.safetensors o.gguf"},
		{"inspect locked", "did you mean locked.mle or locked.wia?", ""},
		{"inspect nodir/m.mag", "nodir/m.mag: no such file or directory\n", ""},
		{"inspect model/weights", "did you mean model/weights.bin?", "try: inspect model/weights.bin"},
		{"inspect org/name", "hf://org/name opens it from the Hugging Face Hub", "try: inspect hf://org/name"},
		{"inspect huggingface.co/org/name", "hf://org/name opens it", "try: inspect hf://org/name"},
		{"bench two", "several models", "try: bench two/a.gguf"},

		{"inspect -html m.mag page.html", "-o names the page", "try: inspect -o page.html m.mag"},
		{"inspect -o page.html -stats m.mag", "an HTML page shows one FILE, without -json, -stats and -digest", "usage"},
		{"cat m.mag la*", `tensor "la*": not found`, "try: inspect -filter 'la*' m.mag"},

		{"convert plain.safetensors gguf", `cannot tell the format from "gguf"`, "try: convert plain.safetensors plain.gguf"},
		{"convert m.mag mag", `cannot tell the format from "mag"`, "try: convert m.mag m-new.mag"},
		{"convert plain.safetensors -to gguf", "OUT is missing", "try: convert -to gguf plain.safetensors plain.gguf"},
		{"convert -to plain.safetensors o.gguf", `-to takes gguf, mag, `, "try: convert plain.safetensors o.gguf"},
		{"convert plain.safetensors", "OUT is missing", "usage"},
		{"convert m.mag o.tflite", `cannot tell the format from "o.tflite"`, "another format holds it: convert m.mag o.mag"},
		{"convert m.mag o", `cannot tell the format from "o"`, "try: convert -to mag m.mag o"},
		{"convert -to PyTorch m.mag o", "torch files can be read but not written", "another format holds it: convert -to safetensors m.mag o"},
		{"convert -compress rar m.mag o.mag", `-compress takes gzip, zstd, lz4, brotli, not "rar"`, "usage"},
		{"convert -encrypt @key.hex plain.safetensors o.gguf", "-encrypt: gguf has no encryption", "another format holds it: convert -encrypt @key.hex plain.safetensors o.wia"},
		{"convert -sign ed.pem plain.safetensors o.gguf", "-sign: gguf has no signatures", "another format holds it: convert -sign ed.pem plain.safetensors o.mle"},
		{"convert -sign ec.pem plain.safetensors o.mle", "MLE files need an Ed25519 key, not an ECDSA key", "try: keygen -type ed25519 key.pem pub.pem"},
		{"merge " + shards + " o.safetensors", "merge takes IN and OUT, not 3 files", "try: merge shards-safetensors/model.safetensors.index.json o.safetensors"},
		{"convert " + parts + " o.npz", "convert takes IN and OUT, not 3 files", "try: convert shards-gguf/plain-00001-of-00002.gguf o.npz"},
		{"merge " + parts + " m.mag o.npz", "merge takes IN and OUT, not 4 files", "usage"},

		{"set author=Ada plain.safetensors", "IN and OUT come before KEY=VALUE, and OUT is missing; it may be IN", "try: set plain.safetensors plain.safetensors author=Ada"},
		{"set author=Ada plain.safetensors o.safetensors", "IN and OUT come before KEY=VALUE\n", "try: set plain.safetensors o.safetensors author=Ada"},
		{"set plain.safetensors o.safetensors author Ada", `"author" is not KEY=VALUE`, "try: set plain.safetensors o.safetensors author=Ada"},
		{"set plain.safetensors o.safetensors author:Ada", `"author:Ada" is not KEY=VALUE`, "try: set plain.safetensors o.safetensors author=Ada"},
		{"set plain.safetensors o.safetensors author", `"author" is not KEY=VALUE`, "usage"},

		{"sign -with ec.pem plain.safetensors", "safetensors files have no signature", "try: sign -with ec.pem -signature plain.safetensors.sig plain.safetensors"},
		{"sign -with ed.pem plain.safetensors", "safetensors files have no signature", "try: keygen -type ecdsa key.pem pub.pem"},
		{"sign -with ed.pem net.wia", "net.wia: WIA files need an RSA key or an ECDSA key on P-256", "try: keygen -type ecdsa key.pem pub.pem"},
		{"sign -with ed.pub m.mle", "-with: ed.pub is a public key: name the file of the private key", ""},
		{"verify -trust ec.pem net.wia", "-trust: ec.pem is a private key: name the file of the public key", ""},
		{"verify -trust ec.pub two/a.gguf", "the format has no signatures", "try: verify -signature two/model.sig -trust ec.pub two"},
		{"verify -trust ec.pub two", "several models", "try: verify two/a.gguf"},
		{"verify -signature model.sig -trust ed.pub model", "-trust: ed.pub: wrong or missing key: signing a model needs an ECDSA key", ""},
		{"verify -key key.hex locked.mle", "-key: this is the name of a file: @ before it reads the key from the file", ""},
		{"keygen -type ec a.pem a.pub", `-type takes ed25519, ecdsa or rsa, not "ec"; did you mean ecdsa?`, "usage"},
	} {
		t.Run(strings.ReplaceAll(tt.line, "/", "_"), func(t *testing.T) {
			t.Chdir(t.TempDir())
			newcomer(t)
			workshop(t)
			writeText(t, "key.hex", strings.Repeat("00", 32)+"\n")
			expect.OK(t, os.MkdirAll("two", 0o755))
			tool(t, 0, "convert", "plain.safetensors", "two/a.gguf")
			tool(t, 0, "convert", "plain.safetensors", "two/b.gguf")
			tool(t, 0, "sign", "-with", "ec.pem", "-signature", "two/model.sig", "two")
			expect.OK(t, os.MkdirAll("page", 0o755))
			before := listing(t, ".")

			status := 2
			if !strings.HasPrefix(tt.then, "usage") {
				status = -1 // either
			}
			out, errs := anyStatus(t, status, strings.Fields(tt.line)...)
			first, then, _ := strings.Cut(errs, "\n")
			if out != "" || !strings.Contains(first+"\n", tt.says) {
				t.Errorf("%q, %q", out, errs)
			}
			expect.Equal(t, before, listing(t, "."))
			then = strings.TrimSuffix(then, "\n")
			if tt.then == "usage" {
				word, _, _ := strings.Cut(tt.line, " ")
				if !strings.HasPrefix(then, "usage: weightmap "+word+" ") || strings.Contains(then, "\n") {
					t.Errorf("then: %s", then)
				}
				return
			}
			expect.Equal(t, tt.then, strings.Replace(then, "weightmap ", "", 1))
			_, answer, _ := strings.Cut(then, "weightmap ")
			if answer == "" || strings.Contains(answer, "hf://") || strings.Contains(answer, "weights.bin") {
				return
			}
			tool(t, 0, strings.Fields(strings.ReplaceAll(answer, "'", ""))...)
		})
	}
}

// anyStatus is tool for a command that fails with the status, or with any for -1.
func anyStatus(t *testing.T, status int, args ...string) (out, errs string) {
	t.Helper()
	var o, e strings.Builder
	got := run(t.Context(), args, &o, &e)
	if got == 0 || status >= 0 && got != status {
		t.Errorf("%q: status %d\n%s", args, got, &e)
	}
	return o.String(), e.String()
}

// TestOutputNames: the name of the output chooses its form, unless an option does.
func TestOutputNames(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "", "m.safetensors", schema.Schema{}, matrix("w"))
	for _, tt := range []struct{ line, file, begins string }{
		{"inspect -o p.html m.safetensors", "p.html", "<!doctype html>"},
		{"inspect -o p.HTM m.safetensors", "p.HTM", "<!doctype html>"},
		{"inspect -o p.json m.safetensors", "p.json", "{\n \"path\""},
		{"inspect -json -o q.html m.safetensors", "q.html", "{\n \"path\""},
		{"inspect -o p.txt m.safetensors", "p.txt", "m.safetensors: safetensors 1"},
		{"cat -o w.npy m.safetensors w", "w.npy", "\x93NUMPY"},
		{"cat -o w.csv m.safetensors w", "w.csv", "1,2\n"},
		{"cat -o w.bin m.safetensors w", "w.bin", "\x00\x00\x80\x3f"},
		{"cat -o w.txt m.safetensors w", "w.txt", "1 2\n"},
		{"cat -as csv -o v.npy m.safetensors w", "v.npy", "1,2\n"},
	} {
		out, errs := tool(t, 0, strings.Fields(tt.line)...)
		if got := string(expect.Read(t, tt.file)); !strings.HasPrefix(got, tt.begins) || out+errs != "" {
			t.Errorf("%s: %.30q, %q", tt.line, got, out+errs)
		}
	}
}
