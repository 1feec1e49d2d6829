package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/examples/weightmap/internal/write"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/wia"
)

// workshop fills the current directory with models and keys.
func workshop(t *testing.T) {
	t.Helper()
	bring := func(name, path string) { expect.OK(t, os.WriteFile(name, expect.Read(t, path), 0o600)) }
	mag, mleFile := model(t, "mag", "m.mag"), writeMLE(t, nil)
	bring("m.mag", mag)
	bring("header.mag", damaged(t, mag, 8))
	bring("data.mag", damaged(t, mag, 320)) // of labels
	bring("m.safetensors", model(t, "safetensors", "m.safetensors"))
	bring("net.wia", network(t))
	bring("m.mle", mleFile)
	bring("bad.mle", damaged(t, mleFile, 399))
	bring("locked.mle", writeMLE(t, &format.WriteOptions{Key: secret, Format: mle.Format{}}))
	bring("locked.wia", writeWIA(t, quantizedSchema(), &format.WriteOptions{Key: secret, Format: wia.Format{}}))
	put(t, "tsr", "w.tsr", schema.Schema{}, matrix("w"))
	tool(t, 0, "keygen", "ed.pem", "ed.pub")
	tool(t, 0, "keygen", "-type", "ecdsa", "ec.pem", "ec.pub")
	writeText(t, "model/weights.bin", "abc")
	tool(t, 0, "sign", "-with", "ec.pem", "-signature", "model.sig", "model")
}

// TestRefusals: command lines that are wrong (status 2) or about files that are (status 1) print one
// line, and perhaps another with a command that works, and write nothing.
func TestRefusals(t *testing.T) {
	t.Chdir(t.TempDir())
	workshop(t)
	before := listing(t, ".")
	for _, tt := range []struct {
		status int
		line   string // '' is an empty argument
		want   string // part of standard error
	}{
		{2, "", "weightmap: no command; weightmap help explains the commands\nusage: weightmap inspect|verify|"},
		{2, "frob\x1bnicate", "unknown command or file \"frob\\x1bnicate\"\nusage: weightmap inspect|verify"},
		{2, "isnpect m.mag", "unknown command or file \"isnpect\"; did you mean inspect?\ntry: weightmap inspect m.mag\n"},
		{2, "-frobnicate", "options follow the command: -frobnicate\nusage: "},
		{2, "inspect m.mag -jsno", "unknown option -jsno; did you mean -json?\nusage: weightmap inspect "},
		{2, "help dfif", "unknown command \"dfif\"; did you mean diff?\nusage: weightmap help [COMMAND]"},
		{2, "help diff cat", "help takes one COMMAND"},
		{2, "completion tcsh", "completion takes bash, zsh or fish\nusage: weightmap completion bash|zsh|fish"},

		{2, "inspect -sha256 m.mag", "-sha256 needs -json"},
		{2, "inspect -no-arrays m.mag", "-no-arrays needs -json"},
		{2, "inspect -html m.mag m.mag", "an HTML page shows one FILE, without -json, -stats and -digest"},
		{2, "inspect -key abc m.mag", "weightmap: -key: the key is not 64 hexadecimal digits\n"},
		{2, "inspect -key '' m.mag", "-key: the key is empty"},
		{1, "inspect header.mag", "mag: header.mag: at 0x8: "},
		{1, "inspect -filter w -filter none m.mag", `m.mag: -filter: no tensor matches "none"` + "\n"},
		{1, "inspect -filter *lables m.mag", `m.mag: -filter: no tensor matches "*lables"; did you mean labels?` + "\n"},

		{2, "verify -trust '' m.mag", "-trust: the key is empty"},
		{2, "verify -signature model.sig model", "-trust"},
		{2, "verify -signature model.sig -trust ec.pub model model", "one FILE or DIR"},
		{2, "verify -signature model.sig -trust ec.pub -ignore ../x model", "is not below"},
		{2, "verify -signature model.sig -trust ed.pub model", "P-256"},
		{1, "verify -signature m.mag -trust ec.pub model", "m.mag: corrupt"},
		{1, "verify -signature model.sig -trust ec.pub nothing", "nothing"},

		{2, "cat -slice 0 m.mag", "cat takes one FILE and one TENSOR"},
		{2, "cat -as xml m.mag w", `-as takes text, csv, npy or raw, not "xml"`},
		{2, "cat -slice 99999999999999999999 m.mag w", `cannot parse slice "99999999999999999999"`},
		{1, "cat -slice 2 m.mag w", `index 2 is outside axis 0 (2 elements)`},
		{1, "cat -slice :,2:1 m.mag w", `range 2:1 is outside axis 1 (2 elements)`},
		{1, "cat m.mag absent", `mag: m.mag: tensor "absent": not found`},

		{2, "diff m.mag", "diff takes two files"},
		{2, "diff -tolerance -1 m.mag m.mag", "-tolerance takes a number of at least 0"},

		{2, "convert m.mag", "OUT is missing\nusage: weightmap convert "},
		{2, "convert m.mag o.mag o.mag", "convert takes IN and OUT, not 3 files\nusage: weightmap convert "},
		{2, "convert -to magg m.mag o.mag", ", wia, not \"magg\"; did you mean mag?\nusage: "},
		{2, "convert m.mag o.zip", "cannot tell the format from \"o.zip\": use -to FORMAT"},
		{2, "convert -dtype float16 -quantize int8 m.mag o.mag", "exclude each other"},
		{2, "convert -dtype int8 m.mag o.mag", `-dtype takes float32, float16, bfloat16, float64, not "int8"`},
		{2, "convert -quantize int4 m.mag o.mag", `-quantize takes int8, q8_0, uint8, int16, float16, not "int4"`},
		{2, "convert -compress zip m.mag o.mag", `-compress takes gzip, zstd, lz4, brotli, not "zip"`},
		{2, "convert -per-channel=false m.mag o.mag", "need -quantize"},
		{2, "convert -rename a m.mag o.mag", `-rename takes FROM=TO with no more * in TO than in FROM, not "a"`},
		{2, "convert -encrypt ab m.mag o.wia", "1 byte, not 32"},
		{2, "convert -align 3 m.mag o.mag", "mag has no such alignment"},
		{2, "convert -max-shard 4 m.safetensors o.mle", "-max-shard: the format is not split into several files\ntry: "},
		{2, "convert -sign ed.pem m.safetensors o.wia", "-sign: WIA files need an RSA key or an ECDSA key on P-256, not an Ed25519 key\n"},
		{2, "convert -sign m.mag m.safetensors o.mle", "m.mag"},
		{2, "convert -rename *=x m.mag o.mag", "-rename: tensors \"w\" and \"labels\" would both be called \"x\"\n"},
		{2, "convert m.mag -", "writing to standard output needs -to FORMAT"},
		{1, "convert absent.mag o.mag", "absent.mag"},
		{1, "convert -only w -only zzz* m.mag o.mag", `m.mag: -only: no tensor matches "zzz*"` + "\ntry: weightmap inspect m.mag\n"},
		{1, "convert -skip zzz* m.mag o.mag", `m.mag: -skip: no tensor matches "zzz*"`},
		{1, "convert -skip w -rename w=x m.mag o.mag", `m.mag: -rename: no tensor matches "w"`},
		{2, "merge -max-shard 4 m.safetensors o.safetensors", "-max-shard"},

		{2, "set m.mag o.mag", "nothing to set or delete"},
		{2, "set m.mag o.mag epoch", `"epoch" is not KEY=VALUE`},
		{2, "set m.mag o.mle epoch=8", "o.mle: the model stays mag, but the name ends like a mle file; use convert to change the format\n"},
		{1, "set m.mag o.mag author=Ada", "o.mag: metadata \"author\" cannot be stored: a string; MAG has int64 and float64; convert to wia first, which stores all types\nanother format holds it: weightmap convert "},
		{1, "set m.mag o.mag x=1e999", `metadata "x": number too large`},
		{1, "set -delete author m.mag o.mag", `there is no metadata entry "author"`},
		{1, "set w.tsr o.tsr a=1", "metadata"},
		{1, "set locked.mle o.mle a=1", "(use -key)"},

		{2, "sign m.mag", "sign needs -with KEY.pem, IN and optionally OUT\nusage: weightmap sign "},
		{2, "sign -with m.mag m.mag", "PRIVATE KEY"},
		{2, "sign -with ed.pem - o.mle", "sign takes a file, not standard input\nusage: weightmap sign "},
		{2, "sign -with ec.pem net.wia o.mle", "the model stays wia, but the name ends like a mle file"},
		{2, "sign -signature s.sig -with ec.pem", "one FILE or DIR"},
		{2, "sign -signature s.sig model", "-with KEY.pem"},
		{1, "sign -signature s.sig -with ed.pem model", "keygen -type ecdsa"},
		{1, "sign -signature m.mag -with ec.pem model", "not replaced"},
		{1, "sign -with ec.pem m.mag", "m.mag: unsupported: mag files have no signature; -signature writes it to another file\ntry: weightmap sign -with ec.pem -signature m.mag.sig m.mag\n"},
		{1, "sign -with ed.pem bad.mle", "checksum mismatch"},
		{1, "sign -with ed.pem locked.mle", "an encrypted file can only be signed when it is written"},
		{1, "sign -with ec.pem locked.wia", "(use -key)\n"},
		{2, "keygen key.pem -", ": name a file, ./- for a file called -\n"},
		{2, "keygen -type dsa a b", `-type takes ed25519, ecdsa or rsa, not "dsa"`},
		{2, "bench -", "bench takes a file, not standard input\nusage: weightmap bench "},
		{2, "bench -rounds 0 m.mag", "-rounds 0: at least 1"},
		{1, "bench locked.mle", "(use -key)"},
	} {
		args := strings.Fields(tt.line)
		for i, arg := range args {
			args[i] = strings.TrimSuffix(arg, "''")
		}
		out, errs := tool(t, tt.status, args...)
		first, advice, _ := strings.Cut(errs, "\n")
		if !strings.Contains(errs, tt.want) || first == "" || advice != "" && !strings.HasPrefix(advice, "try: weightmap ") && !strings.HasPrefix(advice, "usage: weightmap ") && !strings.HasPrefix(advice, write.ViaOtherFormat+": weightmap convert ") || out != "" {
			t.Errorf("%s: %q, %q, want %q", tt.line, out, errs, tt.want)
		}
		if diff := cmp.Diff(before, listing(t, ".")); diff != "" {
			t.Fatalf("%s: (-before +after):\n%s", tt.line, diff)
		}
	}
}

// TestDamagedData: a changed bit is an error of each command that shows values, which names
// the tensor and what it was checked by, and no value is printed.
func TestDamagedData(t *testing.T) {
	numbers := make([]float32, 64)
	for i := range numbers {
		numbers[i] = float32(i)
	}
	for name, field := range map[string]string{"m.mag": `tensor "w"`, "m.mle": "weights_checksum", "m.wia": "tensor: ", "m.npz": `tensor "w"`} {
		good := save(t, name, schema.Schema{}, floats("w", numbers...))
		out, _ := tool(t, 0, "inspect", "-json", good)
		var r struct{ Tensors []struct{ Offset int } }
		expect.OK(t, json.Unmarshal([]byte(out), &r))
		bad := damaged(t, good, r.Tensors[0].Offset+5)
		for _, args := range []string{"cat BAD w", "cat -as raw -slice 0:2 BAD w", "diff BAD GOOD", "diff GOOD BAD", "inspect -stats BAD", "inspect -json -sha256 BAD", "inspect -html BAD", "verify BAD"} {
			t.Run(args+" "+name, func(t *testing.T) {
				args := strings.Fields(strings.NewReplacer("BAD", bad, "GOOD", good).Replace(args))
				out, errs := tool(t, 1, args...)
				contains(t, errs, "checksum mismatch", field)
				if args[0] != "verify" {
					contains(t, errs, `tensor "w"`)
				}
				if strings.Count(errs, "\n") != 1 || out != "" {
					t.Errorf("%q, %q", errs, out)
				}
			})
		}
	}
}
