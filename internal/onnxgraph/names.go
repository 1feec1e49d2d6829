package onnxgraph

import (
	"bytes"
	"slices"

	"github.com/weightmap/weightmap/internal/protobuf"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// Names is a stack of names that are compared: a graph whose names are being collected
// may hold others. They are parts of a Source in memory.
type Names [][]byte

// Add puts the name of a message on the stack, which is its field num.
func (n *Names) Add(s *protobuf.Source, m *protobuf.Message, msg protobuf.Field, num protowire.Number) error {
	name, err := s.Last(m, msg, num)
	*n = append(*n, name)
	return err
}

// AddAll adds the names of the count messages in a field, which are their field 1.
func (n *Names) AddAll(s *protobuf.Source, m *protobuf.Message, num protowire.Number, count int, pieces ...protobuf.Field) error {
	*n = slices.Grow(*n, count)
	for _, piece := range pieces {
		err := s.Each(m, piece, func(f protobuf.Field) error {
			if f.Num != num {
				return nil
			}
			return n.Add(s, m.Fields[num].Message, f, 1)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Unique refuses equal names on the stack from base on, and takes them off.
func (n *Names) Unique(base int, at int64) error {
	names := (*n)[base:]
	*n = (*n)[:base]
	slices.SortFunc(names, bytes.Compare)
	for i := 1; i < len(names); i++ {
		if bytes.Equal(names[i-1], names[i]) {
			return protobuf.Defectf(at, tensor.ErrCorrupt, "the name %.200q occurs twice", names[i])
		}
	}
	return nil
}
