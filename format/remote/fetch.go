package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// fetch reads p from off and returns the number of bytes. That may be less than len(p) only before
// the version is known, for a smaller object. After a failed attempt the next one requests the
// remaining bytes of the same version.
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
		if err := r.o.pause(ctx, err, tries); err != nil {
			return n, err
		}
		r.stats.retries.Add(1)
	}
}

// pause waits before another attempt, or returns why there is none.
func (o *Options) pause(ctx context.Context, failed error, tries int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var t *Temporary
	if !errors.As(failed, &t) {
		return failed
	}
	if tries >= o.Retries {
		return fmt.Errorf("%w after %d attempts: %w", ErrUnavailable, tries+1, failed)
	}
	if t.After > o.MaxWait {
		return fmt.Errorf("%w for %v: %w", ErrUnavailable, t.After, failed)
	}
	select {
	case <-time.After(max(o.backoff(tries), t.After)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// backoff doubles with each try up to a limit, and varies by half, so that clients do not all retry
// at once after an outage.
func (o *Options) backoff(tries int) time.Duration {
	d := o.MaxWait
	if o.Backoff < d>>tries {
		d = o.Backoff << tries
	}
	return min(d/2+rand.N(d+1), o.MaxWait)
}

// progress is the number of bytes that must arrive within Options.Stall.
const progress = 16 << 10

// attempt makes one request for p and returns the number of bytes received. The first attempt
// determines the version.
func (r *Reader) attempt(ctx context.Context, p []byte, off int64) (n int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}()
	watch := time.AfterFunc(r.o.Stall, func() { cancel(errStalled) })
	defer watch.Stop()
	r.stats.requests.Add(1)
	a, err := r.object.Get(ctx, off, int64(len(p)), r.version)
	if err != nil {
		return 0, err
	}
	if err = r.accept(&a.Version); err == nil {
		p = p[:min(int64(len(p)), r.version.Size-off)]
		if n, err = r.receive(ctx, a.Body, p, watch); err != nil {
			err = &Temporary{Err: fmt.Errorf("the body ended after %d of %d bytes: %w", n, len(p), heard(err))}
		}
	}
	if closing := a.Body.Close(); closing != nil && err == nil {
		n = 0
		err = closing
	}
	return n, err
}

// accept compares the version of a response with the reader's.
func (r *Reader) accept(v *Version) error {
	known := r.version.known()
	switch {
	case v.Size < 0:
		return nonsense("an object of %d bytes", v.Size)
	case known && (v.Size != r.version.Size || v.Tag != r.version.Tag):
		return ErrChanged
	case !known && !v.Strong && !r.o.AllowUnversioned:
		return ErrUnversioned
	case !known:
		r.version = *v
	}
	return nil
}

// receive reads p from a body, counts the bytes, and resets the timer of Options.Stall.
func (r *Reader) receive(ctx context.Context, body io.Reader, p []byte, watch *time.Timer) (n int, err error) {
	for fresh := 0; n < len(p); {
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return n, err
		}
		var k int
		if k, err = body.Read(p[n:]); k < 0 || k > len(p)-n {
			return n, nonsense("%d bytes read into %d", k, len(p)-n)
		}
		n += k
		r.stats.bytes.Add(int64(k))
		if fresh += k; fresh >= progress {
			fresh = 0
			watch.Reset(r.o.Stall)
		}
	}
	return n, nil
}
