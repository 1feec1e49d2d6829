package format

// A ChoiceError is the error of opening a directory, or a repository by package remote, that is not
// one model: it has several, or only some parts of one, or its models lie in its directories.
type ChoiceError struct {
	// Names are those of the files and directories to open instead, with slashes, relative to the
	// directory, which is the Path of the tensor.Error around this one. Those of a repository are
	// addresses for remote.Open.
	Names []string
	// Err says what the directory has. It wraps ErrUnsupported or ErrUnknownFormat.
	Err error
}

// Error implements error.
func (e *ChoiceError) Error() string { return e.Err.Error() }

// GoString implements fmt.GoStringer like Error.
func (e *ChoiceError) GoString() string { return e.Error() }

// Unwrap returns Err.
func (e *ChoiceError) Unwrap() error { return e.Err }
