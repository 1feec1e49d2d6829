package pass

import "context"

// source is where the bytes of a range are read.
type source struct {
	kind    Kind
	memory  []byte   // to be used in place; nil if the range is read
	mapping Mapping  // to be populated first, or nil
	file    File     // to be read
	own     Reopened // to be closed after the range, or nil
}

func (s *source) close() {
	if s.own != nil {
		s.own.Close()
	}
}

// populate maps the pages of a piece before they are used.
func (s *source) populate(at, n int64) {
	if s.mapping != nil {
		s.mapping.Populate(at, n)
	}
}

// read fills b.
func (s *source) read(ctx context.Context, b []byte, at int64) error {
	_, err := s.file.ReadAtContext(ctx, b, at)
	return err
}

// choose decides how a range is read: see the documentation of the package.
func (p *Pass) choose(r *Range) source {
	s := source{kind: r.File.Kind(), file: r.File, mapping: r.File.Mapping()}
	if !r.IsPrivate {
		s.memory = r.File.Memory()
	}
	if s.mapping == nil || p.IsUse || p.isSmall(r) {
		return s
	}
	o, isOwn := p.open(r)
	if o.file == nil {
		return s // such as a file that was replaced
	}
	if o.isTouched {
		if isOwn {
			o.file.Close()
		}
		s.mapping = nil // there is nothing to populate
		return s
	}
	if isOwn {
		s.own = o.file
	}
	s.file = o.file
	s.memory = nil
	s.mapping = nil
	return s
}

// isSmall reports whether the pass has read little of mappings, with this range.
func (p *Pass) isSmall(r *Range) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mapped += r.Size
	return p.mapped < smallPass
}

// way is how a range of a mapping is read.
type way struct {
	file      Reopened // nil if the file cannot be opened
	isTouched bool     // the pages of the range are mapped
}

// open returns how to read a range of a mapping. It opens the file at first. isOwn means that the caller closes the file, since
// the pass has too many.
func (p *Pass) open(r *Range) (w way, isOwn bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := r.File.Mapping()
	o := p.files[r.File]
	if o == nil {
		o = new(opened)
		o.file, _ = m.Reopen() // without it, the mapping is read
		isOwn = len(p.files) == mostOpen
		if !isOwn {
			p.keep(r.File, o)
		}
	}
	return way{o.file, o.isTouched(m, r)}, isOwn
}

// keep keeps a file open until Close.
func (p *Pass) keep(f File, o *opened) {
	if p.files == nil {
		p.files = make(map[File]*opened)
	}
	p.files[f] = o
}

// opened is what a pass knows of a mapped file.
type opened struct {
	file  Reopened // nil if it could not be opened
	asked int      // number of ranges
	pages pages
}

// pages says which pages of a file the process has used.
type pages uint8

const (
	somePages pages = iota // each range is asked for
	fewPages
	allPages
)

// isTouched reports whether the pages of a range are mapped. From the second range on, some pages of the file decide for all
// ranges if they agree.
func (o *opened) isTouched(m Mapping, r *Range) bool {
	if o.file == nil {
		return false
	}
	o.asked++
	if o.asked == 2 {
		o.pages = pagesOf(m.Touched(0, m.Size()))
	}
	switch o.pages {
	case fewPages:
		return false
	case allPages:
		return true
	}
	touched, of := m.Touched(r.Offset, r.Size)
	return touched == of
}

// pagesOf returns what a sample of the pages of a file says. The first and the last page are often used by themselves.
func pagesOf(touched, of int) pages {
	switch {
	case touched == of:
		return allPages
	case touched <= of/4:
		return fewPages
	}
	return somePages
}
