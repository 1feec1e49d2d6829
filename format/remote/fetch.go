package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// fetch fills p from off and returns how many bytes that were. Before the version is known,
// an object with fewer is one; later there are always as many as p has. What an attempt
// brought before it failed stays: the next asks for the rest, of the same version.
func (r *Reader) fetch(ctx context.Context, p []byte, off int64) (n int, err error) {
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	for tries := 0; ; tries++ {
		if r.version.known() {
			p = p[:min(int64(len(p)), r.version.Size-off)]
		}
		k, err := r.attempt(ctx, p[n:], off+int64(n))
		n += k
		if err == nil {
			return n, nil
		}
		if err := r.pause(ctx, err, tries); err != nil {
			return n, err
		}
		r.stats.retries.Add(1)
	}
}

// pause waits before another attempt, or says why there is none.
func (r *Reader) pause(ctx context.Context, failed error, tries int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var t *Temporary
	if !errors.As(failed, &t) {
		return failed
	}
	if tries >= r.o.Retries {
		return fmt.Errorf("%w after %d attempts: %w", ErrUnavailable, tries+1, failed)
	}
	if t.After > r.o.MaxWait {
		return fmt.Errorf("%w for %v: %w", ErrUnavailable, t.After, failed)
	}
	timer := time.NewTimer(max(r.backoff(tries), t.After))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// backoff doubles with each try, up to a limit, and varies by half, so that the clients of a
// server that was away do not come back at the same moment.
func (r *Reader) backoff(tries int) time.Duration {
	d := r.o.Backoff
	for range tries {
		if d >= r.o.MaxWait/2 {
			d = r.o.MaxWait
			break
		}
		d *= 2
	}
	return min(d/2+rand.N(d+1), r.o.MaxWait)
}

// progress is how many bytes have to come within Options.Stall.
const progress = 16 << 10

// attempt makes one request for p, and returns how many bytes it brought. The first decides
// which version is read.
func (r *Reader) attempt(ctx context.Context, p []byte, off int64) (n int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(r.o.Stall, func() { cancel(errStalled) })
	defer watch.Stop()
	r.stats.requests.Add(1)
	a, err := r.object.Get(ctx, off, int64(len(p)), r.version)
	if err != nil {
		return 0, because(ctx, err)
	}
	if a.Body == nil {
		return 0, nonsense("no body")
	}
	if err = r.accept(&a.Version); err == nil {
		p = p[:min(int64(len(p)), r.version.Size-off)]
		n, err = r.receive(ctx, a.Body, p, watch)
	}
	if closing := a.Body.Close(); closing != nil && err == nil {
		n, err = 0, closing
	}
	return n, because(ctx, err)
}

// accept compares the version of an answer with that which is read.
func (r *Reader) accept(v *Version) error {
	switch {
	case v.Size < 0:
		return nonsense("an object of %d bytes", v.Size)
	case r.version.known() && !v.same(&r.version):
		return ErrChanged
	case r.version.known():
	case !v.Strong && !r.o.AllowUnversioned:
		return ErrUnversioned
	default:
		r.version = *v
	}
	return nil
}

// mostEmpty is how many times in a row a body may say neither that it has bytes nor that it ends.
const mostEmpty = 100

// receive fills p from a body, which must have no more.
func (r *Reader) receive(ctx context.Context, body io.Reader, p []byte, watch *time.Timer) (n int, err error) {
	fresh, empty := 0, 0
	for n < len(p) && err == nil && ctx.Err() == nil {
		var k int
		k, err = body.Read(p[n:])
		if k < 0 || k > len(p)-n {
			return n, nonsense("%d bytes read into %d", k, len(p)-n)
		}
		if empty++; k > 0 {
			empty = 0
		} else if empty > mostEmpty {
			err = io.ErrNoProgress
		}
		n += k
		r.stats.bytes.Add(int64(k))
		if fresh += k; fresh >= progress {
			fresh = 0
			watch.Reset(r.o.Stall)
		}
	}
	switch {
	case n == len(p):
		return n, atEnd(body)
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err = errShort // not of the object, as io.EOF would say
	default:
		err = heard("", err)
	}
	return n, &Temporary{Err: fmt.Errorf("%w: %d of %d bytes", err, n, len(p))}
}

// atEnd refuses a body that goes on. Whatever else happens at the end, all bytes are there.
func atEnd(body io.Reader) error {
	var more [1]byte
	for range mostEmpty {
		switch n, err := body.Read(more[:]); {
		case n != 0:
			return nonsense("a body with more bytes than were asked for")
		case err != nil:
			return nil
		}
	}
	return nil
}

// because replaces what comes of a context that ended by why it did.
func because(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if cause := context.Cause(ctx); cause != errStalled {
		return cause
	}
	return &Temporary{Err: errStalled}
}
