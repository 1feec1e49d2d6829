package mle

import (
	"context"
	"errors"

	"github.com/weightmap/weightmap/format"
)

// SectionStatus is the outcome of checking one section.
type SectionStatus uint8

// The outcomes.
const (
	Absent     SectionStatus = iota // the file has no such section
	Unrecorded                      // there is nothing to check it against
	Intact                          // it is what was recorded
	Broken                          // it is not
	Unreadable                      // it could not be checked for want of the key
	statusCount
)

var sectionStatusNames = [statusCount]string{"absent", "no checksum recorded", "ok", "broken", "not checked"}

// String describes the status in a few words.
func (s SectionStatus) String() string { return sectionStatusNames[s] }

// SectionReport is what VerifyIntegrity found out about a section.
type SectionReport struct {
	Name   string // "header", "metadata", "graph", "weights", "compression", "signature"
	Status SectionStatus
	Err    error // why, when it is Broken or Unreadable
}

// Integrity is a report on all sections, in the order of the specification.
type Integrity struct{ Sections [6]SectionReport }

// OK reports that nothing is broken and everything that has a checksum was
// checked.
func (r *Integrity) OK() bool { return r.Err() == nil }

// Err returns the first reason why the file is not whole, nil when it is.
func (r *Integrity) Err() error {
	for _, s := range r.Sections {
		if s.Err != nil {
			return s.Err
		}
	}
	return nil
}

// VerifyIntegrity checks the sections of the file at path one by one, also
// those whose checksums would keep Open from opening it. The error is for
// files whose structure cannot be read at all. Options may give the key.
func VerifyIntegrity(path string, o *format.Options) (*Integrity, error) {
	opts := o.WithDefaults()
	opts.Check = format.CheckStructure
	f, err := Open(path, opts)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.VerifyIntegrity(context.Background())
}

// VerifyIntegrity checks the sections one by one. The signature counts as
// intact when the file is what was signed, by whomever: see CheckSignature. The
// error tells that checking was cancelled, or that the file is closed.
func (f *File) VerifyIntegrity(ctx context.Context) (*Integrity, error) {
	r := &Integrity{}
	err := f.use(func() error {
		h := &f.h
		r.Sections = [6]SectionReport{
			report("header", h.Version == 2 && h.HeaderChecksum != 0, f.checkHeaderSum()),
			report("metadata", h.MetadataChecksum != 0, f.checkMetadataSum()),
			report("graph", h.GraphChecksum != 0, f.checkGraphSum()),
			report("weights", h.WeightsChecksum != 0, f.verifyStored(ctx, nil, 0)),
			report("compression", true, f.verifyContents(ctx)),
			report("signature", true, f.verifySigned(ctx)),
		}
		if f.meta == nil {
			r.Sections[1].Status = Absent
		}
		if f.comp == nil && !h.Features.Has(Encryption) {
			r.Sections[4].Status = Absent
		}
		if f.sig == nil {
			r.Sections[5].Status = Absent
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	for i := range r.Sections {
		r.Sections[i].Err = f.located(r.Sections[i].Err)
	}
	return r, nil
}

func report(name string, recorded bool, err error) SectionReport {
	s := SectionReport{Name: name, Status: Intact, Err: err}
	switch {
	case errors.Is(err, format.ErrKey):
		s.Status = Unreadable
	case err != nil:
		s.Status = Broken
	case !recorded:
		s.Status = Unrecorded
	}
	return s
}

// verifyContents checks what comes out of weights that are not stored plainly.
func (f *File) verifyContents(ctx context.Context) error {
	return f.verifyInner(ctx, &format.VerifyOptions{}, nil)
}

func (f *File) verifySigned(ctx context.Context) error {
	status, err := f.checkSignature(ctx, nil, nil)
	if err != nil {
		return err
	}
	return signatureError(&f.h, status, nil)
}
