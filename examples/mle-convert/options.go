package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/mle"
)

// The values of --compress and --quantize.
var (
	compressions = []string{"lz4", "zstd", "brotli"}
	quantizers   = map[string]mle.Method{"int8": mle.MethodInt8, "fp16": mle.MethodFloat16}
)

var tool = cli.Tool{
	Name: "mle-convert", Args: "--input FILE --output FILE [options]", Dash: "--",
	About:   "Write an MLE file anew: as another version, compressed, quantized, signed or encrypted.",
	Details: "The input is verified first. Without --compress and --quantize the weights are written\nplainly, ready to be mapped.\n",
	Example: "mle-convert --input model_v1.mle --output model_v2.mle --compress zstd --sign key.pem",
}

// parse parses the command line and reads the key files it names.
func parse(ctx context.Context, args []string, stdout io.Writer) (*job, error) {
	f := tool.Flags()
	j := &job{}
	j.read.Context = ctx
	j.write.Context = ctx
	f.StringVar(&j.input, "input", "", "`FILE` to read, either version")
	f.StringVar(&j.output, "output", "", "`FILE` to write; the input may be replaced")
	compress := f.String("compress", "none", "compression `METHOD`: none, lz4, zstd or brotli")
	quantize := f.String("quantize", "", "store float32 weights in fewer `BITS`: int8 or fp16; excludes --compress")
	sign := tool.KeyOption(f, "sign", "Ed25519 private key in `KEY.pem`, as \"openssl genpkey -algorithm ed25519\" makes it")
	encrypt := tool.KeyOption(f, "encrypt", "AES-256 `KEY`: 64 hexadecimal digits, or a file with them or with 32 bytes")
	key := tool.KeyOption(f, "key", "`KEY` of an encrypted input, as for --encrypt")
	memory := tool.MemoryFlag(f)
	f.IntVar(&j.write.Level, "level", 0, "compression level `N` of --compress, 1 (fast) to 9 (small), 6 by default")
	f.BoolVar(&j.to.Chunked, "chunked", false, "compress each tensor by itself")
	f.IntVar(&j.to.Version, "version", 2, "format version `N` to write, 2 by default, 1 for old readers")
	if err := tool.Parse(f, args, stdout); err != nil {
		return nil, err
	}
	if j.input == "" || j.output == "" || f.NArg() > 0 {
		return nil, tool.Usagef("--input and --output are needed, and no further arguments")
	}
	if err := cli.CheckTarget(j.output); err != nil {
		return nil, err
	}
	if err := j.method(*compress, *quantize); err != nil {
		return nil, cli.BadArgument(err)
	}
	j.read.MaxMemory = int64(*memory)
	signer, err := cli.ReadKey(ctx, sign, signingKey)
	if err != nil {
		return nil, err
	}
	if signer != nil {
		j.write.Signer = signer
	}
	j.write.Key, err = cli.ReadKey(ctx, encrypt, secret)
	if err != nil {
		return nil, err
	}
	j.read.Key, err = cli.ReadKey(ctx, key, secret)
	return j, err
}

// method chooses how the weights are stored. A file has only one way.
func (j *job) method(compress, quantize string) error {
	if compress != "none" && !slices.Contains(compressions, compress) {
		return fmt.Errorf("--compress %s: none, lz4, zstd or brotli", compress)
	}
	lossy, ok := quantizers[quantize]
	if quantize != "" && !ok {
		return fmt.Errorf("--quantize %s: int8 or fp16", quantize)
	}
	if compress != "none" {
		j.write.Compression = compress
	}
	j.to.Lossy = lossy
	switch {
	case j.write.Compression != "" && quantize != "":
		return errors.New("--compress and --quantize exclude each other: a file has one method")
	case j.to.Version != 1 && j.to.Version != 2:
		return fmt.Errorf("--version %d: 1 or 2", j.to.Version)
	case j.to.Version == 1 && (j.write.Compression != "" || quantize != ""):
		return errors.New("--version 1 has neither --compress nor --quantize")
	case j.write.Level < 0 || j.write.Level > 9:
		return fmt.Errorf("--level %d: 1 to 9", j.write.Level)
	case j.write.Level != 0 && j.write.Compression == "":
		return errors.New("--level needs --compress")
	case j.to.Chunked && j.write.Compression == "" && quantize == "":
		return errors.New("--chunked needs --compress or --quantize")
	}
	return nil
}

// signingKey reads a key for signing MLE files.
func signingKey(path string) (ed25519.PrivateKey, error) {
	private, err := cli.ReadPrivate(path)
	if err != nil {
		return nil, err
	}
	ed, ok := private.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("MLE files are signed with Ed25519, not with a %T", private)
	}
	return ed, nil
}

// secret returns a key of 32 bytes, given as hexadecimal digits or as a file with the digits or the
// bytes.
func secret(value string) ([]byte, error) {
	if key, err := cli.ParseKey(value); err == nil {
		return key, nil
	}
	b, err := cli.KeyFile(value)
	if err != nil {
		return nil, errors.New("neither 64 hexadecimal digits nor a file that can be read")
	}
	if len(b) == 32 {
		return b, nil
	}
	key, err := cli.ParseKey(string(bytes.TrimSpace(b)))
	if err != nil {
		return nil, errors.New("the file holds neither 32 bytes nor 64 hexadecimal digits")
	}
	return key, nil
}
