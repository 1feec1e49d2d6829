package cli

import (
	"bytes"
	"context"
	"crypto"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/weightmap/weightmap/internal/keys"
)

// keySize is the number of bytes of an AES-256 key.
const keySize = 32

// ErrKey says what is wrong with a key without repeating it: error messages end
// up in logs.
var ErrKey = errors.New("the key is not 64 hexadecimal digits")

var errEmpty = errors.New("the key is empty; to use none, leave the option out")

// KeyOption is an option that gives a key, or names the file of one. It knows an empty
// value, as a variable that is not set leaves, from an option that was not given: without
// the key, files would be written plainly, or be trusted unchecked.
type KeyOption struct {
	name, text string // the name with its dash
	given      bool
}

// KeyOption adds an option to f.
func (t *Tool) KeyOption(f *flag.FlagSet, name, usage string) *KeyOption {
	o := &KeyOption{name: t.dash() + name}
	f.Var(o, name, usage)
	return o
}

// KeyFlag adds -key, for Secret.
func (t *Tool) KeyFlag(f *flag.FlagSet) *KeyOption {
	return t.KeyOption(f, "key", "key of an encrypted file, `HEX` of 64 digits, or @FILE that holds them")
}

// TrustFlag adds -trust, for Public.
func (t *Tool) TrustFlag(f *flag.FlagSet) *KeyOption {
	return t.KeyOption(f, "trust", "public key that must have signed the files, in a `PUB.pem`")
}

// String implements flag.Value. It does not tell the key.
func (o *KeyOption) String() string { return "" }

// Set implements flag.Value. What is wrong is said later: package flag would repeat the key.
func (o *KeyOption) Set(text string) error {
	o.text, o.given = text, true
	return nil
}

// Given reports whether the option was, even if it is empty.
func (o *KeyOption) Given() bool { return o.given }

// Secret returns the key of an encrypted file, nil if the option was not given. It is in
// hexadecimal digits or, because every user of a system sees command lines, in a file of
// them whose name follows an @.
func (o *KeyOption) Secret(ctx context.Context) ([]byte, error) {
	return ReadKey(ctx, o, func(text string) ([]byte, error) {
		path, ok := strings.CutPrefix(text, "@")
		if !ok {
			return ParseKey(text)
		}
		b, err := KeyFile(path)
		if err != nil {
			return nil, err
		}
		key, err := ParseKey(string(bytes.TrimSpace(b)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return key, nil
	})
}

// Public reads the public key that the option names, nil if it was not given.
func (o *KeyOption) Public(ctx context.Context) (crypto.PublicKey, error) {
	return ReadKey(ctx, o, keys.ReadPublic)
}

// Private reads the private key that the option names, nil if it was not given.
func (o *KeyOption) Private(ctx context.Context) (crypto.Signer, error) {
	return ReadKey(ctx, o, keys.ReadPrivate)
}

// Same reports whether two options name the same key, which may be readable only once.
func (o *KeyOption) Same(other *KeyOption) bool {
	return o.given && other.given && o.text == other.text
}

// ReadKey has f make a key of what was given; of nothing it makes the zero value.
func ReadKey[K any](ctx context.Context, o *KeyOption, f func(text string) (K, error)) (key K, err error) {
	if !o.given {
		return key, nil
	}
	if err = errEmpty; o.text != "" {
		key, err = Await(ctx, func() (K, error) { return f(o.text) }) // it may come through a pipe
	}
	if err != nil {
		return key, BadArgument(fmt.Errorf("%s: %w", o.name, err))
	}
	return key, nil
}

// longestKeyFile leaves room for white space.
const longestKeyFile = 1 << 10

// KeyFile returns what a file with a key holds, which is not much.
func KeyFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, longestKeyFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > longestKeyFile {
		return nil, fmt.Errorf("%s: %w: more than %d bytes", path, ErrKey, longestKeyFile)
	}
	return b, nil
}

// ParseKey reads the key of an encrypted file.
func ParseKey(text string) ([]byte, error) {
	key, err := hex.DecodeString(text)
	switch {
	case err != nil:
		return nil, ErrKey
	case len(key) != keySize:
		return nil, fmt.Errorf("%w: %s, not %d", ErrKey, Count(len(key), "byte"), keySize)
	}
	return key, nil
}
