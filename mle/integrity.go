package mle

import (
	"context"
	"errors"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// SectionStatus is the outcome of checking one section.
type SectionStatus uint8

// The outcomes.
const (
	Absent     SectionStatus = iota // the file has no such section
	Unrecorded                      // there is nothing to check it against
	Intact                          // it is what was recorded
	Broken                          // it is not
	Unreadable                      // it could not be checked without the key
)

var sectionStatusNames = [...]string{"absent", "no checksum recorded", "ok", "broken", "not checked"}

// String describes the status in a few words.
func (s SectionStatus) String() string {
	if int(s) >= len(sectionStatusNames) {
		return "unknown"
	}
	return sectionStatusNames[s]
}

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
	var opts format.Options
	if o != nil {
		opts = *o
	}
	opts.Check = format.CheckStructure
	f, err := Open(path, &opts)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.VerifyIntegrity(context.Background())
}

// VerifyIntegrity checks the sections one by one. The signature counts as
// intact when the file is what was signed, whoever signed it: see CheckSignature. The
// error tells that checking was canceled, or that the file is closed.
func (f *File) VerifyIntegrity(ctx context.Context) (*Integrity, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	r := &Integrity{}
	for i, check := range f.f.checks() {
		err := codec.Examine(ctx, f.m, check.run)
		if e := ctx.Err(); e != nil {
			return nil, e
		}
		if errors.Is(err, format.ErrClosed) {
			return nil, err
		}
		r.Sections[i] = check.report(err)
	}
	return r, nil
}

// check is that of one section.
type check struct {
	name              string
	present, recorded bool
	run               func(driver.Verification) error
}

// checks lists those of all sections, in the order of the report. Of the zero File
// there is nothing but that it is closed.
func (f *parsed) checks() [6]check {
	if f == nil {
		return [6]check{}
	}
	h, parts := &f.h, f.parts()
	return [6]check{
		{"header", true, h.HeaderChecksum != 0, func(driver.Verification) error { return f.verifyHeader() }},
		{"metadata", f.meta != nil, h.MetadataChecksum != 0, parts[0].verify},
		{"graph", true, h.GraphChecksum != 0, parts[1].verify},
		{"weights", true, h.WeightsChecksum != 0, f.verifyStored},
		{"compression", f.comp != nil || h.Features.Has(Encryption), true, f.verifyContents},
		{"signature", f.sig != nil, true, func(v driver.Verification) error {
			status, err := f.checkSignature(v, nil)
			if status == Tampered {
				err = f.tampered()
			}
			return err
		}},
	}
}

// report says what came out.
func (c *check) report(err error) SectionReport {
	s := SectionReport{Name: c.name, Status: Intact, Err: err}
	switch {
	case errors.Is(err, format.ErrKey):
		s.Status = Unreadable
	case err != nil:
		s.Status = Broken
	case !c.present:
		s.Status = Absent
	case !c.recorded:
		s.Status = Unrecorded
	}
	return s
}
