package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/mle"
)

// The values of --compress and --quantize.
var (
	compressors = map[string]mle.Method{"none": mle.MethodNone, "lz4": mle.MethodLZ4, "zstd": mle.MethodZstd, "brotli": mle.MethodBrotli}
	quantisers  = map[string]mle.Method{"int8": mle.MethodInt8, "fp16": mle.MethodFloat16}
)

// help is what --help prints.
const help = `usage: mle-convert --input FILE --output FILE [options]

  --input FILE       file to read, either version
  --output FILE      file to write; the input may be replaced
  --compress METHOD  none, lz4, zstd or brotli
  --level N          1 (fast) to 9 (small), 6 by default
  --quantize BITS    int8 or fp16, for models of float32 tensors; instead of --compress
  --chunked          compress each tensor by itself
  --sign KEY.pem     Ed25519 private key, as "openssl genpkey -algorithm ed25519" makes it
  --encrypt KEY      AES-256 key: 64 hexadecimal digits, or a file with them or with 32 bytes
  --key KEY          key of an encrypted input
  --version N        1 for old readers; 2 by default
`

// parse reads the command line and the key files it names.
func parse(args []string) (*job, error) {
	f := flag.NewFlagSet("mle-convert", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	j := &job{}
	f.StringVar(&j.input, "input", "", "file to read")
	f.StringVar(&j.output, "output", "", "file to write")
	compress := f.String("compress", "none", "none, lz4, zstd or brotli")
	quantize := f.String("quantize", "", "int8 or fp16")
	sign := f.String("sign", "", "private key")
	encrypt := f.String("encrypt", "", "AES-256 key")
	key := f.String("key", "", "key of the input")
	f.IntVar(&j.write.Level, "level", 6, "1 to 9")
	f.BoolVar(&j.write.Chunked, "chunked", false, "compress each tensor by itself")
	f.IntVar(&j.write.Version, "version", 2, "1 or 2")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if j.input == "" || j.output == "" || f.NArg() > 0 {
		return nil, errors.New("usage: mle-convert --input FILE --output FILE [options]; --help lists the options")
	}
	if err := j.method(*compress, *quantize); err != nil {
		return nil, err
	}
	return j, j.keys(*sign, *encrypt, *key)
}

// method chooses how the weights are stored; a file has one way.
func (j *job) method(compress, quantize string) error {
	m, ok := compressors[compress]
	if !ok {
		return fmt.Errorf("--compress %s: none, lz4, zstd or brotli", compress)
	}
	if quantize != "" {
		if m != mle.MethodNone {
			return errors.New("--compress and --quantize exclude each other: a file has one method")
		}
		if m, ok = quantisers[quantize]; !ok {
			return fmt.Errorf("--quantize %s: int8 or fp16", quantize)
		}
	}
	j.write.Compression = m
	switch {
	case j.write.Version != 1 && j.write.Version != 2:
		return fmt.Errorf("--version %d: 1 or 2", j.write.Version)
	case j.write.Level < 1 || j.write.Level > 9:
		return fmt.Errorf("--level %d: 1 to 9", j.write.Level)
	case j.write.Chunked && m == mle.MethodNone:
		return errors.New("--chunked needs --compress or --quantize")
	}
	return nil
}

func (j *job) keys(sign, encrypt, key string) (err error) {
	if sign != "" {
		private, err := keys.ReadPrivate(sign)
		if err != nil {
			return err
		}
		ed, ok := private.(ed25519.PrivateKey)
		if !ok {
			return fmt.Errorf("%s: MLE files are signed with Ed25519, not with a %T", sign, private)
		}
		j.write.Signer = ed
	}
	if j.write.Key, err = secret(encrypt); err != nil {
		return fmt.Errorf("--encrypt: %w", err)
	}
	if j.read.Key, err = secret(key); err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	return nil
}

// secret reads a key of 32 bytes: hexadecimal digits, or the file that holds
// them or the bytes themselves. Without a value there is no key.
func secret(value string) ([]byte, error) {
	if value == "" {
		return nil, nil
	}
	if key, err := hex.DecodeString(value); err == nil && len(key) == 32 {
		return key, nil
	}
	b, err := os.ReadFile(value)
	if err != nil {
		return nil, errors.New("neither 64 hexadecimal digits nor a file that can be read")
	}
	if len(b) == 32 {
		return b, nil
	}
	key, err := hex.DecodeString(string(bytes.TrimSpace(b)))
	if err != nil || len(key) != 32 {
		return nil, errors.New("the file holds neither 32 bytes nor 64 hexadecimal digits")
	}
	return key, nil
}
