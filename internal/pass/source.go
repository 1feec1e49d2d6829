package pass

import "context"

// source is where the bytes of a range are read.
type source struct {
	kind    Kind
	memory  []byte   // to be used in place; nil if the range is read
	mapping Mapping  // to be populated first, or nil
	file    File     // to be read
	again   Reopened // file, if that is a mapped file which was opened again
	isOwn   bool     // again is closed after the range
}

func (s *source) close() {
	if s.isOwn {
		s.again.Close()
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
	if s.mapping == nil {
		return s
	}
	if p.IsUse {
		s.mapping.MarkUsed(r.Offset, r.Size)
		return s
	}
	if s.mapping.IsUsed(r.Offset, r.Size) {
		s.mapping = nil // its pages are there
		return s
	}
	if p.isSmall(r, s.mapping) {
		return s
	}
	file, isOwn := p.open(r.File, s.mapping)
	if file == nil {
		return s // such as a file that was replaced
	}
	s.again = file
	s.isOwn = isOwn
	s.file = file
	s.memory = nil
	s.mapping = nil
	return s
}

// isSmall reports whether a file is small, or the pass has read little of mappings, with this
// range.
func (p *Pass) isSmall(r *Range, m Mapping) bool {
	if m.Size() < Small {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mapped += r.Size
	return p.mapped < Small
}

// open returns the file of a mapping, which it opens at first, or nil if that is not possible.
// isOwn means that the caller closes the file, since the pass has too many.
func (p *Pass) open(f File, m Mapping) (file Reopened, isOwn bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	file, ok := p.files[f]
	if ok {
		return file, false
	}
	file, err := m.Reopen()
	if err != nil {
		file = nil
	}
	if len(p.files) == mostOpen {
		return file, true
	}
	if p.files == nil {
		p.files = make(map[File]Reopened)
	}
	p.files[f] = file
	return file, false
}
