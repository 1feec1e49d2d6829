package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/weightmap/weightmap/format/remote"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// object implements remote.Object for an object of a bucket. See package remote for windows,
// parallel ranges and retries.
//
// Not every store can read a range of a given version, so the version is looked up before the first
// range and after each range: if it is the same, the range is from that version. For a particular
// store, blob.ReaderOptions.BeforeRead can set a condition instead, which saves these requests.
type object struct {
	bucket *blob.Bucket
	key    string
}

// Get implements remote.Object.
func (o *object) Get(ctx context.Context, off, n int64, known remote.Version) (remote.Answer, error) {
	if known == (remote.Version{}) {
		var err error
		if known, err = o.version(ctx); err != nil {
			return remote.Answer{}, err
		}
		n = min(n, known.Size)
	}
	if n == 0 {
		return remote.Answer{Version: known, Body: http.NoBody}, nil
	}
	r, err := o.bucket.NewRangeReader(ctx, o.key, off, n, nil)
	if err != nil {
		return remote.Answer{}, classified(err)
	}
	if r.Size() != known.Size {
		r.Close()
		return remote.Answer{}, remote.ErrChanged
	}
	return remote.Answer{Version: known, Body: &body{r, ctx, o, known, n}}, nil
}

// Sibling implements remote.Directory.
func (o *object) Sibling(name string) (remote.Object, error) {
	return &object{o.bucket, path.Join(path.Dir(o.key), name)}, nil
}

// String returns the name of the object in errors.
func (o *object) String() string { return o.key }

// version returns the current version.
func (o *object) version(ctx context.Context) (remote.Version, error) {
	a, err := o.bucket.Attributes(ctx, o.key)
	if err != nil {
		return remote.Version{}, classified(err)
	}
	v := remote.Version{Size: a.Size, Tag: fmt.Sprintf("%.500s %d", a.ETag, a.ModTime.UnixNano())}
	v.Strong = a.ETag != "" && !strings.HasPrefix(a.ETag, "W/")
	return v, nil
}

// classified marks errors that a retry may fix.
func classified(err error) error {
	switch gcerrors.Code(err) {
	case gcerrors.NotFound, gcerrors.PermissionDenied, gcerrors.InvalidArgument, gcerrors.FailedPrecondition, gcerrors.Unimplemented:
		return err
	}
	return &remote.Temporary{Err: err}
}

// body is the content of a range. Close fails if the version changed.
type body struct {
	io.ReadCloser
	ctx   context.Context
	o     *object
	known remote.Version
	left  int64
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

// Close implements io.Closer. It does not check the version if the range was not read to its end,
// since the caller will then request it again.
func (b *body) Close() error {
	if err := b.ReadCloser.Close(); err != nil {
		return classified(err)
	}
	if b.left > 0 {
		return nil
	}
	now, err := b.o.version(b.ctx)
	if err == nil && now != b.known {
		err = remote.ErrChanged
	}
	return err
}
