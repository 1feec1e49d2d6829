// Package modelfile opens models for the commands, by path, address or standard input, and reads
// their tensors: whole models for their parts, original names, values in pieces. It also has what
// all commands share: their options to open files, command lines to suggest, patterns for names.
package modelfile

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/remote"
	"github.com/weightmap/weightmap/tensor"
)

// The file names for standard input and output.
const (
	StandardInput  = "-"
	StandardOutput = "-"
)

// Stdin is a variable for tests.
var Stdin = os.Stdin

// Access holds the options for reading a file, which all commands share.
type Access struct {
	tool   *cli.Tool
	Key    *cli.KeyOption
	trust  *cli.KeyOption // nil if the command lacks the option
	memory *cli.ByteSize
	root   string
	Part   bool // take a part of a model as it is
}

// AccessFlags adds -key, -max-memory and -root.
func AccessFlags(c *cli.Tool, f *flag.FlagSet) *Access {
	a := &Access{tool: c, Key: c.KeyFlag(f), memory: c.MemoryFlag(f)}
	f.StringVar(&a.root, "root", "", "follow links in the model's files if they stay below `DIR`")
	return a
}

// PartFlag adds -part.
func (a *Access) PartFlag(f *flag.FlagSet) {
	f.BoolVar(&a.Part, "part", false, "open a part of a model alone, not the whole model")
}

// TrustFlags adds -trust as well.
func TrustFlags(c *cli.Tool, f *flag.FlagSet) *Access {
	a := AccessFlags(c, f)
	a.trust = c.TrustFlag(f)
	return a
}

// Options validates the options. Checksums are verified before data is used, so that a damaged file
// is not printed as values.
func (a *Access) Options(ctx context.Context) (o *format.Options, err error) {
	o = &format.Options{Context: ctx, Check: format.CheckTouch, MaxMemory: int64(*a.memory),
		Root: a.root}
	o.Key, err = a.Key.Secret(ctx)
	if err != nil || a.trust == nil {
		return o, err
	}
	key, err := a.trust.Public(ctx)
	if err != nil {
		return o, err
	}
	if key != nil {
		o.Trusted = format.TrustKey(key)
	}
	return o, nil
}

// OpenModel opens a file of any format, an address, or standard input.
func OpenModel(name string, o *format.Options) (*format.Model, error) {
	if name == StandardInput {
		return openInput(o)
	}
	if IsAddress(name) {
		m, err := remote.Open(o.Context, name, &remote.Options{Open: o})
		return m, Hint(err, o.Key)
	}
	if err := checkScheme(name); err != nil {
		return nil, err
	}
	m, err := format.Open(name, o)
	switch {
	case err == nil:
		return m, nil
	case errors.Is(err, fs.ErrNotExist) && !Exists(name):
		err = adviseMissing(name, err)
	case isPipe(name):
		err = fmt.Errorf("%s is a pipe: read it with - for the file and < %s at the end of the line",
			name, name)
	}
	return nil, Hint(err, o.Key)
}

// schemes says what to do with addresses of other kinds.
var schemes = []struct{ name, advice string }{
	{"file", "use the path"},
	{"s3", "copy the file with aws s3 cp, or use the https address that aws s3 presign prints"},
	{"gs", "copy the file with gcloud storage cp, or use the https address that gcloud storage sign-url prints"},
	{"az", "copy the file with azcopy, or use its https address"},
	{"oci", "pull the artifact with oras pull, or docker model pull, and open the file of its largest layer"},
	{"ollama", "use the blob of the model below ~/.ollama/models/blobs"},
}

// checkScheme returns an error for an address that is not read, which says what works. It quotes
// nothing of the address but a path.
func checkScheme(name string) error {
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok || Exists(name) || strings.ContainsAny(scheme, "/\\. ") {
		return nil
	}
	advice := "use a path or an http, https or hf address"
	for _, s := range schemes {
		if s.name == scheme {
			advice = s.advice
		}
	}
	err := cli.BadArgument(fmt.Errorf("cannot read %s:// addresses: %s", cli.Printable(scheme),
		advice))
	u, parseErr := url.Parse(name)
	if scheme != "file" || parseErr != nil || strings.ContainsAny(rest, "?#@") || u.Path == "" {
		return err
	}
	return cli.Advised(err, "try: "+Quoted([]string{"weightmap", "inspect", u.Path}))
}

// IsAddress reports whether name is a URL or a file on the Hugging Face Hub.
func IsAddress(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && (scheme == "http" || scheme == "https" || scheme == "hf")
}

// ShownName returns the name of a model for messages: an address without user and query, which may
// be credentials.
func ShownName(name string) string {
	if !IsAddress(name) {
		return name
	}
	u, err := url.Parse(name)
	if err != nil {
		return "the address"
	}
	if u.User == nil && !strings.ContainsAny(name, "?#") {
		return name
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Elsewhere describes the origin of a model that is not a file, or returns "".
func Elsewhere(name string) string {
	switch {
	case name == StandardInput:
		return "standard input"
	case IsAddress(name):
		return "an address"
	}
	return ""
}

// openInput maps standard input if it is a file; otherwise it reads it into memory.
func openInput(o *format.Options) (*format.Model, error) {
	st, err := Stdin.Stat()
	if err == nil && st.Mode().IsRegular() {
		m, err := format.OpenFile(Stdin, 0, -1, o)
		var located *tensor.Error
		if errors.As(err, &located) {
			located.Path = "standard input"
		}
		return m, Hint(err, o.Key)
	}
	content, err := cli.Await(o.Context, func() ([]byte, error) { return io.ReadAll(Stdin) })
	if err != nil {
		return nil, err
	}
	m, err := format.OpenBytes(content, o)
	if err != nil {
		err = fmt.Errorf("standard input: %w", err)
	}
	return m, Hint(err, o.Key)
}

// isPipe reports whether a path names a pipe.
func isPipe(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode()&fs.ModeNamedPipe != 0
}

// Verified verifies a model and shows progress.
func Verified(ctx context.Context, m *format.Model, errs io.Writer,
	o *format.VerifyOptions) (*format.Coverage, error) {
	progress := cli.NewProgress(errs, "verifying")
	defer progress.Finish()
	o.Progress = progress.Report
	return m.Verify(ctx, o)
}
