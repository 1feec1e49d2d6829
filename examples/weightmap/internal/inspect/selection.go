package inspect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// axis is the selection on one axis, as written: "0:2", ":", "-1".
type axis struct {
	from, to int64 // negative ones count from the end
	toEnd    bool  // to is missing
	single   bool  // from is an index; the axis is removed
	text     string
}

// parseSlice parses NumPy's slice syntax without steps. An empty text selects everything.
func parseSlice(text string) ([]axis, error) {
	if text == "" {
		return nil, nil
	}
	var all []axis
	for _, part := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), ":")
		x := axis{toEnd: to == "", single: !isRange, text: strings.TrimSpace(part)}
		var err error
		if from != "" || x.single {
			x.from, err = strconv.ParseInt(from, 10, 64)
		}
		if err == nil && to != "" {
			x.to, err = strconv.ParseInt(to, 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot parse slice %q; want for example 0:2,:,-1", text)
		}
		all = append(all, x)
	}
	return all, nil
}

// selection is a part of a tensor.
type selection struct {
	ranges []tensor.Range // one per axis of the tensor
	cut    tensor.Shape   // shape of the ranges
	shape  tensor.Shape   // shape without the removed axes
}

// choose applies axes to a shape. Missing axes are selected as a whole.
func choose(axes []axis, shape tensor.Shape) (*selection, error) {
	if len(axes) > len(shape) {
		return nil, fmt.Errorf("the slice has %s, the tensor %d%.0w", counted(len(axes), "axis", "axes"),
			len(shape), format.ErrShape)
	}
	s := &selection{shape: tensor.Shape{}}
	for i, dim := range shape {
		x := axis{toEnd: true}
		if i < len(axes) {
			x = axes[i]
		}
		r := tensor.Range{From: fromEnd(x.from, dim), To: fromEnd(x.to, dim)}
		switch {
		case x.single:
			r.To = r.From + 1
		case x.toEnd:
			r.To = dim
		}
		if r.From < 0 || r.To < r.From || r.To > dim {
			what := "range"
			if x.single {
				what = "index"
			}
			return nil, fmt.Errorf("%s %s is outside axis %d (%s)%.0w", what, x.text, i,
				cli.Count(int(dim), "element"), format.ErrShape)
		}
		s.ranges = append(s.ranges, r)
		s.cut = append(s.cut, r.To-r.From)
		if !x.single {
			s.shape = append(s.shape, r.To-r.From)
		}
	}
	return s, nil
}

// counted returns "1 axis" or "2 axes".
func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func fromEnd(n, dim int64) int64 {
	if n < 0 {
		n += dim
	}
	return n
}

// of translates ranges of the selection to ranges of the tensor.
func (s *selection) of(part []tensor.Range) []tensor.Range {
	moved := make([]tensor.Range, len(part))
	for i, r := range part {
		moved[i] = tensor.Range{From: r.From + s.ranges[i].From, To: r.To + s.ranges[i].From}
	}
	return moved
}
