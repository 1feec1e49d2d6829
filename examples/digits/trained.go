package digits

import _ "embed"

// trained is the model that examples/train made, with the command in its documentation.
//
//go:embed testdata/digits.wia
var trained string

// Trained returns a WIA file with a trained network for digits.
func Trained() []byte { return []byte(trained) }
