package format

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestCoverage: the checksum that covers each tensor is recorded, and what was not asked
// for is not looked at.
func TestCoverageOfToys(t *testing.T) {
	var looked []bool
	data := ramp(64)
	weights := sha256.Sum256(data[16:24])
	sums := []driver.Sum{
		{Name: "header", Accept: []driver.Digest{digestOf(driver.CRC32, data[32:40])}, Ranges: []driver.Range{{Offset: 32, Size: 8}}},
		{Name: "graph", Ranges: []driver.Range{{Offset: 40, Size: 8}}},
		checked(func(v driver.Verification) error {
			looked = []bool{v.Wanted(0), v.Wanted(1), v.Wanted(2), v.Wanted(3)}
			v.Signed(false)
			return nil
		}),
		{
			Name: "weights", Hidden: true, Ranges: []driver.Range{{Offset: 16, Size: 8}},
			Accept: []driver.Digest{{Hash: &driver.Hash{Name: "sha256", New: sha256.New}, Bytes: weights[:]}},
		},
	}
	file := driver.Parsed{
		TensorSum: func(i int) driver.Digest {
			if i == 1 {
				return digestOf(driver.Adler32, data[8:16])
			}
			return driver.Digest{}
		},
		Sums: func() []driver.Sum { return sums },
		SumsOf: func(i int) (from, to int) {
			if i == 2 {
				return 3, 4
			}
			return 0, 0
		},
		Load:      func(int) ([]byte, error) { return ramp(4), nil },
		Signature: &schema.Signature{},
	}
	d := &toy{parsed: file, tensors: []driver.Tensor{u8("bare", 0, 8), u8("summed", 8, 8), u8("covered", 16, 8), loaded(u8("packed", 0, 4))}}
	for _, tt := range []struct {
		names  []string
		looked []bool
		want   []string
	}{
		{nil, []bool{true, true, true, true}, []string{"", "adler32", "sha256 of the weights", ""}},
		{[]string{"covered", "summed"}, []bool{false, true, true, false}, []string{"-", "adler32", "sha256 of the weights", "-"}},
	} {
		m := open(t, source.FromBytes(ramp(64)), d)
		c, err := m.verify(t.Context(), &VerifyOptions{Tensors: tt.names})
		expect.OK(t, err)
		var got []string
		for _, by := range c.tensors {
			if by == notLooked {
				got = append(got, "-")
			} else {
				got = append(got, by)
			}
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%v (-want +got)\n%s", tt.names, d)
		}
		if d := cmp.Diff([]Covered{{"header", "crc32"}, {"graph", ""}}, c.sections); d != "" || c.signature != SignatureUnknown {
			t.Errorf("%v, signature %v (-want +got)\n%s", tt.names, c.signature, d)
		}
		if d := cmp.Diff(tt.looked, looked); d != "" {
			t.Errorf("%v (-want +got)\n%s", tt.names, d)
		}
	}
}

// TestVerifyRefuses: unknown names, keys where there are no signatures, and what
// the driver and the sums find.
func TestVerifyRefuses(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	sum := driver.Digest{Kind: driver.CRC32, Want: 1, Field: "record", Offset: 40}
	mine := func() []driver.Sum { return []driver.Sum{checked(func(driver.Verification) error { return errMine })} }
	for _, tt := range []struct {
		name  string
		file  driver.Parsed
		ctx   context.Context
		o     VerifyOptions
		want  error
		field string
	}{
		{"unknown name", driver.Parsed{}, nil, VerifyOptions{Tensors: []string{"w", "x"}}, tensor.ErrNotFound, `tensor "x"`},
		{"a key", driver.Parsed{}, nil, VerifyOptions{Trusted: TrustKey(make(ed25519.PublicKey, 32))}, tensor.ErrSignature, "signature"},
		{"no key", driver.Parsed{}, nil, VerifyOptions{Trusted: TrustKey("key")}, tensor.ErrKey, ""},
		{"the driver", driver.Parsed{Sums: mine}, nil, VerifyOptions{}, errMine, ""},
		{"a sum", driver.Parsed{TensorSum: func(int) driver.Digest { return sum }}, nil, VerifyOptions{}, tensor.ErrChecksum, "record"},
		{"a sum without field", driver.Parsed{TensorSum: func(int) driver.Digest { return driver.Digest{Kind: driver.XXH64} }}, nil, VerifyOptions{}, tensor.ErrChecksum, `tensor "w"`},
		{"canceled", driver.Parsed{}, canceled, VerifyOptions{}, context.Canceled, ""},
	} {
		m := open(t, source.FromBytes(ramp(64)), &toy{tensors: []driver.Tensor{u8("w", 0, 8)}, parsed: tt.file})
		if tt.ctx == nil {
			tt.ctx = t.Context()
		}
		c, err := m.verify(tt.ctx, &tt.o)
		wantToyError(t, tt.name, err, tt.want, tt.field)
		if c != nil {
			t.Errorf("%s: a coverage comes with the error", tt.name)
		}
	}
	r := source.FromBytes(ramp(64))
	m := &Model{}
	err := m.openRegion(r, toyConfig(&toy{tensors: []driver.Tensor{u8("w", 0, 8)}, parsed: driver.Parsed{TensorSum: func(int) driver.Digest { return sum }}}, check(CheckAll)))
	wantToyError(t, "CheckAll", err, tensor.ErrChecksum, "record")
	if !r.Closed() {
		t.Error("CheckAll left the file open")
	}
	key := make(ed25519.PublicKey, 32)
	m = open(t, source.FromBytes(ramp(64)), &toy{parsed: driver.Parsed{
		Authenticate: func(v driver.Verification) error {
			if !key.Equal(v.Trusted()) {
				t.Error("the driver does not see the key")
			}
			return nil
		},
	}})
	_, err = m.verify(t.Context(), &VerifyOptions{Trusted: TrustKey(key)})
	expect.OK(t, err)
}

// many makes n tensors of size bytes, with gaps after each, in an order of
// records that is not that of the file.
func many(n int, size, gap int64) (d *toy, data []byte) {
	data = make([]byte, int64(n)*(size+gap))
	r := rand.NewChaCha8([32]byte{1})
	r.Read(data)
	d = &toy{}
	for i := range n {
		at := int64(i*7%n) * (size + gap)
		d.tensors = append(d.tensors, u8(fmt.Sprint("t", i), at, size))
	}
	d.parsed = driver.Parsed{TensorSum: func(i int) driver.Digest {
		off := d.tensors[i].Offset
		return driver.Digest{Kind: driver.XXH64, Want: xxhash.Sum64(data[off : off+size])}
	}}
	return d, data
}

// TestProgress: reports grow, never beyond the total, and end with it.
func TestProgress(t *testing.T) {
	d, data := many(300, 5000, 3)
	d.tensors = append(d.tensors, loaded(u8("packed", 0, 77)), u8("big", 0, int64(len(data))))
	plain := d.parsed.TensorSum
	header := checked(func(v driver.Verification) error {
		v.Done(40, "header")
		if err := v.Feed(io.Discard, 0, 8, 60, "header"); err != nil {
			return err
		}
		return v.Context().Err()
	})
	header.Size = 100
	d.parsed = driver.Parsed{
		TensorSum: func(i int) driver.Digest {
			if i >= 300 {
				return driver.Digest{}
			}
			return plain(i)
		},
		Load: func(int) ([]byte, error) { return ramp(77), nil },
		Sums: func() []driver.Sum { return []driver.Sum{header} },
		SumsOf: func(i int) (from, to int) {
			if i == 7 {
				return 0, 1
			}
			return 0, 0
		},
	}
	for name, r := range regions(data) {
		for _, workers := range []int{1, 4, math.MaxInt/8 + 1, math.MaxInt} { // 16 times the third is 0
			m := open(t, r, d)
			var done, total int64
			_, err := m.verify(t.Context(), &VerifyOptions{Workers: workers, Progress: func(n, of int64, part string) {
				if n < done || of < total || n > of || part == "" {
					t.Errorf("%s: %d of %d after %d of %d, at %q", name, n, of, done, total, part)
				}
				done, total = n, of
			}})
			if want := int64(100 + 299*5000 + 77 + len(data)); err != nil || done != want || total != want {
				t.Errorf("%s: %d of %d, want %d: %v", name, done, total, want, err)
			}
		}
	}
}

// TestVerifyCancel: a verification stops between steps.
func TestVerifyCancel(t *testing.T) {
	data := make([]byte, 2*readStep)
	for name, r := range regions(data) {
		for _, kind := range []driver.Kind{driver.NoSum, driver.XXH64, driver.CRC32} {
			ctx, cancel := context.WithCancel(t.Context())
			m := open(t, r, &toy{tensors: []driver.Tensor{u8("w", 0, int64(len(data)))}, parsed: driver.Parsed{TensorSum: func(int) driver.Digest { return driver.Digest{Kind: kind} }}})
			var steps atomic.Int64
			_, err := m.verify(ctx, &VerifyOptions{Workers: 1, Progress: func(int64, int64, string) { steps.Add(1); cancel() }})
			wantToyError(t, name, err, context.Canceled, "")
			if steps.Load() != 1 {
				t.Errorf("%s: %d steps after canceling", name, steps.Load()-1)
			}
		}
	}
}

// TestHashOutside: ranges that leave the file are errors of the file, and spaces
// that there are not errors of the driver.
func TestHashOutside(t *testing.T) {
	for name, r := range regions(ramp(64)) {
		v := newVerification(open(t, r, &toy{}), t.Context(), &VerifyOptions{})
		for _, tt := range []struct {
			s         driver.Space
			off, size int64
			want      error
		}{
			{0, 60, 5, tensor.ErrTruncated}, {0, 64, 1, tensor.ErrTruncated}, {0, 65, 0, tensor.ErrTruncated},
			{0, 1 << 62, 1 << 62, tensor.ErrTruncated}, {0, 0, 1<<63 - 1, tensor.ErrTruncated},
			{0, -1, 4, tensor.ErrCorrupt}, {0, 4, -1, tensor.ErrCorrupt},
			{1, 0, 4, tensor.ErrCorrupt}, {1<<32 - 1, 0, 4, tensor.ErrCorrupt},
		} {
			for _, k := range []driver.Kind{driver.NoSum, driver.XXH64, driver.CRC32} {
				_, err := v.Hash(k, tt.s, tt.off, tt.size, "")
				if fed := v.Feed(io.Discard, tt.s, tt.off, tt.size, ""); !errors.Is(err, tt.want) || !errors.Is(fed, tt.want) {
					t.Errorf("%s, %v: Hash %v and Feed %v, want %v", name, tt, err, fed, tt.want)
				}
			}
		}
	}
}

// TestVerifySharedData: every sum of bytes that several tensors name is compared.
func TestVerifySharedData(t *testing.T) {
	data := ramp(64)
	good := uint64(tensor.CRC32(data[8:24]))
	var list []driver.Tensor
	for i := range 100 {
		list = append(list, u8(fmt.Sprint("t", i), 8, 16))
	}
	list = append(list, u8("other", 0, 8), u8("overlaps", 4, 16), u8("bare", 8, 16))
	for _, bad := range []int{-1, 0, 57, 99} {
		d := &toy{tensors: list, parsed: driver.Parsed{TensorSum: func(i int) driver.Digest {
			s := driver.Digest{Kind: driver.CRC32, Want: good}
			switch {
			case i == bad:
				s.Want++
			case i >= 100:
				s = driver.Digest{}
			}
			return s
		}}}
		for _, r := range []*source.Region{source.FromBytes(data), source.FromReaderAt(bytes.NewReader(data), 64)} {
			m := open(t, r, d)
			total, done := int64(0), int64(0)
			c, err := m.verify(t.Context(), &VerifyOptions{Progress: func(d, n int64, _ string) { done, total = d, n }})
			if bad >= 0 {
				var e *tensor.Error
				if !errors.Is(err, tensor.ErrChecksum) || !errors.As(err, &e) || e.Field != fmt.Sprintf("tensor %q", fmt.Sprint("t", bad)) {
					t.Errorf("%d: %v", bad, err)
				}
				continue
			}
			if err != nil || total != 100*16+8+16+16 || done != total {
				t.Errorf("%d of %d bytes, %v", done, total, err)
			}
			for i, by := range c.tensors {
				if want := map[bool]string{true: "crc32"}[i < 100]; by != want {
					t.Fatalf("tensor %d: %q", i, by)
				}
			}
		}
	}
}

// TestVerifyMapsFewPages: verification reads large tensors, small ones and those of other files without mapping their pages,
// and leaves the pages of a model that was used.
func TestVerifyMapsFewPages(t *testing.T) {
	testhost.NeedResident(t)
	const most = 1 << 20
	large := []driver.Tensor{u8("first", 0, 2<<20), u8("a", 8<<20, 24<<20), u8("b", 32<<20, 24<<20)}
	var small, files []driver.Tensor
	for i := range int64(560) {
		small = append(small, u8("", i*100<<10, 100<<10))
		small[i].Name = []byte{byte('a' + i%26), byte('a' + i/26)}
	}
	for i := range 14 {
		files = append(files, in(driver.Space(i+1), u8(string(rune('a'+i)), 0, 4<<20)))
	}
	dir := t.TempDir()
	for i := range 14 {
		put(t, filepath.Join(dir, string(rune('a'+i))), make([]byte, 4<<20))
	}
	put(t, filepath.Join(dir, "m.toy"), make([]byte, 56<<20))
	for what, tensors := range map[string][]driver.Tensor{"large": large, "small": small, "files": files} {
		for _, touched := range []bool{false, true} {
			d := &toy{tensors: tensors}
			if what == "files" {
				d.dir = func(dir driver.Dir) error {
					var errs []error
					for i := range 14 {
						_, err := dir.Declare(string(rune('a' + i)))
						errs = append(errs, err)
					}
					return errors.Join(errs...)
				}
			}
			m := openToy(t, filepath.Join(dir, "m.toy"), d)
			before := int64(0)
			if touched {
				v := m.At(0)
				expect.OK(t, v.Use(func(b []byte) error {
					checksum.Of(driver.NoSum, b)
					return nil
				}))
				before = m.Stats().Resident
			}
			_, err := m.verify(t.Context(), &VerifyOptions{})
			expect.OK(t, err)
			if now := m.Stats().Resident; now < before || now > before+most || touched && before == 0 {
				t.Errorf("%s: %d bytes were resident before verification, %d afterwards", what, before, now)
			}
		}
	}
}

// TestParsedBytesAreSigned: a signature covers the bytes that were parsed, or the check fails, in whatever pieces they
// were read and are hashed.
func TestParsedBytesAreSigned(t *testing.T) {
	const size = 3 << 20
	data := ramp(size)
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var reads [5][2]int
		for i := range reads {
			off := r.IntN(size)
			reads[i] = [2]int{off, off + 1 + r.IntN(min(size-off, 1<<20))}
		}
		at := r.IntN(size)
		m := new(Model)
		d := &toy{before: func(src driver.Source) (err error) {
			for _, p := range reads {
				_, err = src.Slice(int64(p[0]), int64(p[1]-p[0]))
			}
			return err
		}}
		expect.OK(t, m.openRegion(source.FromBytes(data), toyConfig(d)))
		v := newVerification(m, t.Context(), &VerifyOptions{})
		data[at]++
		from := r.IntN(at + 1)
		to := at + 1 + r.IntN(size-at)
		var fed bytes.Buffer
		err := v.Feed(&fed, 0, int64(from), int64(to-from), "")
		isParsed := slices.ContainsFunc(reads[:], func(p [2]int) bool { return p[0] <= at && at < p[1] })
		if isParsed != errors.Is(err, tensor.ErrCorrupt) {
			t.Fatalf("byte %d, reads %v, fed %d to %d: %v", at, reads, from, to, err)
		}
		if !isParsed && !bytes.Equal(fed.Bytes(), data[from:to]) {
			t.Fatal("other bytes")
		}
		data[at]--
		m.Close()
	}
}

// signedBy is a Trust in signatures in the file.
type signedBy struct{ key crypto.PublicKey }

func (s signedBy) Check(_ context.Context, u *Unverified) error {
	return u.CheckSignature(s.key)
}

// TestTrustedWithoutSignatures: a signature cannot be demanded of a format that has none.
func TestTrustedWithoutSignatures(t *testing.T) {
	demand := func(c *config) { c.options.Trusted = signedBy{make(ed25519.PublicKey, 32)} }
	expect.Refused(t, tensor.ErrSignature)(nil, new(Model).openRegion(source.FromBytes(ramp(8)), toyConfig(&toy{}, demand)))
	d := &toy{dir: func(driver.Dir) error { return nil }}
	expect.Refused(t, tensor.ErrSignature, "a directory")(nil, new(Model).openTree(toyConfig(d, demand, asDirectory(t.TempDir()))))
}

// goodSum has the right XXH64 of tensors that are 8 bytes of a ramp each, but for
// those that are bad. It counts how often it was asked.
func goodSum(asked *atomic.Int64, bad ...int) driver.Parsed {
	return driver.Parsed{TensorSum: func(i int) driver.Digest {
		asked.Add(1)
		s := driver.Digest{Kind: driver.XXH64, Want: xxhash.Sum64(ramp(64)[8*i:][:8])}
		for _, b := range bad {
			if b == i {
				s.Want++
			}
		}
		return s
	}}
}

func eights() []driver.Tensor {
	return []driver.Tensor{u8("a", 0, 8), u8("b", 8, 8), u8("c", 16, 8)}
}

// TestTouchWhen: Options.Check, or by default the format, decides whether sums are checked before
// first use.
func TestTouchWhen(t *testing.T) {
	for _, tt := range []struct {
		check   Check
		onTouch bool
		want    bool
	}{
		{CheckDefault, false, false}, {CheckDefault, true, true},
		{CheckStructure, true, false}, {CheckTouch, false, true},
	} {
		for what, call := range accessors {
			var asked atomic.Int64
			m := open(t, source.FromBytes(ramp(64)), &toy{onTouch: tt.onTouch, tensors: eights(), parsed: goodSum(&asked, 1)}, check(tt.check))
			if asked.Load() != 0 {
				t.Errorf("%+v: opening asks for sums", tt)
			}
			_ = call(m.At(0))
			err := call(m.At(1))
			if tt.want != errors.Is(err, tensor.ErrChecksum) && !errors.Is(err, tensor.ErrDType) && !errors.Is(err, tensor.ErrShape) {
				t.Errorf("%+v: %s: %v", tt, what, err)
			}
		}
	}
}

// TestTouchOnce: a tensor is checked once, by one goroutine, and what was found
// stays found.
func TestTouchOnce(t *testing.T) {
	var asked atomic.Int64
	m := open(t, source.FromBytes(ramp(64)), &toy{tensors: eights(), parsed: goodSum(&asked, 2)}, check(CheckTouch))
	var group sync.WaitGroup
	errs := make([]error, 8)
	for g := range errs {
		group.Go(func() {
			for range 5 {
				if err := m.At(0).Use(func([]byte) error { return nil }); err != nil {
					t.Error(err)
				}
				_, errs[g] = tensor.As[uint8](m.At(2))
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		wantToyError(t, "a bad sum", err, tensor.ErrChecksum, `tensor "c"`)
		if err != errs[0] {
			t.Errorf("the error changed: %v", err)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("%d sums were requested, want 2", n)
	}
	if n := m.Stats().Verified; n != 2 {
		t.Errorf("%d sums were verified, want 2", n)
	}
	if !m.touch.pending.Load() {
		t.Error("nothing is left to check, says the model")
	}
}

// TestTouchTransient: what a reader could not deliver is tried again.
func TestTouchTransient(t *testing.T) {
	var asked atomic.Int64
	r := &requests{ReaderAt: bytes.NewReader(ramp(64))}
	m := open(t, source.FromReaderAt(r, 64), &toy{tensors: eights(), parsed: goodSum(&asked, 1)}, check(CheckTouch))
	r.broken.Store(true)
	for range 2 {
		_, err := m.At(0).Bytes()
		wantToyError(t, "a broken reader", err, errMine, `tensor "a"`)
	}
	r.broken.Store(false)
	if got := bytesOf(t, m, "a"); got != fmt.Sprint(ramp(8)) {
		t.Error(got)
	}
	_, first := m.At(1).Bytes()
	r.broken.Store(true)
	if _, err := m.At(1).Bytes(); err != first || !errors.Is(err, tensor.ErrChecksum) {
		t.Errorf("a lasting error: %v, then %v", first, err)
	}
}

// TestTouchSums: a declared checksum, of all tensors or of each, is compared once, and its calls do not overlap.
func TestTouchSums(t *testing.T) {
	for _, count := range []int{1, 3} {
		var calls atomic.Int64
		var sums []driver.Sum
		for range count {
			var inside atomic.Int64
			sums = append(sums, checked(func(v driver.Verification) error {
				if inside.Add(1) != 1 {
					t.Error("calls overlap")
				}
				defer inside.Add(-1)
				calls.Add(1)
				if _, err := v.Hash(driver.CRC32, 0, 0, 64, "file"); err != nil || !v.Wanted(0) || !v.Wanted(2) {
					t.Error(err)
				}
				return nil
			}))
		}
		d := &toy{tensors: eights(), parsed: driver.Parsed{
			Sums: func() []driver.Sum { return sums },
			SumsOf: func(i int) (from, to int) {
				k := min(i, count-1)
				return k, k + 1
			},
		}}
		m := open(t, source.FromBytes(ramp(64)), d, check(CheckTouch))
		var group sync.WaitGroup
		for g := range 6 {
			group.Go(func() {
				if _, err := m.At(g % 3).Bytes(); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if calls.Load() != int64(count) || m.touch.pending.Load() {
			t.Errorf("%d sums: %d calls, pending %v", count, calls.Load(), m.touch.pending.Load())
		}
	}
}

// TestTouchUnchanged: a declared checksum over parsed bytes matches before first use only while these are what Parse read.
func TestTouchUnchanged(t *testing.T) {
	data := ramp(64)
	parsed := func(src driver.Source) error {
		_, err := src.Slice(32, 8)
		return err
	}
	whole := driver.Sum{Name: "file", Accept: []driver.Digest{{}}, Ranges: []driver.Range{{Size: 64}}}
	d := &toy{before: parsed, tensors: eights(), parsed: driver.Parsed{
		Sums:   func() []driver.Sum { return []driver.Sum{whole} },
		SumsOf: func(int) (from, to int) { return 0, 1 },
	}}
	m := open(t, source.FromBytes(data), d, check(CheckTouch))
	data[33]++
	whole.Accept[0] = digestOf(driver.CRC32, data)
	_, err := m.At(0).Bytes()
	wantToyError(t, "changed structure", err, tensor.ErrCorrupt, "header")
	_, again := m.At(1).Bytes()
	if again == nil {
		t.Error("another tensor opens")
	}
}
