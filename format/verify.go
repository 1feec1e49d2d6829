package format

import (
	"context"
	"slices"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Verify computes every checksum of the file, checks that all data is present and that the
// structure did not change since it was read, and returns which checksum covers what. Nil options
// work. With VerifyOptions.Trusted the files must be as signed. Without it, a signature in the file
// must be one that the key in the file made, if there is a key. Verify reads files without mapping
// their pages.
//
// Files that caches name by their digests, and targets of links with such names, are hashed and
// compared too, unless VerifyOptions.Tensors selects tensors: sha256-HEX (Ollama), and in a
// directory blobs 64 hex digits (SHA-256) or 40 (SHA-1 of a blob of git). Elsewhere 64 hex digits
// in a name are compared, and a note says if they match. The formats that such caches have link
// both hashes; in a program without them a note says that the digest was not compared.
//
// Errors wrap ErrChecksum, ErrTruncated, ErrCorrupt, ErrSignature, ErrKey (encrypted data without
// its key), ErrNotFound (a name in VerifyOptions.Tensors), ErrClosed, or the error of the context.
func (m *Model) Verify(ctx context.Context, o *VerifyOptions) (*Coverage, error) {
	if o == nil {
		o = &VerifyOptions{}
	}
	if o.Workers < 0 {
		return nil, driver.OptionError("", "Workers", "%d", o.Workers)
	}
	return m.opened().verify(ctx, o)
}

// verify verifies all checksums of the file and reads all data, or those of some tensors.
func (m *Model) verify(ctx context.Context, o *VerifyOptions) (*Coverage, error) {
	m.c.trust.forget() // not what was read before
	v := newVerification(m, ctx, o)
	defer v.pass.Close()
	if err := m.Guard(v.run); err != nil {
		return nil, m.explain(err)
	}
	if v.isWhole() {
		m.touch.pending.Store(false)
	}
	c := v.coverage
	c.index = &m.index
	return &c, nil
}

func (v *verification) run() error {
	m := v.m
	if err := v.ctx.Err(); err != nil {
		return err
	}
	if err := v.authenticate(); err != nil {
		return err
	}
	if len(v.o.Tensors) > 0 {
		v.wanted = make([]bool, m.index.Len())
	}
	for _, name := range v.o.Tensors {
		i, ok := m.index.Lookup(name)
		if !ok {
			return m.about(name, -1, tensor.ErrNotFound)
		}
		v.wanted[i] = true
	}
	m.spaces.hold()
	defer m.spaces.release()
	v.coverage.tensors = slices.Repeat([]string{notLooked}, m.index.Len())
	sums := v.wantedSums()
	for _, k := range sums {
		v.Expect(countedBytes(&m.declaredSums.list[k]))
	}
	left := v.leftTensors()
	if err := v.compareSums(sums); err != nil {
		return err
	}
	covering := m.declaredSums.covering()
	v.coverSections(sums, covering)
	if err := v.tensors(left); err != nil {
		return err
	}
	for i := range v.coverage.tensors {
		if v.coverage.tensors[i] == notLooked && v.Wanted(i) || v.coverage.tensors[i] == "" {
			v.coverage.tensors[i] = v.coveredBy(i, covering)
		}
	}
	if v.isWhole() {
		err := v.compareNames()
		if err != nil {
			return err
		}
	}
	v.coverage.uncovered = v.uncovered(covering)
	return v.unchanged()
}
