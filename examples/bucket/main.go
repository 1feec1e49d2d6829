// Command bucket lists the tensors of models in a bucket. It downloads only their structure:
//
//	$ bucket -open file:///srv/models resnet.mag
//	resnet.mag: mag 1, 161 tensors, 102 MB
//	  conv1.weight  float32  [64, 3, 7, 7]  37.6 kB
//	  ...
//	1 range, 262 kB fetched of 102 MB
//
// With -tensor it fetches one tensor and prints its digest; with -verify it verifies the whole
// file. Buckets may be directories (file://) or, for tests, in memory (mem://). For a cloud,
// import its driver: _ "gocloud.dev/blob/s3blob" for s3://, and so on.
//
// object.go connects package format/remote to gocloud.dev/blob. To open only signed models, set
// Trusted in the options: &signing.Policy{Trust: trust} reads the bundle from the bucket, next to
// the model, and format.TrustKey(key) is for a signature in the file.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/remote"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/memblob"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

var tool = cli.Tool{
	Name: "bucket", Args: "-open URL KEY...",
	About:   "List the tensors of models in a bucket, and count what that fetches.",
	Example: "bucket -open file:///srv/models resnet.mag",
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return tool.Status(list(ctx, args, stdout, stderr), stderr)
}

// list continues after an error.
func list(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var s shower
	f := tool.Flags()
	address := f.String("open", "", "the bucket's `URL`")
	f.StringVar(&s.tensor, "tensor", "", "fetch the tensor of this `name` and print its digest")
	f.BoolVar(&s.verify, "verify", false, "check everything that the files carry")
	if err := tool.Parse(f, args, stdout); err != nil {
		return err
	}
	if *address == "" || f.NArg() == 0 {
		return tool.Usagef("no -open or no KEY")
	}
	bucket, err := openBucket(ctx, *address)
	if err != nil {
		return err
	}
	defer bucket.Close()
	s.ctx, s.out, s.bucket = ctx, stdout, bucket
	return tool.Each(f.Args(), stderr, func(key string) error {
		if err := s.show(key); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
}

// openBucket opens a bucket. Its errors show neither the user nor the query of the URL, which may
// be credentials.
func openBucket(ctx context.Context, address string) (*blob.Bucket, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, tool.Usagef("-open takes a URL")
	}
	bucket, err := blob.OpenBucket(ctx, address)
	if err != nil {
		return nil, errors.New(withoutCredentials(err.Error(), u))
	}
	return bucket, nil
}

// withoutCredentials replaces the user and the query of a URL in a text, as a whole and in parts.
func withoutCredentials(text string, u *url.URL) string {
	password, _ := u.User.Password()
	secrets := []string{u.RawQuery, u.User.String(), password}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		_, value, _ := strings.Cut(pair, "=")
		secrets = append(secrets, value)
		plain, err := url.QueryUnescape(value)
		if err == nil {
			secrets = append(secrets, plain)
		}
	}
	for _, secret := range secrets {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "...")
		}
	}
	return text
}

// shower prints models in a bucket.
type shower struct {
	ctx    context.Context
	out    io.Writer
	bucket *blob.Bucket
	tensor string
	verify bool
}

// open opens the model in an object of the bucket.
func open(ctx context.Context, bucket *blob.Bucket, key string, o *remote.Options) (*format.Model, *remote.Reader, error) {
	r, err := remote.NewObjectReaderAt(ctx, &object{bucket, key}, o)
	if err != nil {
		return nil, nil, err
	}
	m, err := format.OpenReaderAt(r, r.Size(), &format.Options{Context: ctx})
	return m, r, err
}

// show prints a model and what was fetched.
func (s *shower) show(key string) error {
	m, r, err := open(s.ctx, s.bucket, key, nil)
	if err != nil {
		return err
	}
	defer m.Close()
	fmt.Fprintf(s.out, "%s: %s %s, %s, %s\n", cli.Printable(key), m.Format(), m.Version(), cli.Count(m.Len(), "tensor"), cli.Size(r.Size()))
	if err := s.look(m); err != nil {
		return err
	}
	fetched := r.Stats()
	_, err = fmt.Fprintf(s.out, "%s, %s fetched of %s\n", cli.Count(int(fetched.Requests), "range"), cli.Size(fetched.Bytes), cli.Size(r.Size()))
	return err
}

// look prints a tensor, the result of a verification, or the list of tensors.
func (s *shower) look(m *format.Model) error {
	if s.verify {
		if _, err := m.Verify(s.ctx, nil); err != nil {
			return err
		}
		fmt.Fprintln(s.out, "verified")
	}
	if s.tensor != "" {
		v, err := m.Tensor(s.tensor)
		if err != nil {
			return err
		}
		sum, err := v.Digest()
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "%s: xxh64 %016x\n", cli.Printable(s.tensor), sum)
	}
	if s.verify || s.tensor != "" {
		return nil
	}
	t := cli.NewTable(cli.Column{}, cli.Column{}, cli.Column{}, cli.Column{Right: true})
	t.Indent = "  "
	for name, v := range m.Tensors() {
		info := v.Info()
		t.Row(name, info.TypeName(), info.Shape.String(), cli.Size(info.Size))
	}
	return t.Write(s.out, 0)
}
