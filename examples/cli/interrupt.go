package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Target is an output file, with the state of its path before the command.
type Target struct {
	path string
	old  os.FileInfo // nil if nothing was there
}

// NewTarget records what is at path.
func NewTarget(path string) *Target {
	old, _ := os.Stat(path)
	return &Target{path, old}
}

// Ended replaces *err by an error that says what happened to the file, if writing it was
// interrupted. Call it with defer.
func (t *Target) Ended(err *error) {
	if !errors.Is(*err, context.Canceled) {
		return
	}
	now, _ := os.Stat(t.path)
	if now == nil || t.old != nil && os.SameFile(t.old, now) {
		*err = interruption("interrupted: " + t.path + " was not written")
		return
	}
	*err = interruption("interrupted: " + t.path + " was written, but not verified")
}

// interruption is an error that says what happened to a file.
type interruption string

func (i interruption) Error() string { return string(i) }

func (interruption) Is(target error) bool { return target == context.Canceled }

// Main calls run and exits with the status it returns. The first interrupt cancels the context, so
// that run can remove incomplete files; a second one ends the program at once.
func Main(run func(ctx context.Context, args []string, out, errs io.Writer) int) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(Interrupted)
	}()
	os.Exit(run(ctx, os.Args[1:], &stoppable{ctx, os.Stdout}, Redacting(os.Stderr, os.Args[1:])))
}

// stoppable is a file whose writes end when ctx is done: a full pipe or a stopped terminal
// would hold them forever. The bytes of an abandoned write may change, so the program must exit.
type stoppable struct {
	ctx context.Context
	f   *os.File
}

// Write implements io.Writer.
func (s *stoppable) Write(p []byte) (int, error) {
	return Await(s.ctx, func() (int, error) { return s.f.Write(p) })
}

// Await calls f and returns its result, or returns early when ctx is done, since reading and
// writing pipes and terminals cannot be canceled.
func Await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := f()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
