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
)

// keySize is the number of bytes of an AES-256 key.
const keySize = 32

// ErrKey is returned for a malformed key. It does not contain the key, since error messages are
// often logged.
var ErrKey = errors.New("the key is not 64 hexadecimal digits")

var errEmpty = errors.New("the key is empty; leave the option out to use none")

// KeyOption is an option whose value is a key or the name of a key file. An empty value, as from an
// unset shell variable, is an error: treated as a missing option, it would write a file unencrypted
// or skip a check.
type KeyOption struct {
	name, text string // the name includes the dash
	given      bool
}

// KeyOption adds a key option to f.
func (t *Tool) KeyOption(f *flag.FlagSet, name, usage string) *KeyOption {
	o := &KeyOption{name: t.dash() + name}
	f.Var(o, name, usage)
	return o
}

// KeyFlag adds -key, to be read with Secret.
func (t *Tool) KeyFlag(f *flag.FlagSet) *KeyOption {
	return t.KeyOption(f, "key", "key of an encrypted file: `HEX` of 64 digits, or @FILE with them")
}

// TrustFlag adds -trust, to be read with Public.
func (t *Tool) TrustFlag(f *flag.FlagSet) *KeyOption {
	return t.KeyOption(f, "trust", "public key of the required signer, in `PUB.pem`")
}

// String implements flag.Value. It does not return the key.
func (o *KeyOption) String() string { return "" }

// Set implements flag.Value. It does not validate the key, since package flag would print it.
func (o *KeyOption) Set(text string) error {
	o.text = text
	o.given = true
	return nil
}

// Given reports whether the option was set, even to "".
func (o *KeyOption) Given() bool { return o.given }

// Secret returns the key of an encrypted file, or nil if the option is not set. The value is
// hexadecimal digits, or "@" and the name of a file with the digits, because other users can see
// command lines.
func (o *KeyOption) Secret(ctx context.Context) ([]byte, error) {
	return ReadKey(ctx, o, func(text string) ([]byte, error) {
		path, ok := strings.CutPrefix(text, "@")
		if !ok {
			key, err := ParseKey(text)
			if err != nil && isFile(text) {
				err = errors.New("this is the name of a file: @ before it reads the key from the file")
			}
			return key, err
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

// isFile reports whether a path names a file.
func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// File returns the value of an option that names a file.
func (o *KeyOption) File() string { return o.text }

// Public reads the public key in the file that the option names. It returns nil if the option is
// not set.
func (o *KeyOption) Public(ctx context.Context) (crypto.PublicKey, error) {
	return ReadKey(ctx, o, ReadPublic)
}

// Private reads the private key in the file that the option names. It returns nil if the option is
// not set.
func (o *KeyOption) Private(ctx context.Context) (crypto.Signer, error) {
	return ReadKey(ctx, o, ReadPrivate)
}

// Same reports whether two options name the same file, which may be readable only once.
func (o *KeyOption) Same(other *KeyOption) bool {
	return o.given && other.given && o.text == other.text
}

// ReadKey returns f of the option's value, or the zero value if the option is not set.
func ReadKey[K any](ctx context.Context, o *KeyOption, f func(text string) (K, error)) (key K, err error) {
	if !o.given {
		return key, nil
	}
	err = errEmpty
	if o.text != "" {
		key, err = Await(ctx, func() (K, error) { return f(o.text) }) // the file may be a pipe
	}
	if err != nil {
		return key, BadArgument(fmt.Errorf("%s: %w", o.name, err))
	}
	return key, nil
}

// longestKeyFile is the largest size of a key file; it allows for white space.
const longestKeyFile = 1 << 10

// KeyFile returns the content of a small file with a key.
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

// ParseKey parses the key of an encrypted file.
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
