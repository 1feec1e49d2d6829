// Package cause finds an error in what wraps it.
package cause

// Of returns the first error of type E in the tree of err, as errors.As does, but
// without its reflection, which would make every program 20 kB larger. With Go 1.26
// it is errors.AsType.
func Of[E error](err error) (E, bool) {
	for err != nil {
		if e, ok := err.(E); ok {
			return e, true
		}
		if a, ok := err.(interface{ As(any) bool }); ok {
			if e := new(E); a.As(e) {
				return *e, true
			}
		}
		switch x := err.(type) {
		case interface{ Unwrap() error }:
			err = x.Unwrap()
		case interface{ Unwrap() []error }:
			for _, err := range x.Unwrap() {
				if e, ok := Of[E](err); ok {
					return e, true
				}
			}
			err = nil
		default:
			err = nil
		}
	}
	var none E
	return none, false
}
