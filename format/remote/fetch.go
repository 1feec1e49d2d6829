package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// fetch reads p from off and returns the number of bytes. That may be less than len(p) only before the
// version is known, for a smaller object. After a failed attempt the next one requests the remaining
// bytes of the same version.
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

// pause waits before another attempt, or returns why there is none.
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

// backoff doubles with each try up to a limit, and varies by half, so that clients do not all retry at
// once after an outage.
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

// progress is the number of bytes that must arrive within Options.Stall.
const progress = 16 << 10

// attempt makes one request for p and returns the number of bytes received. The first attempt
// determines the version.
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

// accept compares the version of a response with the reader's.
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

// mostEmpty is the number of consecutive reads that may return neither data nor an error.
const mostEmpty = 100

// receive reads p from a body, which must end there.
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
		err = errShort // io.EOF would mean the end of the object
	default:
		err = heard("", err)
	}
	return n, &Temporary{Err: fmt.Errorf("%w: %d of %d bytes", err, n, len(p))}
}

// atEnd returns an error if the body continues. Other errors at the end do not matter, since all bytes
// were received.
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

// because replaces the error of a canceled context with its cause.
func because(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if cause := context.Cause(ctx); cause != errStalled {
		return cause
	}
	return &Temporary{Err: errStalled}
}
