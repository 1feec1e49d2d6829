package format

import (
	"cmp"
	"crypto"

	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// authenticate asks VerifyOptions.Trusted what the files of the open model must be, and compares
// them with the digests that it requires. It sets v.key if it requires a signature in the file,
// which is checked later.
func (v *verification) authenticate() error {
	if v.o.Trusted == nil {
		return nil
	}
	m := v.m
	own := m.main
	if m.isDir {
		own = nil
	}
	t := m.c.newTrusted(own)
	err := t.ask(v.ctx, v.o.Trusted)
	if err != nil {
		return err
	}
	list, err := v.requiredFiles(t)
	if err != nil {
		return err
	}
	in := t.hashing(v.ctx)
	in.workers = v.workers()
	in.progress = &v.Progress
	for _, f := range list {
		err := in.compareOpen(f.region, f.digests, t.required)
		if err != nil {
			return wire.Place(err, "", f.region.Path(), "")
		}
	}
	if t.key == nil {
		return nil
	}
	v.key = t.key
	return m.checkTrusted(t.key)
}

// requiredFile is a file of an open model with the digests that it must have. It has none if it has
// no name: then it must be one of the files that are required.
type requiredFile struct {
	region  *source.Region
	digests []Digest
}

// requiredFiles lists the files of the model that t requires digests of. It fails for a file that t
// does not cover.
func (v *verification) requiredFiles(t *trusted) ([]requiredFile, error) {
	var list []requiredFile
	for i, f := range v.m.spaces.files {
		name := f.name
		if i == 0 {
			name = t.own.Name
		}
		isDirectory := i == 0 && v.m.isDir
		isNameless := name == "" && len(t.required) > 0
		switch {
		case isDirectory:
			continue
		case !isNameless && !t.covers(name):
			return nil, &tensor.Error{Path: f.path(), Offset: -1, Err: errUnsigned}
		case !isNameless && len(t.digests(name)) == 0:
			continue // the signature in the file covers it
		}
		r, err := f.open()
		if err != nil {
			return nil, wire.Place(err, v.m.desc.Name, f.path(), "")
		}
		v.Expect(r.Size())
		list = append(list, requiredFile{r, t.digests(name)})
	}
	return list, nil
}

// compareOpen compares a file of an open model with its digests. A file without any must be one of
// required.
func (in *hashing) compareOpen(r *source.Region, digests []Digest, required map[string][]Digest) error {
	if len(digests) == 0 {
		return in.compareAny(r, required)
	}
	ranges, err := rangesOf(digests, r.Size())
	if err != nil {
		return err
	}
	return in.compareRanges(r, ranges)
}

// authenticate ends the authentication of a parsed model: it compares the files that were declared,
// and the signature in the file if that is what the Trust requires.
func (m *Model) authenticate() error {
	t := m.c.trust
	o := &m.c.options
	if err := m.spaces.openAll(o.Context); err != nil {
		return err
	}
	for _, f := range m.spaces.files[1:] {
		if f.region.Load() == nil && !t.covers(f.name) {
			return m.explain(&tensor.Error{Path: cmp.Or(f.path(), f.name), Offset: -1, Err: errUnsigned})
		}
	}
	if t.key == nil {
		return nil
	}
	if err := m.checkTrusted(t.key); err != nil {
		return err
	}
	v := newVerification(m, o.Context, &VerifyOptions{Progress: o.Progress, Workers: o.Workers})
	v.key = t.key
	defer v.pass.Close()
	return m.guard(func() error { return m.parsed.Authenticate(v) })
}

// checkTrusted returns an error if key is no public key, or if the format has no signatures.
func (m *Model) checkTrusted(key crypto.PublicKey) error {
	if err := checkPublic(key); err != nil {
		return m.explain(wire.Error("", "signature", -1, err))
	}
	if m.parsed.Authenticate == nil {
		return m.explain(wire.Errorf("", "signature", -1, tensor.ErrSignature, "the format has no signatures"))
	}
	return nil
}
