// Package peer defines the protocol between the judge and readers of model files, which run in
// separate processes so that a crash ends only one reader. The judge writes a path on a line of
// standard input, and the reader answers with an Answer as JSON on a line of standard output. Before
// that, the reader writes one line with its version.
package peer

import (
	"bufio"
	"encoding/json"
	"os"
)

// Answer is the result of reading a file.
type Answer struct {
	Version string   `json:"version,omitempty"`
	Error   string   `json:"error,omitempty"`
	Tensors []Tensor `json:"tensors,omitempty"`
}

// Tensor is a tensor as the reader returns it, little-endian.
type Tensor struct {
	Name    string  `json:"name"`
	Data    []byte  `json:"data"`
	Columns bool    `json:"columns,omitempty"` // Data is in Fortran order
	Shape   []int64 `json:"shape,omitempty"`   // set if Columns
}

// Serve answers every path with the result of read. A panic of read ends the process.
func Serve(version string, read func(path string) ([]Tensor, error)) error {
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(Answer{Version: version}); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var a Answer
		var err error
		if a.Tensors, err = read(in.Text()); err != nil {
			a = Answer{Error: "refused: " + err.Error()}
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return in.Err()
}
