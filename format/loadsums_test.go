package format

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/checksum"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// The places in the file of coveredFile. Between two tensors is more than a read skips.
const (
	zeroedAt   = 8
	firstAt    = 1000
	firstSize  = 70_000
	paddingAt  = firstAt + firstSize
	smallAt    = paddingAt + 24
	smallSize  = 5000
	gapAt      = smallAt + smallSize
	largeAt    = gapAt + 40<<10
	largeSize  = maxJob + 100_000
	coveredEnd = largeAt + largeSize + 100
)

// coveredFile returns the bytes of a file and three of its tensors.
func coveredFile() ([]byte, []driver.Tensor) {
	data := ramp(coveredEnd)
	for i := range data {
		data[i] ^= byte(i >> 8)
	}
	return data, []driver.Tensor{u8("first", firstAt, firstSize), u8("small", smallAt, smallSize), u8("large", largeAt, largeSize)}
}

// coveredBy declares a checksum of all tensors.
func coveredBy(s driver.Sum) driver.Parsed {
	return driver.Parsed{
		Sums:   func() []driver.Sum { return []driver.Sum{{Name: "header"}, s} },
		SumsOf: func(int) (from, to int) { return 1, 2 },
	}
}

// wholeFile is a checksum of a file with digests of these kinds. Only the last is right.
func wholeFile(data []byte, kinds ...driver.Kind) driver.Sum {
	all := driver.Range{Size: int64(len(data))}
	zeroed := driver.Range{Offset: zeroedAt, Size: 4}
	hashed := bytes.Clone(data)
	clear(hashed[zeroed.Offset:][:zeroed.Size])
	s := driver.Sum{Name: "file", Ranges: []driver.Range{all}, Zeroed: []driver.Range{zeroed}}
	for i, k := range kinds {
		d := digestOf(k, hashed)
		if i < len(kinds)-1 {
			d.Want++
		}
		d.Field = "footer"
		s.Accept = append(s.Accept, d)
	}
	return s
}

// loading returns requests of tensors of coveredFile, and what compares their memory with data.
func loading(data []byte, names ...string) (list []Request, isRight func() bool) {
	_, tensors := coveredFile()
	var checks []func() bool
	for _, x := range tensors {
		want := data[x.Offset:][:x.Size]
		name := string(x.Name)
		if slices.Contains(names, name) {
			got := make([]byte, x.Size)
			list = append(list, Request{Tensor: name, Bytes: got})
			checks = append(checks, func() bool { return bytes.Equal(want, got) })
		}
		if slices.Contains(names, name+" as floats") {
			got := make([]float32, x.Size)
			list = append(list, Request{Tensor: name, Floats: got})
			checks = append(checks, func() bool {
				isSame := func(b byte, x float32) int { return int(b) - int(x) }
				return slices.CompareFunc(want, got, isSame) == 0
			})
		}
		if slices.Contains(names, "part of "+name) {
			got := make([]byte, 100)
			part := []tensor.Range{{From: 1000, To: 1100}}
			list = append(list, Request{Tensor: name, Slice: part, Bytes: got})
			checks = append(checks, func() bool { return bytes.Equal(want[1000:1100], got) })
		}
	}
	return list, func() bool {
		return !slices.ContainsFunc(checks, func(isRight func() bool) bool { return !isRight() })
	}
}

var everything = []string{"first", "small", "large"}

// coveredSelections are selections of the tensors of coveredFile.
var coveredSelections = map[string][]string{
	"all":              everything,
	"as floats":        {"first as floats", "small as floats", "large as floats"},
	"both":             {"first", "small as floats", "large"},
	"one":              {"first"},
	"the small one":    {"small"},
	"the small floats": {"small as floats"},
	"a part":           {"part of large"},
	"parts":            {"part of first", "small", "part of large"},
}

// TestLoadCovered: Load reads a file that one checksum covers once, whatever it loads, and finds a
// wrong byte anywhere in it.
func TestLoadCovered(t *testing.T) {
	good, tensors := coveredFile()
	for name, kinds := range map[string][]driver.Kind{
		"crc32":           {driver.CRC32},
		"crc32c":          {driver.CRC32C},
		"adler32":         {driver.Adler32},
		"the second form": {driver.Adler32, driver.CRC32},
	} {
		for selection, names := range coveredSelections {
			for where, at := range map[string]int{
				"nowhere": -1, "zeros": zeroedAt, "header": 0, "first": firstAt + firstSize/2, "padding": paddingAt + 3,
				"small": smallAt, "gap": gapAt + 9, "large": largeAt + largeSize - 1, "end": coveredEnd - 1,
			} {
				if selection != "all" && name != "adler32" {
					continue
				}
				data := bytes.Clone(good)
				if at >= 0 {
					data[at]++
				}
				d := &toy{tensors: tensors, parsed: coveredBy(wholeFile(good, kinds...))}
				r := &requests{ReaderAt: bytes.NewReader(data)}
				m := open(t, source.FromReaderAt(r, int64(len(data))), d, check(CheckTouch))
				r.bytes.Store(0)
				list, isRight := loading(data, names...)
				err := m.Load(t.Context(), list, nil)
				what := name + ", " + selection + ", " + where
				if read := r.bytes.Load(); read != int64(len(data))-4 {
					t.Errorf("%s: %d bytes were read of %d", what, read, len(data))
				}
				if at >= 0 && where != "zeros" {
					expect.Says(t, tensor.ErrChecksum, "footer")(what, err)
					continue
				}
				expect.OK(t, err)
				if !isRight() {
					t.Errorf("%s: other values", what)
				}
				expect.OK(t, m.Load(t.Context(), list, nil))
				if read := r.bytes.Load(); read >= 2*int64(len(data))-4 {
					t.Errorf("%s: the checksum was compared again: %d bytes were read", what, read)
				}
			}
		}
	}
}

// TestLoadCoveredFrom: files and memory are loaded like readers, also when their pages were used.
func TestLoadCoveredFrom(t *testing.T) {
	good, tensors := coveredFile()
	for selection, names := range coveredSelections {
		for _, isBad := range []bool{false, true} {
			for _, isUsed := range []bool{false, true} {
				data := bytes.Clone(good)
				if isBad {
					data[paddingAt]++
				}
				d := &toy{tensors: tensors, parsed: coveredBy(wholeFile(good, driver.Adler32))}
				ways(t, data, d, func(t *testing.T, m *Model) {
					if isUsed {
						m.main.MarkUsed(0, int64(len(data)))
					}
					list, isRight := loading(data, names...)
					err := m.Load(t.Context(), list, nil)
					if isBad {
						expect.Says(t, tensor.ErrChecksum, "footer")(selection, err)
						return
					}
					expect.OK(t, err)
					expect.Equal(t, true, isRight())
					expect.Equal(t, len(names) < 3, m.touch.pending.Load())
				}, check(CheckTouch))
			}
		}
	}
}

// TestLoadCompared: checksums that cannot be combined are compared before their tensors are loaded.
func TestLoadCompared(t *testing.T) {
	good, tensors := coveredFile()
	content := wholeFile(good, driver.CRC32)
	content.Content = func(v driver.Verification) (uint64, error) {
		hashed := driver.Range{Size: int64(len(good))}
		return v.Hash(driver.CRC32, 0, hashed.Offset, hashed.Size, "")
	}
	content.Accept[0].Want = checksum.Of(driver.CRC32, good)
	or := wholeFile(good, driver.CRC32C)
	or.Accept[0].Want++
	other := wholeFile(good, driver.CRC32)
	or.Or = &other
	for name, s := range map[string]driver.Sum{
		"xxh64": wholeFile(good, driver.XXH64), "content": content, "or": or,
		"check": checked(func(v driver.Verification) error {
			_, err := checksum.Compare(v.(*verification), &content)
			return err
		}),
	} {
		for _, isBad := range []bool{false, true} {
			data := bytes.Clone(good)
			if isBad {
				data[gapAt]++
			}
			ways(t, data, &toy{tensors: tensors, parsed: coveredBy(s)}, func(t *testing.T, m *Model) {
				list, isRight := loading(data, everything...)
				err := m.Load(t.Context(), list, nil)
				if isBad {
					expect.Refused(t, tensor.ErrChecksum, name)(nil, err)
					return
				}
				expect.OK(t, err)
				expect.Equal(t, true, isRight())
			}, check(CheckTouch))
		}
	}
}

// TestLoadOwn: the checksums of tensors are computed of what is read, also of parts of them if they
// can be combined, and those of neighbors that are not requested stay to be compared.
func TestLoadOwn(t *testing.T) {
	good, tensors := coveredFile()
	for _, tt := range []struct {
		name  string
		kind  driver.Kind
		names []string
		read  int64
	}{
		{"all", driver.XXH64, everything, coveredEnd},
		{"a part", driver.CRC32, []string{"part of large"}, largeSize},
		{"a part, twice", driver.XXH64, []string{"part of large"}, largeSize + 100},
		{"floats", driver.CRC32, []string{"large as floats"}, largeSize},
		{"floats of several goroutines", driver.XXH64, []string{"large as floats"}, 2 * largeSize},
		{"overlapping", driver.CRC32, []string{"large", "part of large"}, 2*largeSize + 100},
		{"the same twice", driver.CRC32, []string{"large", "large as floats"}, largeSize},
	} {
		for _, bad := range []int{-1, firstAt, smallAt, largeAt, gapAt} {
			data := bytes.Clone(good)
			if bad >= 0 {
				data[bad]++
			}
			d := &toy{tensors: tensors}
			d.parsed.TensorSum = func(i int) driver.Digest {
				return digestOf(tt.kind, good[tensors[i].Offset:][:tensors[i].Size])
			}
			r := &requests{ReaderAt: bytes.NewReader(data)}
			m := open(t, source.FromReaderAt(r, int64(len(data))), d, check(CheckTouch), func(c *config) { c.options.Workers = 2 })
			r.bytes.Store(0)
			list, isRight := loading(data, tt.names...)
			err := m.Load(t.Context(), list, nil)
			isIn := bad == largeAt || bad >= 0 && bad != gapAt && len(tt.names) == 3
			if isIn {
				expect.Refused(t, tensor.ErrChecksum, tt.name)(nil, err)
				continue
			}
			expect.OK(t, err)
			if read := r.bytes.Load(); !isRight() || read > tt.read {
				t.Errorf("%s: %d bytes were read, want %d", tt.name, read, tt.read)
			}
			expect.Equal(t, len(tt.names) < 3, m.touch.pending.Load())
			for i, x := range tensors {
				_, err := m.At(i).ReadInto(make([]byte, x.Size))
				isBad := bad == int(x.Offset)
				expect.Equal(t, isBad, errors.Is(err, tensor.ErrChecksum))
			}
		}
	}
}

// TestLoadTied: tensors with the same bytes have one checksum, unless the file has two.
func TestLoadTied(t *testing.T) {
	data, tensors := coveredFile()
	tensors = append(tensors, u8("tied", largeAt, largeSize))
	for name, tt := range map[string]struct {
		parsed driver.Parsed
		isBad  bool
	}{
		"declared": {parsed: coveredBy(wholeFile(data, driver.CRC32))},
		"own": {parsed: driver.Parsed{TensorSum: func(i int) driver.Digest {
			return digestOf(driver.XXH64, data[tensors[i].Offset:][:tensors[i].Size])
		}}},
		"different": {isBad: true, parsed: driver.Parsed{TensorSum: func(i int) driver.Digest {
			d := digestOf(driver.CRC32, data[tensors[i].Offset:][:tensors[i].Size])
			d.Want += uint64(i / 3)
			return d
		}}},
		"different kinds": {parsed: driver.Parsed{TensorSum: func(i int) driver.Digest {
			kind := driver.CRC32 + driver.Kind(i%2)
			return digestOf(kind, data[tensors[i].Offset:][:tensors[i].Size])
		}}},
	} {
		ways(t, data, &toy{tensors: tensors, parsed: tt.parsed}, func(t *testing.T, m *Model) {
			list, isRight := loading(data, everything...)
			tied := make([]byte, largeSize)
			list = append(list, Request{Tensor: "tied", Bytes: tied})
			err := m.Load(t.Context(), list, nil)
			if tt.isBad {
				wantToyError(t, name, err, tensor.ErrChecksum, `tensor "tied"`)
				return
			}
			expect.OK(t, err)
			expect.Equal(t, true, isRight() && bytes.Equal(data[largeAt:][:largeSize], tied))
			expect.Equal(t, false, m.touch.pending.Load())
		}, check(CheckTouch))
	}
}

// TestLoadCoveredByOthers: checksums that cover the same bytes, or bytes that no file has, are
// compared before the tensors are loaded.
func TestLoadCoveredByOthers(t *testing.T) {
	data, tensors := coveredFile()
	whole := wholeFile(data, driver.CRC32)
	first := driver.Sum{
		Name:   "first",
		Ranges: []driver.Range{{Offset: firstAt, Size: firstSize}},
		Accept: []driver.Digest{digestOf(driver.Adler32, data[firstAt:][:firstSize])},
	}
	wrong := first
	wrong.Accept = []driver.Digest{{Kind: driver.CRC32, Want: 1}}
	cut := first
	cut.Ranges = []driver.Range{{Offset: coveredEnd - 1, Size: 2}}
	far := first
	far.Ranges = []driver.Range{{Offset: 1<<63 - 1, Size: 2}}
	for name, tt := range map[string]struct {
		sums []driver.Sum
		want error
	}{
		"both right":    {[]driver.Sum{whole, first}, nil},
		"one wrong":     {[]driver.Sum{whole, wrong}, tensor.ErrChecksum},
		"a short file":  {[]driver.Sum{cut}, tensor.ErrTruncated},
		"no such bytes": {[]driver.Sum{far}, tensor.ErrTruncated},
		"not compared":  {[]driver.Sum{{Name: "data", Ranges: whole.Ranges}}, nil},
		"none":          {nil, nil},
	} {
		d := &toy{tensors: tensors}
		d.parsed.Sums = func() []driver.Sum { return tt.sums }
		d.parsed.SumsOf = func(int) (from, to int) { return 0, len(tt.sums) }
		ways(t, data, d, func(t *testing.T, m *Model) {
			list, isRight := loading(data, everything...)
			err := m.Load(t.Context(), list, nil)
			if tt.want != nil {
				expect.Refused(t, tt.want, name)(nil, err)
				return
			}
			expect.OK(t, err)
			expect.Equal(t, true, isRight())
			expect.Equal(t, false, m.touch.pending.Load())
		}, check(CheckTouch))
	}
}

// TestLoadCoveredEnds: after a load that was canceled, or whose reader failed, the checksum is still
// to be compared, and may be.
func TestLoadCoveredEnds(t *testing.T) {
	data, tensors := coveredFile()
	d := &toy{tensors: tensors, parsed: coveredBy(wholeFile(data, driver.Adler32))}
	for _, isCanceled := range []bool{false, true} {
		r := &requests{ReaderAt: bytes.NewReader(data)}
		m := open(t, source.FromReaderAt(r, int64(len(data))), d, check(CheckTouch), func(c *config) { c.options.Workers = 1 })
		list, isRight := loading(data, everything...)
		ctx, cancel := context.WithCancel(t.Context())
		err := m.Load(ctx, list, func(done, _ int64, _ string) {
			if isCanceled && done > firstSize+smallSize {
				cancel()
			}
			r.broken.Store(!isCanceled && done > firstSize+smallSize)
		})
		cancel()
		want := errMine
		if isCanceled {
			want = context.Canceled
		}
		expect.Refused(t, want)(nil, err)
		r.broken.Store(false)
		r.bytes.Store(0)
		expect.OK(t, m.Load(t.Context(), list, nil))
		expect.Equal(t, true, isRight())
		expect.Equal(t, int64(len(data))-4, r.bytes.Load())
	}
}

// TestLoadCoveredTogether: loads at the same time, and a view that is used meanwhile, get the same.
func TestLoadCoveredTogether(t *testing.T) {
	good, tensors := coveredFile()
	for _, isBad := range []bool{false, true} {
		data := bytes.Clone(good)
		if isBad {
			data[coveredEnd-1]++
		}
		d := &toy{tensors: tensors, parsed: coveredBy(wholeFile(good, driver.CRC32))}
		ways(t, data, d, func(t *testing.T, m *Model) {
			var group sync.WaitGroup
			for _, names := range [][]string{everything, {"first as floats", "large"}, {"part of first"}} {
				group.Go(func() {
					list, isRight := loading(data, names...)
					err := m.Load(t.Context(), list, nil)
					if isBad != errors.Is(err, tensor.ErrChecksum) || !isBad && (err != nil || !isRight()) {
						t.Error(names, err)
					}
				})
			}
			_, err := m.At(1).ReadInto(make([]byte, smallSize))
			group.Wait()
			if isBad != errors.Is(err, tensor.ErrChecksum) {
				t.Error(err)
			}
		}, check(CheckTouch))
	}
}

// TestLoadCoveredChanging: what Load returns was hashed after it was read. A file that changes while
// it is loaded is an error, or the memory has what was there before.
func TestLoadCoveredChanging(t *testing.T) {
	testhost.NeedReplace(t)
	data, tensors := coveredFile()
	for selection, names := range coveredSelections {
		for _, isUsed := range []bool{false, true} {
			path := storedFile(t, "m.toy", data)
			d := &toy{tensors: tensors, parsed: coveredBy(wholeFile(data, driver.CRC32))}
			m := openToy(t, path, d, check(CheckTouch), func(c *config) { c.options.Workers = 1 })
			if isUsed {
				m.main.MarkUsed(0, int64(len(data)))
			}
			file, err := os.OpenFile(path, os.O_RDWR, 0)
			expect.OK(t, err)
			list, isRight := loading(data, names...)
			err = m.Load(t.Context(), list, func(int64, int64, string) {
				for _, at := range []int64{firstAt, smallAt, largeAt + 2000, largeAt + largeSize - 1} {
					_, err := file.WriteAt([]byte{^data[at]}, at)
					expect.OK(t, err)
				}
			})
			file.Close()
			if err == nil && !isRight() || err != nil && !errors.Is(err, tensor.ErrChecksum) {
				t.Errorf("%s: %v", selection, err)
			}
		}
	}
}

// TestLoadCoveredStructure: if a checksum covers structure, that must still be what was parsed, even
// if the checksum is right.
func TestLoadCoveredStructure(t *testing.T) {
	data, tensors := coveredFile()
	changed := bytes.Clone(data)
	changed[20]++
	r := &replacing{before: data, after: changed}
	d := &toy{tensors: tensors, parsed: coveredBy(wholeFile(changed, driver.CRC32))}
	d.before = func(src driver.Source) error {
		_, err := driver.Prefix(src, 100)
		return err
	}
	m := open(t, source.FromReaderAt(r, int64(len(data))), d, check(CheckTouch))
	r.isReplaced = true
	list, _ := loading(data, everything...)
	expect.Says(t, tensor.ErrCorrupt, "changed since the file was opened")(nil, m.Load(t.Context(), list, nil))
}

// replacing reads one or another file.
type replacing struct {
	before, after []byte
	isReplaced    bool
}

func (r *replacing) ReadAt(p []byte, off int64) (int, error) {
	if r.isReplaced {
		return bytes.NewReader(r.after).ReadAt(p, off)
	}
	return bytes.NewReader(r.before).ReadAt(p, off)
}
