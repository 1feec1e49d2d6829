package torch

import (
	"github.com/weightmap/weightmap/format"
)

// Open maps the PyTorch file at path and reads its pickle without running any code in it. A nil
// *format.Options is the zero value. Errors are *format.Error with field and offset, or wrap errors
// of package os.
func Open(path string, o *format.Options) (*format.Model, error) { return own.Open(path, o) }
