package format

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"path"
	"sync"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// trusted is what a Trust requires of the files of a model.
type trusted struct {
	path   string // that the model is opened by
	o      *Options
	memory *driver.Memory
	beside func() (d door, isShared bool) // where files next to the model are
	source source.Options
	own    UnverifiedFile // the file that opens the model
	sealer source.Sealer

	mu       sync.Mutex
	isDone   bool // Check has returned
	required map[string][]Digest
	key      crypto.PublicKey // of a signature in the file, nil for none
	ahead    map[string]ahead // files that were compared and are opened next
}

// ask calls the Check of a Trust.
func (t *trusted) ask(ctx context.Context, trust Trust) error {
	err := trust.Check(ctx, &Unverified{t})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.isDone = true
	return err
}

// modelPath is Unverified.Path.
func (t *trusted) modelPath() string { return t.path }

// files is Unverified.Files.
func (t *trusted) files() []UnverifiedFile {
	if !t.own.Open {
		return nil
	}
	return []UnverifiedFile{t.own}
}

// errChecked is the error of an Unverified that was kept.
var errChecked = fmt.Errorf("%w: Trust.Check has returned", tensor.ErrClosed)

// mostBeside is the size of the largest file that ReadFile reads.
const mostBeside = 64 << 20

// readFile is Unverified.ReadFile.
func (t *trusted) readFile(name string) ([]byte, error) {
	if err := t.change(func() {}); err != nil {
		return nil, err
	}
	if !isFileName(name) {
		return nil, errFileName(name)
	}
	door, isShared := t.beside()
	if !isShared { // it is only for this file
		defer door.Close()
	}
	h, err := door.open(name)
	if err != nil {
		return nil, err
	}
	if h.size > mostBeside {
		h.close()
		return nil, &tensor.Error{Path: door.Path(name), Offset: -1, Err: fmt.Errorf("%w: %d bytes, the limit is %d", tensor.ErrLimit, h.size, mostBeside)}
	}
	o := t.source
	o.Parse = true // not by a mapping, which may change while it is parsed
	r, err := h.region(door.Path(name), o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Copy(0, r.Size())
}

// change calls f, which may change what is required, while Check runs.
func (t *trusted) change(f func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isDone {
		return errChecked
	}
	f()
	return nil
}

// require is Unverified.Require.
func (t *trusted) require(name string, digests ...Digest) error {
	if !isFileName(name) {
		return errFileName(name)
	}
	if len(digests) == 0 {
		return fmt.Errorf("%w: no Digest for %.200q", tensor.ErrOption, name)
	}
	for i := range digests {
		if err := checkDigest(&digests[i]); err != nil {
			return err
		}
	}
	return t.change(func() { t.required[name] = append(t.required[name], digests...) })
}

// checkSignature is Unverified.CheckSignature. All public keys of package crypto have an Equal
// method for public keys; private keys do not. The format checks the type of the key.
func (t *trusted) checkSignature(key crypto.PublicKey) error {
	if err := checkPublic(key); err != nil {
		return err
	}
	isOther := false
	err := t.change(func() {
		isOther = t.key != nil && !t.key.(publicKey).Equal(key)
		t.key = key
	})
	if isOther {
		return fmt.Errorf("%w: a file has one signature, and two keys must have made it", tensor.ErrSignature)
	}
	return err
}

// admit compares a file with what was required of it, or prepares for that, before anything of it
// is used. name is "" for a file without a name. It works on nil, which requires nothing.
func (t *trusted) admit(ctx context.Context, name string, r *source.Region) error {
	if t == nil {
		return nil
	}
	isCompared, err := t.takeAhead(name, r)
	if !isCompared {
		err = t.compare(t.hashing(ctx), name, r)
	}
	return wire.Place(err, "", r.Path(), "")
}

// hashing returns how one file is hashed.
func (t *trusted) hashing(ctx context.Context) *hashing {
	return &hashing{ctx: ctx, memory: t.memory, fetchers: t.o.Workers, workers: t.o.Workers, report: t.o.Progress}
}

// ahead is a file that was compared before it is opened for use.
type ahead struct {
	region *source.Region // of a closed file; it has the hashes of what was compared
	err    error
}

// compareAhead compares files of a directory on several goroutines. What it has read of them is
// forgotten, but not its hashes.
func (t *trusted) compareAhead(door door, names []string) {
	o := t.o
	p := &work.Progress{Report: o.Progress}
	for _, name := range names {
		stamp, err := door.stamp(name)
		if err != nil {
			break // opening it fails, too
		}
		p.Expect(stamp.Size())
	}
	list := make([]ahead, len(names))
	// An error ends the work, and what was not compared is compared when it is opened.
	_ = work.Each(o.Context, len(names), o.Workers, func(i int) error {
		h, err := door.open(names[i])
		if err != nil {
			return err
		}
		defer h.close()
		file, ok := h.file.(io.ReaderAt)
		if !ok {
			return nil // it would be read twice
		}
		r := source.FromReaderAt(file, h.size)
		r.SetOrigin("", door.Path(names[i]))
		err = t.compare(&hashing{ctx: o.Context, memory: t.memory, fetchers: o.Workers, workers: 1, progress: p}, names[i], r)
		if err == nil || errors.Is(err, tensor.ErrSignature) {
			list[i] = ahead{r, err}
		}
		return err
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ahead = make(map[string]ahead)
	for i, a := range list {
		if a.region != nil {
			t.ahead[names[i]] = a
		}
	}
}

// takeAhead reports whether a file was compared by compareAhead, with what result. Then r compares
// what it reads with what was read.
func (t *trusted) takeAhead(name string, r *source.Region) (isCompared bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, ok := t.ahead[name]
	if !ok {
		return false, nil
	}
	delete(t.ahead, name)
	if a.err == nil && !r.SealAs(a.region) {
		return true, errDiffers
	}
	return true, a.err
}

func (t *trusted) compare(in *hashing, name string, r *source.Region) error {
	digests := t.digests(name)
	switch {
	case name == "" && len(t.required) > 0:
		if err := t.sealer.Seal(r, nil, nil); err != nil {
			return err
		}
		return in.compareAny(r, t.required)
	case len(digests) > 0:
		return t.compareWith(in, r, digests)
	case t.key != nil: // the format checks the signature over what it parses
		return t.sealer.Seal(r, nil, nil)
	}
	return errUnsigned
}

// forget makes the next reads read the files. It works on nil.
func (t *trusted) forget() {
	if t != nil {
		t.sealer.Forget()
	}
}

// covers reports whether a file may be used, if it is as required.
func (t *trusted) covers(name string) bool {
	return t.key != nil || len(t.digests(name)) > 0
}

// digests returns the digests that a file must have.
func (t *trusted) digests(name string) []Digest { return t.required[path.Clean(name)] }

var errUnsigned = fmt.Errorf("%w: it is not among the files that were signed", tensor.ErrSignature)

// compareWith compares a file with its digests: now, or range by range where a reader has to fetch
// it.
func (t *trusted) compareWith(in *hashing, r *source.Region, digests []Digest) error {
	ranges, err := rangesOf(digests, r.Size())
	if err != nil {
		return err
	}
	isAhead := in.progress != nil
	if r.IsReader() && !isAhead && isCheckedByRange(ranges) {
		var ends []int64
		for _, s := range ranges {
			ends = append(ends, s.end)
		}
		return t.sealer.Seal(r, ends, func(i int, b []byte) error { return ranges[i].check(b) })
	}
	if err := t.sealer.Seal(r, nil, nil); err != nil {
		return err
	}
	return in.compareRanges(r, ranges)
}

// publicKey is what all public keys of package crypto implement, and private keys do not.
type publicKey interface{ Equal(crypto.PublicKey) bool }

// checkPublic returns an error unless key is a public key. The format checks its type.
func checkPublic(key crypto.PublicKey) error {
	if _, ok := key.(publicKey); ok {
		return nil
	}
	return fmt.Errorf("%w: %w: the trusted key is no public key, but a %T", tensor.ErrKey, tensor.ErrSignature, key)
}
