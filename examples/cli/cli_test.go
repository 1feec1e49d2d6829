package cli

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// TestPrintable checks that text from a file cannot control the terminal.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                     "plain",
		"重み/🧲 äöü":                  "重み/🧲 äöü",
		"a\x1b[2Jb\nc\u202ed":       `a\u001b[2Jb\u000ac\u202ed`,
		"\x7f\u0085\u009b":          `\u007f\u0085\u009b`,
		"zero\u200bwidth\ufeff":     `zero\u200bwidth\ufeff`,
		"lines\u2028and\u2029parts": `lines\u2028and\u2029parts`,
		"tag\U000e0041":             `tag\udb40\udc41`,
		"not UTF-8 \xff":            "not UTF-8 \ufffd",
		"\xff and \x1b":             "\ufffd and \\u001b",
	} {
		if diff := cmp.Diff(want, Printable(in)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}

// TestPrintableJSON checks that the output is safe and has the same meaning.
func TestPrintableJSON(t *testing.T) {
	want := map[string]any{"a\x1b\x7f": "b\u009b\u202e\U000e0041é\n", "raw": []any{1.0}}
	text, err := json.MarshalIndent(want, "", " ")
	expect.OK(t, err)
	safe := PrintableJSON(text)
	if i := strings.IndexFunc(string(safe), func(r rune) bool { return r != '\n' && unsafeRune(r) }); i >= 0 {
		t.Errorf("unsafe at %d: %q", i, safe)
	}
	var got map[string]any
	expect.OK(t, json.Unmarshal(safe, &got))
	expect.Equal(t, want, got)
}

func TestShorten(t *testing.T) {
	for _, tt := range []struct {
		in      string
		width   int
		shorten string
		cut     string
	}{
		{"weight", 6, "weight", "weight"},
		{"layers.0.attention.weight", 13, "layers…weight", "layers.0.att…"},
		{"layers.0.attention.weight", 12, "layers…eight", "layers.0.at…"},
		{"重み重み重み", 7, "重…重み", "重み重…"},
		{"重み重み重み", 8, "重み…み", "重み重…"},
		{strings.Repeat("é", 1<<16) + "end", 9, "éééé…éend", "éééééééé…"},
		{"e" + strings.Repeat("\u0301", 100) + "xyz", 3, "e" + strings.Repeat("\u0301", 100) + "…z", "e" + strings.Repeat("\u0301", 100) + "x…"},
	} {
		if diff := cmp.Diff(tt.shorten, Shorten(tt.in, tt.width)); diff != "" {
			t.Errorf("Shorten(%q, %d) (-want +got):\n%s", tt.in, tt.width, diff)
		}
		if diff := cmp.Diff(tt.cut, Cut(tt.in, tt.width)); diff != "" {
			t.Errorf("Cut(%q, %d) (-want +got):\n%s", tt.in, tt.width, diff)
		}
	}
}

// TestList checks that List does not join names that do not fit on the line.
func TestList(t *testing.T) {
	long := strings.Repeat("é", 1000)
	for _, tt := range []struct {
		name  string
		in    []string
		width int
		want  string
	}{
		{"none", nil, 10, ""},
		{"all", []string{"x", "", "重み"}, 10, "x, , 重み"},
		{"one long name", []string{long, "x"}, 1, "éééééééé…"},
		{"within a character", []string{"abc", long}, 1, "abc, ééééé…"},
		{"many names", slices.Repeat([]string{"abcdef"}, 1000), 1, "abcdef, abcdef, …"},
	} {
		if diff := cmp.Diff(tt.want, List(tt.in, tt.width)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestTable(t *testing.T) {
	table := NewTable(Column{Name: "NAME"}, Column{Name: "SIZE", Right: true}, Column{Name: "HOW"})
	table.Row("layers.0.attention.weight", "1", "zero-copy")
	table.Row("重み", "131 kB", "")
	table.Row("a\tb", "2", "by copy")
	spare := NewTable(Column{Name: "NAME"}, Column{Name: "SIZE", Spare: true}, Column{Name: "TYPE"}, Column{Name: "OFFSET", Spare: true})
	spare.Row("layers.0.attention.weight", "1 kB", "int8", "0x100")
	for _, tt := range []struct {
		table *Table
		width int
		want  string
	}{
		{table, 0, "NAME                         SIZE  HOW\n" +
			"layers.0.attention.weight       1  zero-copy\n" +
			"重み                       131 kB\n" +
			"a\\u0009b                        2  by copy\n"},
		{table, 33, "NAME              SIZE  HOW\n" +
			"layers.…weight       1  zero-copy\n" +
			"重み            131 kB\n" +
			"a\\u0009b             2  by copy\n"},
		{table, 1, "NAME            SIZE  HOW\n" +
			"layers…eight       1  zero-copy\n" +
			"重み          131 kB\n" +
			"a\\u0009b           2  by copy\n"},
		{spare, 36, "NAME              SIZE  TYPE  OFFSET\nlayers.0….weight  1 kB  int8  0x100\n"},
		{spare, 35, "NAME                     SIZE  TYPE\nlayers.0.at…tion.weight  1 kB  int8\n"},
		{spare, 23, "NAME               TYPE\nlayers.0…n.weight  int8\n"},
	} {
		var out bytes.Buffer
		expect.OK(t, tt.table.Write(&out, tt.width))
		if diff := cmp.Diff(tt.want, out.String()); diff != "" {
			t.Errorf("width %d (-want +got):\n%s", tt.width, diff)
		}
	}
	if err := table.Write(broken{}, 0); !errors.Is(err, errBroken) {
		t.Errorf("writing failed with %v", err)
	}
}

var errBroken = errors.New("broken pipe")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// TestWidth checks that Width has a fixed value if the output is not a terminal.
func TestWidth(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	expect.OK(t, err)
	defer f.Close()
	if Terminal(f) || Terminal(&bytes.Buffer{}) || Width(f) != plainWidth || Width(&bytes.Buffer{}) != plainWidth {
		t.Error("a file or a buffer is taken for a terminal")
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", -999: "-999", 1000: "1,000", -1000: "-1,000", 123456: "123,456", -123456: "-123,456", math.MaxInt64: "9,223,372,036,854,775,807",
	} {
		if got := Grouped(n); got != want {
			t.Errorf("Grouped(%d) = %q, want %q", n, got, want)
		}
	}
	expect.Equal(t, []string{"0 tensors", "1 tensor", "1,024 tensors"}, []string{Count(0, "tensor"), Count(1, "tensor"), Count(1024, "tensor")})
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1.0 kB", 2624: "2.6 kB", 99_949: "99.9 kB", 99_950: "100 kB",
		999_499: "999 kB", 999_500: "1.0 MB", 123_456_789: "123 MB", 5_000_000_000_000_000: "5000 TB",
	} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestFileSize(t *testing.T) {
	dir := t.TempDir()
	for name, n := range map[string]int{"a": 3, "sub/b": 40} {
		path := filepath.Join(dir, name)
		expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
		expect.OK(t, os.WriteFile(path, make([]byte, n), 0o666))
	}
	for path, want := range map[string]int64{dir: 43, filepath.Join(dir, "a"): 3, filepath.Join(dir, "none"): 0} {
		if got := FileSize(path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}

// TestKeyOption checks that an empty key is an error, unlike a missing one, and that no message
// contains a key.
func TestKeyOption(t *testing.T) {
	hex := strings.Repeat("0f", 32)
	t.Chdir(t.TempDir())
	_, missing := os.Open("absent")
	for name, text := range map[string]string{
		"key": "\n\t" + hex + "\r\n", "short": "0f0f\n", "two": hex + "\n" + hex, "cut": hex + strings.Repeat(" ", 1000) + "secret",
	} {
		expect.OK(t, os.WriteFile(name, []byte(text), 0o600))
	}
	for _, tt := range []struct {
		name string
		args []string
		want []byte
		err  string
	}{
		{"none", nil, nil, ""},
		{"a key", []string{"-key", hex}, bytes.Repeat([]byte{15}, 32), ""},
		{"empty", []string{"-key", ""}, nil, "--key: the key is empty; leave the option out to use none"},
		{"no key", []string{"-key", "secret"}, nil, "--key: the key is not 64 hexadecimal digits"},
		{"a file", []string{"-key", "@key"}, bytes.Repeat([]byte{15}, 32), ""},
		{"a file without a key", []string{"-key", "@short"}, nil, "--key: short: the key is not 64 hexadecimal digits: 2 bytes, not 32"},
		{"a file with two", []string{"-key", "@two"}, nil, "--key: two: the key is not 64 hexadecimal digits"},
		{"no file", []string{"-key", "@absent"}, nil, "--key: " + missing.Error()},
		{"a long file", []string{"-key", "@cut"}, nil, "--key: cut: the key is not 64 hexadecimal digits: more than 1024 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := tool.Flags()
			o := tool.KeyFlag(f)
			expect.OK(t, tool.Parse(f, tt.args, io.Discard))
			key, err := o.Secret(t.Context())
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tt.want, key) + cmp.Diff(tt.err, text); diff != "" || err != nil && !errors.Is(err, errUsage) {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestSigned(t *testing.T) {
	a := ed25519.NewKeyFromSeed(make([]byte, 32)).Public()
	b := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32)).Public()
	// The output of openssl pkey -pubin -outform DER | sha256sum for these keys.
	const sumA = "339e2ff917630507b6a423b5ce084e285d1fa65d93b3e27a6195d3bbebc9ae23"
	const sumB = "fd110d301d2f077de1414b8f99f441b1403fab207b2052fbd2c065e4ee8e7dc2"
	const unknown, trusted = format.SignatureUnknown, format.SignatureTrusted
	for _, tt := range []struct {
		name    string
		state   format.SignatureState
		s       *schema.Signature
		trusted crypto.PublicKey
		want    string
	}{
		{"unsigned", format.Unsigned, nil, nil, ""},
		{"by anybody", unknown, &schema.Signature{PublicKey: a}, nil, "signed by SHA256:" + sumA + ", not checked against a trusted key"},
		{"by the trusted key", trusted, &schema.Signature{PublicKey: a}, b, "signed by SHA256:" + sumB},
		{"without naming it", trusted, &schema.Signature{}, a, "signed by SHA256:" + sumA},
		{"without naming any", unknown, &schema.Signature{}, nil, "signed by a key the file does not name, not checked against a trusted key"},
	} {
		if diff := cmp.Diff(tt.want, Signed(tt.state, tt.s, tt.trusted)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

var tool = &Tool{
	Name: "prog do", Args: "[-n N] FILE", About: "Do it.", Details: "At length.\n", Example: "prog do -n 3 x", Dash: "--",
}

const toolHelp = `usage: prog do [-n N] FILE

Do it.

At length.

options:
  --n N   how many, N
  --help  print this text

example:
  prog do -n 3 x
`

// TestTool checks that help goes to standard output with status 0, and errors to standard error on
// one line.
func TestTool(t *testing.T) {
	bad := errors.New("mag: a\nb.mag: bad")
	for _, tt := range []struct {
		name   string
		args   []string
		err    error // the result of the command
		status int
		stdout string
		stderr string
	}{
		{"fine", []string{"-n", "3"}, nil, 0, "", ""},
		{"help", []string{"-h"}, nil, 0, toolHelp, ""},
		{"unknown option", []string{"-m"}, nil, 2, "", "prog: unknown option -m\nusage: prog do [-n N] FILE\n"},
		{"bad value", []string{"-n", "x\ny"}, nil, 2, "", "prog: --n does not take \"x\\ny\": want a number\nusage: prog do [-n N] FILE\n"},
		{"bad argument", nil, BadArgument(os.ErrNotExist), 2, "", "prog: file does not exist\n"},
		{"bad file", nil, bad, 1, "", "prog: mag: a\\u000ab.mag: bad\n"},
		{"reported", nil, fmt.Errorf("%w", ErrReported), 1, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			f := tool.Flags()
			f.Int("n", 1, "how many, `N`")
			err := tool.Parse(f, tt.args, &out)
			if err == nil {
				err = tt.err
			}
			if status := tool.Status(err, &errs); status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			if diff := cmp.Diff(tt.stdout, out.String()); diff != "" {
				t.Errorf("standard output (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.stderr, errs.String()); diff != "" {
				t.Errorf("standard error (-want +got):\n%s", diff)
			}
		})
	}
	if err := tool.Parse(tool.Flags(), []string{"-h"}, broken{}); !errors.Is(err, errBroken) || errors.Is(err, flag.ErrHelp) {
		t.Errorf("help that could not be printed: %v", err)
	}
}

// TestProgress checks that long work shows a bar and removes it, and prints nothing if the output
// is not a terminal.
func TestProgress(t *testing.T) {
	const total = 1 << 20
	var out bytes.Buffer
	for _, quiet := range []*Progress{NewProgress(&out, "converting"), {out: &out, start: time.Now().Add(time.Hour)}} {
		quiet.Report(total/2, total, "w")
		quiet.Finish()
	}
	if out.Len() > 0 {
		t.Errorf("%q", &out)
	}
	bar := &Progress{out: &out, what: "converting"}
	bar.Report(total/2, total, "w")
	if text := out.String(); !strings.Contains(text, "converting") || !strings.Contains(text, "50%") {
		t.Errorf("%q", text)
	}
	out.Reset()
	bar.Finish()
	bar.Finish()
	if text := strings.Trim(out.String(), "\r "); out.Len() == 0 || text != "" && text != "\x1b[2K" {
		t.Errorf("it leaves %q", &out)
	}
}

// TestText checks that messages use terms of the command line and do not repeat paths.
func TestText(t *testing.T) {
	missing := &fs.PathError{Op: "stat", Path: "m.mag", Err: syscall.ENOENT}
	why := syscall.ENOENT.Error()
	memory := driver.NewMemory(100)
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"a path", missing, "m.mag: " + why},
		{"a path twice", &tensor.Error{Path: "m.mag", Offset: -1, Err: missing}, "m.mag: " + why},
		{"a path within", fmt.Errorf("-key: %w", missing), "-key: m.mag: " + why},
		{"a temporary file", &tensor.Error{Format: "mag", Path: "out/m.mag", Offset: -1, Err: &fs.PathError{Op: "open", Path: filepath.Join("out", ".m.mag.0a1b.tmp"), Err: syscall.ENOENT}}, "mag: out/m.mag: cannot create a file in out: " + why},
		{"a directory", &tensor.Error{Path: "d.mag", Offset: -1, Err: fmt.Errorf("d.mag is not a regular file: %w", os.ErrInvalid)}, "d.mag is not a regular file"},
		{"much memory", &tensor.Error{Format: "mag", Path: "m1000.mag", Offset: -1, Err: driver.NewMemory(1000).Reserve(1025048)}, "mag: m1000.mag: limit exceeded: needs 1,025,048 bytes; --max-memory allows 1,000"},
		{"memory", &tensor.Error{Format: "mag", Path: "m.mag", Offset: -1, Err: memory.Reserve(101)}, "mag: m.mag: limit exceeded: needs 101 bytes; --max-memory allows 100"},
		{"an option", driver.OptionError("mag", "Compression", "mag has no compression"), "--compress: mag has no compression"},
		{"a public key", fmt.Errorf("the trusted key is a %T", ed25519.PublicKey(nil)), "the trusted key is an Ed25519 key"},
		{"a private key", fmt.Errorf("unusable key: %T cannot sign", &rsa.PrivateKey{}), "unusable key: RSA key cannot sign"},
		{"a value", fmt.Errorf("a value of type %T", json.RawMessage(nil)), "a value of type JSON"},
	} {
		if diff := cmp.Diff(tt.want, tool.text(tt.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
