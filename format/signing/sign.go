package signing

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/keys"
	"github.com/weightmap/weightmap/tensor"
)

// Options controls how files are listed and hashed. A nil *Options is the zero value.
type Options struct {
	// Bundle is the path that the result of Sign will be written to. That file is not part of the
	// model.
	Bundle string
	// Ignore lists files and directories to leave out: slash-separated paths relative to the model.
	// Verify also leaves out the paths that the bundle records; signers before version 1.1 record
	// none.
	Ignore []string
	// AllowUnsigned permits files that the bundle does not list. All listed files must still exist.
	AllowUnsigned bool
	// FollowLinks makes Sign follow symbolic links that stay within the model. Verify follows them
	// if the bundle allows it.
	FollowLinks bool
	// ShardSize makes Sign hash each file in ranges of this many bytes. If 0, it hashes whole
	// files.
	ShardSize int64
	// Workers is the number of goroutines that hash. If 0, it is the number of CPUs.
	Workers int
	// Progress is called with the number of bytes hashed.
	Progress format.Progress
}

// checked returns a copy of o with clean paths in Ignore.
func (o *Options) checked() (c Options, err error) {
	c = *cmp.Or(o, &Options{})
	if c.Workers < 0 || c.ShardSize < 0 {
		return c, fmt.Errorf("%w: Workers %d, ShardSize %d", tensor.ErrOption, c.Workers, c.ShardSize)
	}
	var ignore []string
	for _, name := range c.Ignore {
		if ignore, err = addIgnored(ignore, name); err != nil {
			return c, fmt.Errorf("%w: %w", tensor.ErrOption, err)
		}
	}
	c.Ignore = ignore
	return c, nil
}

// Signer is the identity that signs.
type Signer struct {
	// Key is a private key for P-256, P-384 or P-521, or a crypto.Signer for one, such as a
	// hardware key.
	Key crypto.Signer
	// Chain, if set, selects the method certificate. It holds the certificate of Key, then the
	// intermediate ones.
	Chain []*x509.Certificate
}

// Sign signs the model at root, a directory or one file. The same model and *ecdsa.PrivateKey
// always give the same bundle. Sign fails if the model has no files, or has symbolic links and
// Options.FollowLinks is not set. If the type of the key is not supported, the error is ErrKey.
func Sign(ctx context.Context, root string, by Signer, opts *Options) (*Bundle, error) {
	o, err := opts.checked()
	if err != nil {
		return nil, err
	}
	m, h, err := by.material()
	if err != nil {
		return nil, err
	}
	s, err := digestAll(ctx, root, &o)
	if err != nil {
		return nil, err
	}
	payload := s.marshal()
	var random io.Reader // with a nil reader, the standard library's ECDSA signatures are deterministic
	if _, ok := by.Key.(*ecdsa.PrivateKey); !ok {
		random = rand.Reader
	}
	sig, err := by.Key.Sign(random, hashed(h, pae(payload)), h)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", tensor.ErrKey, err)
	}
	b, err := Parse(assemble(m, payload, sig))
	if err == nil {
		b.Path = o.Bundle
	}
	return b, err
}

// material returns the verification material of the bundle and the hash that goes with the key.
func (s *Signer) material() (m string, h crypto.Hash, err error) {
	if s.Key == nil {
		return "", 0, fmt.Errorf("%w: there is none to sign with", tensor.ErrKey)
	}
	if h, err = hashOf(s.Key.Public()); err != nil {
		return "", 0, err
	}
	if len(s.Chain) == 0 {
		return fmt.Sprintf(`"publicKey":{"hint":"%s"}`, pemHint(s.Key.Public())), h, nil
	}
	if !keys.Equal(s.Chain[0].PublicKey, s.Key.Public()) {
		return "", 0, fmt.Errorf("%w: the first certificate is of another key", tensor.ErrKey)
	}
	var list []string
	for _, c := range s.Chain {
		list = append(list, fmt.Sprintf(`{"rawBytes":"%s"}`, base64.StdEncoding.EncodeToString(c.Raw)))
	}
	return fmt.Sprintf(`"x509CertificateChain":{"certificates":[%s]}`, strings.Join(list, ",")), h, nil
}

// digestAll returns a statement about the files of the model at root.
func digestAll(ctx context.Context, root string, o *Options) (*statement, error) {
	t, err := openTree(root, o.FollowLinks, o.Ignore, o.Bundle)
	if err != nil {
		return nil, err
	}
	defer t.close()
	s := &statement{name: t.base, shard: o.ShardSize, links: o.FollowLinks, files: map[string][]part{}}
	s.ignore = t.recorded(o.Bundle)
	for _, f := range t.files {
		if !validName(f.name) {
			return nil, refuse(f.path, tensor.ErrUnsupported, "its name cannot be signed")
		}
		if s.shard == 0 {
			s.files[f.name] = []part{{to: f.size}}
			continue
		}
		for from := int64(0); from < f.size; from += s.shard {
			s.files[f.name] = append(s.files[f.name], part{from: from, to: min(from+s.shard, f.size)})
		}
	}
	if len(s.files) == 0 {
		return nil, refuse(root, tensor.ErrUnsupported, "there is no file to sign")
	}
	jobs, err := s.match(t, o)
	if err != nil {
		return nil, err
	}
	return s, run(ctx, jobs, o, func(j job, d digest) error {
		j.part.sum = d
		return nil
	})
}

// recorded returns the ignored paths to record, including the bundle if it is below the root.
func (t *tree) recorded(bundle string) []string {
	list := slices.Concat(defaults, t.ignore)
	if name, ok := below(t.path, bundle); ok && bundle != "" && validName(name) {
		list = append(list, name)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
