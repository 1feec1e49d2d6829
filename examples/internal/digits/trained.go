package digits

import _ "embed"

// trained is the file that examples/train made. Its documentation says by which command.
//
//go:embed testdata/digits.wia
var trained string

// Trained returns a WIA file of a network that reads digits, trained by examples/train.
func Trained() []byte { return []byte(trained) }
