package hostile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// Guarantees for a model whose files are overwritten, truncated and replaced by a concurrent writer:
//
//   - No call panics or hangs, and no memory fault ends the process.
//   - If the structure has a checksum (mag, mle) or a signature is required, the names, shapes
//     and metadata of an opened model were written together.
//   - Authenticated data (encryption) is data that was written.
//   - After the last write, a model that passes Verify matches a fresh open of its file; if
//     checksums cover all data, that data was written together. Data that the program received
//     earlier is not checked.

// TestChangedWhileOpen changes files in other goroutines while they are opened, verified and decoded
// and their graphs built. WEIGHTMAP_ROUNDS sets the number of rounds per sample.
func TestChangedWhileOpen(t *testing.T) {
	testhost.NeedCuts(t)
	rounds := 6
	if n, err := strconv.Atoi(os.Getenv("WEIGHTMAP_ROUNDS")); err == nil {
		rounds = n
	}
	for _, s := range samples(t) {
		t.Run(s.String(), func(t *testing.T) {
			a := &arena{s: s, dir: t.TempDir()}
			for i := range 2 {
				a.known = append(a.known, contentOf(t, s, i))
			}
			for i := 0; i < rounds || a.isIdle() && i < mostIdle; i++ {
				a.round(t, uint64(i))
				if t.Failed() {
					return
				}
			}
			t.Logf("%d rounds: %d opened, %d verified while they changed, %d afterwards, %d tensors read", rounds, a.opened, a.verified, a.afterwards, a.read)
			if a.isIdle() {
				t.Error("nothing was tried")
			}
		})
	}
}

// mostIdle is the number of rounds after which a model should have been open.
const mostIdle = 1000

// isIdle reports whether no model was opened, or none compared after the changes.
func (a *arena) isIdle() bool { return a.opened == 0 || a.afterwards == 0 }

// TestTwoFaces: a file that returns one generation to the parser and another to later reads fails
// verification, unless the model matches one of the two.
func TestTwoFaces(t *testing.T) {
	for _, s := range samples(t) {
		if len(s.files[0]) > 1 || len(s.bytes(0)) != len(s.bytes(1)) {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			a := &arena{s: s, known: []content{contentOf(t, s, 0), contentOf(t, s, 1)}}
			for _, check := range []format.Check{format.CheckDefault, format.CheckTouch} {
				o := s.options()
				o.Check = check
				r := &faces{first: s.bytes(0), then: s.bytes(1), shown: make([]bool, len(s.bytes(0)))}
				m, err := format.OpenReaderAt(r, int64(len(r.first)), o)
				if err != nil {
					continue // the parser read it twice
				}
				defer m.Close()
				if _, err := m.Verify(t.Context(), nil); err != nil {
					continue
				}
				got, err := show(m)
				if err != nil || s.summed && !slices.ContainsFunc(a.known, func(c content) bool { return c.equal(&got) }) {
					t.Errorf("verified, and nobody wrote this (%v):\n%s", err, got.structure)
				}
			}
		})
	}
}

// faces is a reader that returns each byte of one file first, and of another file after that.
type faces struct {
	mu          sync.Mutex
	first, then []byte
	shown       []bool
}

func (r *faces) ReadAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := copy(p, r.then[off:])
	for i := range p[:n] {
		if k := int(off) + i; !r.shown[k] {
			r.shown[k], p[i] = true, r.first[k]
		}
	}
	return n, nil
}

// content is everything that a model returns.
type content struct {
	structure string
	data      map[string][]byte
}

// contentOf returns the content of a generation.
func contentOf(t *testing.T, s *sample, generation int) content {
	t.Helper()
	dir := t.TempDir()
	store(t, dir, s.files[generation])
	m, err := format.Open(filepath.Join(dir, s.open), s.options())
	expect.OK(t, err)
	defer m.Close()
	c, err := show(m)
	expect.OK(t, err)
	return c
}

// show reads all of a model.
func show(m *format.Model) (c content, err error) {
	c = content{structureOf(m), map[string][]byte{}}
	for name, v := range m.Tensors() {
		b := make([]byte, v.Info().Size)
		if _, err = v.ReadInto(b); err != nil {
			return c, err
		}
		c.data[name] = b
	}
	return c, nil
}

// structureOf returns everything that a model says, except its data.
func structureOf(m *format.Model) string {
	meta, err := m.Metadata()
	text := fmt.Sprintf("%q %v", meta, err)
	for name, v := range m.Tensors() {
		text += fmt.Sprintf("\n%q %v %v", name, v.DType(), v.Shape())
	}
	return text
}

func (c *content) equal(o *content) bool {
	return c.structure == o.structure && maps.EqualFunc(c.data, o.data, bytes.Equal)
}

// arena is a directory with a sample.
type arena struct {
	s     *sample
	dir   string
	known []content

	opened, verified, afterwards, read int
}

// round opens the sample, uses it while an adversary changes its files, and checks it after the
// adversary stopped.
func (a *arena) round(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0x6ef))
	restore(t, a.dir, a.s.files[r.IntN(2)])
	adversary := &adversary{a: a, r: rand.New(rand.NewPCG(seed, 0xadd)), stop: make(chan struct{})}
	var at sync.WaitGroup
	at.Go(func() { ; adversary.work() })

	// Of the two kinds of models, one is used during the changes, the other only afterwards.
	var models []*format.Model
	guard := time.AfterFunc(5*time.Minute, func() { panic(fmt.Sprintf("%v, round %d: it hangs", a.s, seed)) })
	for k := range 3 {
		o := a.s.options()
		o.Check = []format.Check{format.CheckDefault, format.CheckTouch, format.CheckStructure, format.CheckAll}[r.IntN(4)]
		if a.s.trust != nil && r.IntN(2) == 0 {
			o.Trusted = a.s.trust
		}
		m, err := format.Open(filepath.Join(a.dir, a.s.open), o)
		if err != nil {
			continue
		}
		a.opened++
		a.structure(t, m, o)
		if k > 0 {
			a.use(t, m, r)
		}
		if r.IntN(3) == 0 {
			m.Close()
			continue
		}
		if k == 0 {
			models = append(models, m)
		} else {
			defer m.Close()
		}
	}
	close(adversary.stop)
	at.Wait()
	for _, m := range models {
		a.afterward(t, m, adversary)
		m.Close()
	}
	guard.Stop()
}

// structure checks the guarantees of opening.
func (a *arena) structure(t *testing.T, m *format.Model, o *format.Options) {
	if o.Trusted == nil && (!a.s.private || o.Check == format.CheckStructure) {
		return
	}
	if got := structureOf(m); !slices.ContainsFunc(a.known, func(c content) bool { return c.structure == got }) {
		t.Errorf("opened with a structure that nobody wrote:\n%s", got)
	}
}

// use exercises all methods of a model. Errors are expected.
func (a *arena) use(t *testing.T, m *format.Model, r *rand.Rand) {
	steps := []func(){
		func() {
			if _, err := m.Verify(t.Context(), nil); err == nil {
				a.verified++
			}
		},
		func() {
			if g, err := m.Graph(); err == nil && g != nil {
				for _, n := range g.Nodes {
					for _, x := range n.Attributes {
						if v, ok := x.Value.(tensor.View); ok {
							_, _ = v.Clone()
						}
					}
				}
			}
		},
		func() { _, _ = m.Metadata() },
		func() { _, _, _ = m.Notes(), m.Signature(), m.Stats() },
		func() {
			for name, v := range m.Tensors() {
				c, err := v.Clone()
				if err != nil {
					continue
				}
				a.read++
				got, err := c.Bytes()
				if err != nil || int64(len(got)) != v.Info().Size {
					t.Errorf("%q: %d bytes of %d, %v", name, len(got), v.Info().Size, err)
				}
				if a.s.sealed() && !slices.ContainsFunc(a.known, func(c content) bool { return bytes.Equal(c.data[name], got) }) {
					t.Errorf("%q: authenticated data that nobody wrote", name)
				}
			}
		},
		func() {
			for _, v := range m.Tensors() {
				_, _ = tensor.Decode[float32](nil, v)
				_, _ = v.ReadAt(make([]byte, 100), r.Int64N(1000))
			}
		},
	}
	r.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	if r.IntN(2) == 0 {
		var all sync.WaitGroup
		for _, f := range steps[:2] {
			all.Go(func() { ; f() })
		}
		all.Wait()
		steps = steps[2:]
	}
	for _, f := range steps {
		f()
	}
}

// afterward compares a verified model with its file.
func (a *arena) afterward(t *testing.T, m *format.Model, adversary *adversary) {
	if _, err := m.Verify(t.Context(), nil); err != nil {
		return
	}
	got, err := show(m)
	if err != nil {
		t.Errorf("verified, and then: %v", err)
		return
	}
	a.afterwards++
	is := func(c content) bool { return c.equal(&got) }
	if a.s.summed {
		// After replacing single files of a model, a mixture of both generations is valid.
		if len(a.s.files[0]) == 1 && !slices.ContainsFunc(a.known, is) {
			t.Errorf("verified, and nobody wrote this:\n%s", got.structure)
		}
		return
	}
	if len(a.s.files[0]) > 1 {
		return // it is unknown which files were replaced while the model had them open
	}
	for _, path := range append(adversary.old, filepath.Join(a.dir, a.s.open)) {
		b := expect.Read(t, path)
		// In some formats the file name is the tensor's name.
		dir := t.TempDir()
		store(t, dir, map[string][]byte{a.s.open: b})
		now, err := format.Open(filepath.Join(dir, a.s.open), a.s.options())
		if err != nil {
			continue
		}
		c, err := show(now)
		now.Close()
		if err == nil && c.equal(&got) {
			return
		}
	}
	t.Errorf("verified, and it is in no file:\n%s", got.structure)
}

// restore writes the original content of the files in place.
func restore(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "old-*"))
	expect.OK(t, err)
	for _, path := range left {
		os.Remove(path)
	}
	store(t, dir, files)
}

// adversary changes the files of a sample until it is stopped.
type adversary struct {
	a    *arena
	r    *rand.Rand
	stop chan struct{}
	old  []string // hard links to replaced files
}

func (x *adversary) work() {
	names := slices.Sorted(maps.Keys(x.a.s.files[0]))
	for {
		select {
		case <-x.stop:
			return
		default:
		}
		// An error means that another step removed the file.
		_ = x.step(names[x.r.IntN(len(names))])
		if x.r.IntN(4) == 0 {
			runtime.Gosched()
		}
	}
}

// step changes one file.
func (x *adversary) step(name string) error {
	path := filepath.Join(x.a.dir, filepath.FromSlash(name))
	b := x.a.s.files[x.r.IntN(2)][name]
	if b == nil {
		return nil // the generations have different file names
	}
	if x.r.IntN(8) == 0 && len(x.old) < 20 {
		return x.replace(path, b)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	switch x.r.IntN(6) {
	case 0: // truncate the file and extend it again
		_ = f.Truncate(int64(x.r.IntN(len(b) + 1)))
		runtime.Gosched()
		fallthrough
	case 1, 2: // overwrite all of it, in pieces
		for at := 0; at < len(b); {
			n := min(1+x.r.IntN(len(b)), len(b)-at)
			_, err = f.WriteAt(b[at:at+n], int64(at))
			at += n
		}
		return errors.Join(err, f.Truncate(int64(len(b))))
	case 3: // overwrite a range with one generation
		at := x.r.IntN(len(b))
		_, err = f.WriteAt(b[at:at+1+x.r.IntN(len(b)-at)], int64(at))
	case 4: // change a few bytes of the structure at the front and restore them
		at := x.r.IntN(min(len(b), 400))
		junk := make([]byte, min(1+x.r.IntN(8), len(b)-at))
		for i := range junk {
			junk[i] = byte(x.r.Uint32())
		}
		_, _ = f.WriteAt(junk, int64(at))
		runtime.Gosched()
		_, err = f.WriteAt(b[at:at+len(junk)], int64(at))
	case 5: // flip one bit anywhere and restore it
		at := x.r.IntN(len(b))
		_, _ = f.WriteAt([]byte{b[at] ^ 1<<x.r.IntN(8)}, int64(at))
		runtime.Gosched()
		_, err = f.WriteAt(b[at:at+1], int64(at))
	}
	return err
}

// replace puts another file in place of one, which remains under another name.
func (x *adversary) replace(path string, b []byte) error {
	old := filepath.Join(x.a.dir, fmt.Sprint("old-", len(x.old)))
	next := filepath.Join(x.a.dir, "old-next")
	if err := errors.Join(os.Link(path, old), os.WriteFile(next, b, 0o666)); err != nil {
		return err
	}
	x.old = append(x.old, old)
	return os.Rename(next, path)
}
