package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// model writes a model of a float32 matrix "w" and an int32 scalar-like vector
// "labels" and returns its path.
func model(t *testing.T, kind, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	plan := &format.Plan{Tensors: []tensor.Info{
		{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{2, 2}},
		{Name: "labels", DType: tensor.Int32, Shape: tensor.Shape{1}},
	}}
	if kind == "mag" {
		plan.Metadata = format.Metadata{{Key: "epoch", Value: int64(7)}, {Key: "loss", Value: 0.25}}
	}
	w, err := format.Create(kind, path, plan, nil)
	must(t, err)
	defer w.Abort()
	for name, data := range map[string][]byte{"w": matrix, "labels": {9, 0, 0, 0}} {
		must(t, w.WriteTensor(name, bytes.NewReader(data)))
	}
	must(t, w.Close())
	return path
}

// matrix is 1, 2, 3, 4 as little-endian float32.
var matrix = []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40}

// damaged writes a copy of the file with one bit changed.
func damaged(t *testing.T, path string, at int) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	b[at] ^= 1
	bad := filepath.Join(t.TempDir(), "bad"+filepath.Ext(path))
	must(t, os.WriteFile(bad, b, 0o666))
	return bad
}

func publicKey(t *testing.T) string {
	t.Helper()
	pub, _, err := ed25519.GenerateKey(nil)
	must(t, err)
	der, err := x509.MarshalPKIXPublicKey(pub)
	must(t, err)
	path := filepath.Join(t.TempDir(), "pub.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	must(t, os.WriteFile(path, text, 0o666))
	return path
}

func TestRun(t *testing.T) {
	mag := model(t, "mag", "m.mag")
	dir := model(t, "tsr", "checkpoint"+string(filepath.Separator))
	header, data := damaged(t, mag, 8), damaged(t, mag, 320) // the data of labels
	pub := publicKey(t)
	private, _ := pair(t, "ed25519")
	how := "zero-copy"
	if !memory.LittleEndian {
		how = "by copy"
	}
	unmapped := "" // a note of files that are read when they are used
	if !testhost.Maps() {
		unmapped = ", the file is not mapped: it was read into memory"
	}
	tests := []struct {
		name   string
		args   []string
		status int
		out    []string // parts of standard output
		errs   []string // parts of standard error
	}{
		{"no command", nil, 2, nil, []string{"weightmap: no command; usage: weightmap inspect|verify|"}},
		{"unknown command", []string{"frob\x1bnicate"}, 2, nil, []string{`unknown command "frob\x1bnicate"; usage: weightmap inspect|verify`}},
		{"misspelled command", []string{"isnpect", mag}, 2, nil, []string{`unknown command "isnpect"; did you mean inspect?; usage: weightmap inspect|verify`}},
		{"unknown option", []string{"-frobnicate"}, 2, nil, []string{"unknown option -frobnicate: options follow the command; usage: weightmap inspect|verify"}},
		{"misspelled option", []string{"inspect", mag, "-jsno"}, 2, nil, []string{"unknown option -jsno; did you mean -json?; usage: weightmap inspect "}},
		{"option behind the file", []string{"inspect", mag, "-filter", "w"}, 0, []string{"1 of 2 tensors"}, nil},
		{"options between files", []string{"verify", mag, "-v", dir}, 0, []string{"xxh64\n", "no checksum\n"}, nil},
		{"help command", []string{"help"}, 0, []string{"usage: weightmap inspect|verify", "\n  verify     Check"}, nil},
		{"help of a command", []string{"help", "diff"}, 0, []string{"usage: weightmap diff "}, nil},
		{"help of no command", []string{"help", "dfif"}, 2, nil, []string{`unknown command "dfif"; did you mean diff?; usage: weightmap help [COMMAND]`}},
		{"help of two", []string{"help", "diff", "cat"}, 2, nil, []string{"help takes one COMMAND"}},
		{"version as an option", []string{"--version"}, 0, []string{"weightmap ", "formats: "}, nil},
		{"help", []string{"-h"}, 0, []string{"usage: weightmap inspect|verify", "\n  verify     Check", "example:\n  weightmap inspect "}, nil},
		{"long help", []string{"--help"}, 0, []string{"usage: weightmap inspect|verify"}, nil},
		{"help of inspect", []string{"inspect", "-h"}, 0, []string{"usage: weightmap inspect [-json [-sha256] [-no-arrays] | -html] [-stats] [-filter GLOB] [-o OUT] [-trust PUB.pem] [-key HEX] FILE...\n", "\n  -key HEX  ", "example:\n  weightmap inspect "}, nil},
		{"help of verify", []string{"verify", "--help"}, 0, []string{"usage: weightmap verify [-v] [-signature IN.sig] [-trust PUB.pem] [-key HEX] FILE...\n", "\n  -trust PUB.pem ", "example:\n  weightmap verify "}, nil},
		{"help of convert", []string{"convert", "-h"}, 0, []string{"usage: weightmap convert [-to FORMAT] ", "\n  -dtype D ", "\n  -lossy ", "example:\n  weightmap convert "}, nil},
		{"help of set", []string{"set", "-h"}, 0, []string{"usage: weightmap set [-delete KEY]... [-key HEX] IN OUT [KEY=VALUE]...\n", "example:\n  weightmap set "}, nil},
		{"help of sign", []string{"sign", "-h"}, 0, []string{"usage: weightmap sign -with KEY.pem [-signature OUT.sig] [-key HEX] IN [OUT]\n", "\n  -with KEY.pem ", "example:\n  weightmap sign "}, nil},
		{"help of keygen", []string{"keygen", "-h"}, 0, []string{"usage: weightmap keygen [-type ed25519|ecdsa|rsa] KEY.pem PUB.pem\n", "example:\n  weightmap keygen "}, nil},
		{"help of bench", []string{"bench", "-h"}, 0, []string{"usage: weightmap bench [-rounds N] [-key HEX] FILE\n", "example:\n  weightmap bench "}, nil},
		{"sign with nothing", []string{"sign", mag}, 2, nil, []string{"sign takes -with KEY.pem, IN and perhaps OUT; usage: weightmap sign "}},
		{"sign with no key", []string{"sign", "-with", mag, mag}, 2, nil, []string{"PRIVATE KEY"}},
		{"sign an absent file", []string{"sign", "-with", private, "absent.mle"}, 1, nil, []string{"absent.mle"}},
		{"keygen without names", []string{"keygen"}, 2, nil, []string{"keygen takes KEY.pem and PUB.pem; usage: weightmap keygen "}},
		{"keygen of another kind", []string{"keygen", "-type", "dsa", "a", "b"}, 2, nil, []string{`unknown type "dsa"`}},
		{"sign standard input", []string{"sign", "-with", private, "-", "out.mle"}, 2, nil, []string{"sign takes a file, not standard input; usage: weightmap sign "}},
		{"bench standard input", []string{"bench", "-"}, 2, nil, []string{"bench takes a file, not standard input; usage: weightmap bench "}},
		{"bench nothing", []string{"bench"}, 2, nil, []string{"bench takes one FILE"}},
		{"inspect nothing", []string{"inspect"}, 2, nil, []string{"inspect needs at least one FILE"}},
		{"inspect two, the first bad", []string{"inspect", header, mag}, 1, []string{mag + ": mag"}, []string{"mag: " + header}},
		{"inspect two", []string{"inspect", mag, header, dir}, 1, []string{mag + ": mag", "\n\n" + dir + ": tsr"}, []string{"mag: " + header}},
		{"sums without json", []string{"inspect", "-sha256", mag}, 2, nil, []string{"-sha256 goes with -json"}},
		{"a page of two files", []string{"inspect", "-html", mag, mag}, 2, nil, []string{"-html takes one FILE, and neither -json nor -stats"}},
		{"a page of a bad file", []string{"inspect", "-html", header}, 1, nil, []string{"mag: " + header}},
		{"unknown flag", []string{"verify", "-frobnicate"}, 2, nil, []string{"unknown option -frobnicate; usage: weightmap verify "}},
		{"odd key", []string{"inspect", "-key", "abc", mag}, 2, nil, []string{"weightmap: -key: the key is not 64 hexadecimal digits\n"}},
		{"short key", []string{"inspect", "-key", "abcd", mag}, 2, nil, []string{"2 bytes, not 32"}},
		{"empty key of inspect", []string{"inspect", "-key", "", mag}, 2, nil, []string{"-key: the key is empty"}},
		{"empty key of verify", []string{"verify", "-key=", mag}, 2, nil, []string{"-key: the key is empty"}},
		{"empty key of diff", []string{"diff", "-key", "", mag, mag}, 2, nil, []string{"-key: the key is empty"}},
		{"empty key of cat", []string{"cat", "-key", "", mag, "w"}, 2, nil, []string{"-key: the key is empty"}},
		{"empty key of set", []string{"set", "-key", "", mag, "out.mag", "epoch=1"}, 2, nil, []string{"-key: the key is empty"}},
		{"empty key of sign", []string{"sign", "-with", private, "-key", "", mag}, 2, nil, []string{"-key: the key is empty"}},
		{"empty key of bench", []string{"bench", "-key", "", mag}, 2, nil, []string{"-key: the key is empty"}},
		{"empty key of convert", []string{"convert", "-key", "", mag, "out.mag"}, 2, nil, []string{"-key: the key is empty"}},
		{"encrypt with an empty key", []string{"convert", "-encrypt", "", mag, "out.wia"}, 2, nil, []string{"-encrypt: the key is empty"}},
		{"sign with an empty key", []string{"sign", "-with", "", mag}, 2, nil, []string{"-with: the key is empty"}},
		{"convert and sign with an empty key", []string{"convert", "-sign", "", mag, "out.wia"}, 2, nil, []string{"-sign: the key is empty"}},
		{"verify, trusting an empty key", []string{"verify", "-trust", "", mag}, 2, nil, []string{"-trust: the key is empty"}},
		{"inspect, trusting an empty key", []string{"inspect", "-trust", "", mag}, 2, nil, []string{"-trust: the key is empty"}},
		{"cat, trusting an empty key", []string{"cat", "-trust", "", mag, "w"}, 2, nil, []string{"-trust: the key is empty"}},
		{"convert, trusting an empty key", []string{"convert", "-trust", "", mag, "out.mag"}, 2, nil, []string{"-trust: the key is empty"}},
		{"missing file", []string{"inspect", "absent.mag"}, 1, nil, []string{"absent.mag"}},
		{"short key of verify", []string{"verify", "-key", "abcd", mag}, 2, nil, []string{"2 bytes, not 32"}},
		{"verify nothing", []string{"verify"}, 2, nil, []string{"needs at least one FILE"}},
		{"table", []string{"inspect", mag}, 0, []string{"mag 1, 2 tensors", "epoch = 7", "\n\nNAME    DTYPE    SHAPE  SIZE  OFFSET  STORED\nw       float32  [2,2]  16 B   0x100  " + how + "\nlabels  int32    [1]     4 B   0x140  " + how + "\n\n2 tensors, 5 parameters, 20 B: float32 16 B, int32 4 B\n"}, nil},
		{"verify", []string{"verify", mag, dir}, 0, []string{
			fmt.Sprintf("%s: ok (mag 1, 2 tensors, %d bytes)\n", mag, fileSize(t, mag)),
			fmt.Sprintf("%s: ok, but nothing covers the data of 2 tensors (tsr 1, 2 tensors, 148 bytes)%s\n", dir, unmapped),
		}, nil},
		{"what covers what", []string{"verify", "-v", mag, dir}, 0, []string{
			"tensors, 384 bytes)\n  header and records: crc32c\n  data of 2 tensors: xxh64\n",
			"tensors, 148 bytes)" + unmapped + "\n  data of 2 tensors: no checksum\n",
		}, nil},
		{"bad header", []string{"inspect", header}, 1, nil, []string{"mag: " + header, "at 0x8", "checksum"}},
		{"bad data still inspects", []string{"inspect", data}, 0, []string{"2 tensors"}, nil},
		{"bad data fails to verify", []string{"verify", data}, 1, nil, []string{"mag: " + data, "checksum"}},
		{"one bad of two", []string{"verify", header, mag}, 1, []string{mag + ": ok"}, []string{header}},
		{"trust an unsigned file", []string{"verify", "-trust", pub, mag}, 1, nil, []string{"signature"}},
		{"trust no key", []string{"verify", "-trust", mag, mag}, 2, nil, []string{"PUBLIC KEY"}},
		{"trust an absent key", []string{"verify", "-trust", "absent.pem", mag}, 2, nil, []string{"absent.pem"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if got := run(t.Context(), tt.args, &out, &errs); got != tt.status {
				t.Errorf("exit status %d, want %d", got, tt.status)
			}
			for _, part := range tt.out {
				if !strings.Contains(out.String(), part) {
					t.Errorf("standard output lacks %q:\n%s", part, &out)
				}
			}
			for _, part := range tt.errs {
				if !strings.Contains(errs.String(), part) {
					t.Errorf("standard error lacks %q:\n%s", part, &errs)
				}
			}
			if got := strings.Count(errs.String(), "\n"); got != min(tt.status, 1) {
				t.Errorf("standard error has %d lines:\n%s", got, &errs)
			}
			if tt.status == 2 && out.Len() > 0 {
				t.Errorf("standard output of a wrong command line:\n%s", &out)
			}
		})
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	must(t, err)
	return st.Size()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
