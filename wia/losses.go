package wia

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/jsonmeta"
	"github.com/weightmap/weightmap/tensor"
)

// losses lists what a file cannot hold of a plan.
func (d fileFormat) losses(p *driver.Plan, l *driver.LossList) {
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if err := hasCode(t.DType); err != nil {
			l.Fixed(driver.LossDType, t.Name, err)
		}
		if _, err := quantMessage(t); err != nil && d.from == nil {
			l.Quantization(p, i, err)
		}
	}
	if d.from != nil {
		return
	}
	for i, e := range p.Metadata {
		if _, err := jsonmeta.Marshal(format.Metadata{e}, jsonmeta.Options{}); err != nil {
			l.Metadata(p, i, err)
		} else if x, ok := e.Value.(float64); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
			l.ConvertedMetadata(p, i, fmt.Sprintf("JSON has no %v, a string takes its place", x))
		}
	}
	if p.Graph != nil && d.opts.Graph == nil {
		graphLosses(p, l)
	}
}

func hasCode(d tensor.DType) error {
	if codeOf(d) == 0 {
		return fmt.Errorf("%w: the format has no %v", format.ErrUnsupported, d)
	}
	return nil
}

// graphLosses looks at what only other formats have: dtypes, codes and
// attribute values.
func graphLosses(p *driver.Plan, l *driver.LossList) {
	for _, list := range [][]format.ValueInfo{p.Graph.Inputs, p.Graph.Outputs} {
		for i := range list {
			if why := unsaid(&list[i]); why != "" {
				l.Converted(driver.LossValue, list[i].Name, why)
			}
		}
	}
	for i := range p.Graph.Nodes {
		for j := range p.Graph.Nodes[i].Attributes {
			var c conversions
			err := c.value(driver.AttributeName(p, i, j), p.Graph.Nodes[i].Attributes[j].Value)
			if err != nil {
				l.Attribute(p, i, j, err)
				continue
			}
			for _, one := range c {
				l.Converted(driver.LossConversion, one[0], one[1])
			}
		}
	}
}

// unsaid returns what the type of a value cannot say, "" for nothing.
func unsaid(v *format.ValueInfo) string {
	switch {
	case v.DType != tensor.Invalid && codeOf(v.DType) == 0:
		return fmt.Sprintf("the format has no %v", v.DType)
	case v.DType == tensor.Invalid && v.Code != "":
		return "the dtype code " + v.Code + " means nothing here"
	}
	return ""
}

// conversions are the attributes whose values take another form, each with the
// reason.
type conversions [][2]string

// value finds what becomes of an attribute's value, and returns an error when it
// cannot be written at all.
func (c *conversions) value(name string, value any) error {
	switch v := value.(type) {
	case bool:
		*c = append(*c, [2]string{name, "the format has no bool, an integer takes its place"})
	case json.RawMessage:
		*c = append(*c, [2]string{name, "the format has no JSON values, a string takes its place"})
	case float64:
		return c.floats(name, v)
	case []float64:
		return c.floats(name, v...)
	case tensor.View:
		return checkTensor(v.Info())
	case []tensor.View:
		for _, x := range v {
			if err := checkTensor(x.Info()); err != nil {
				return err
			}
		}
	case *format.Graph:
		return c.graph(name, v)
	case []*format.Graph:
		for i, g := range v {
			if err := c.graph(fmt.Sprintf("%s[%d]", name, i), g); err != nil {
				return err
			}
		}
	default:
		return new(Attribute).set(value)
	}
	return nil
}

// floats compares decimal texts: 0.1 is 0.1 in either precision, although not
// to the last bit.
func (c *conversions) floats(name string, list ...float64) error {
	for _, x := range list {
		f, err := single(x)
		if err != nil {
			return err
		}
		if strconv.FormatFloat(x, 'g', -1, 64) != strconv.FormatFloat(float64(f), 'g', -1, 32) {
			*c = append(*c, [2]string{name, fmt.Sprintf("the format has no float64, %v is rounded to %v", x, f)})
			return nil
		}
	}
	return nil
}

// checkTensor refuses what cannot be a tensor in an attribute.
func checkTensor(info tensor.Info) error {
	err := hasCode(info.DType)
	if err == nil && info.Size > maxAttributeTensor {
		err = fmt.Errorf("%w: a tensor of %d bytes inside a graph", format.ErrLimit, info.Size)
	}
	if err == nil {
		_, err = quantMessage(&info)
	}
	return err
}

// graph looks at the graph of an attribute.
func (c *conversions) graph(name string, g *format.Graph) error {
	if g == nil {
		return nil
	}
	if len(g.Initializers) > 0 {
		return errSubgraph
	}
	for _, list := range [][]format.ValueInfo{g.Inputs, g.Outputs} {
		for i := range list {
			if why := unsaid(&list[i]); why != "" {
				*c = append(*c, [2]string{name + "." + list[i].Name, why})
			}
		}
	}
	for i := range g.Nodes {
		for _, a := range g.Nodes[i].Attributes {
			if err := c.value(fmt.Sprintf("%s.nodes[%d].%s", name, i, a.Name), a.Value); err != nil {
				return err
			}
		}
	}
	return nil
}
