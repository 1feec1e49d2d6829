package jsonmeta

// Strings is an array of strings that Check meets as the value of a key of the
// object, so that a long list need not be walked again.
type Strings struct {
	Key  string
	Most int // how many strings there is to be room for

	// Found says that there is such a key.
	Found bool
	// Plain says that the value is an array of at most Most strings, none of which is
	// empty or has escapes: what is between the quotes is what they stand for.
	Plain bool
	Spans []Span // in the memory that was there before, if that has room for Most
}

// Span is where a text is: between two offsets, in bytes.
type Span struct{ From, To int }

// walk walks the value of the key. It must not be in the way of what Check refuses.
func (l *Strings) walk(s *Scanner) error {
	l.Found = true
	if !s.at('[') {
		return s.Skip()
	}
	if cap(l.Spans) < l.Most {
		l.Spans = make([]Span, 0, l.Most)
	}
	l.Plain, l.Spans = true, l.Spans[:0:l.Most]
	return s.array(func(int) error {
		if l.run(s) {
			return nil
		}
		if !s.at('"') {
			l.Plain = false
			return s.Skip()
		}
		from := s.i + 1
		text, err := s.text()
		if len(text) == 0 || s.escaped || len(l.Spans) == cap(l.Spans) {
			l.Plain = false
		} else {
			l.Spans = append(l.Spans, Span{from, from + len(text)})
		}
		return err
	})
}

// run walks an element and those after it, as long as they are ASCII without escapes and
// a comma alone is between them, which is how lists are written. It reports whether it has
// walked the last of these, or is at one that is to be looked at more closely.
func (l *Strings) run(s *Scanner) bool {
	b, i, spans, last := s.b, s.i, l.Spans, false
	for !last && len(spans) < cap(spans) && i < len(b) && b[i] == '"' {
		end := plainEnd(b, i+1)
		if end == i+1 || end == len(b) || b[end] != '"' {
			break
		}
		spans = append(spans, Span{i + 1, end})
		if i = end + 1; i+1 < len(b) && b[i] == ',' && b[i+1] == '"' {
			i++
		} else {
			last = true
		}
	}
	s.i, l.Spans = i, spans
	return last
}
