// Package attributes says what the formats with ONNX's attributes, wia and onnx, make of
// the values that the neutral graph has and they do not.
package attributes

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Rules is what a format has.
type Rules struct {
	Tensor   func(tensor.Info) error   // why a tensor cannot be in an attribute
	Code     func(tensor.DType) int32  // 0 for a dtype that the format does not have
	Subgraph func(*driver.Graph) error // why a graph cannot be in an attribute
}

// conversions are the attributes whose values take another form, each with the
// reason.
type conversions struct {
	*Rules
	found [][2]string
}

// Values adds what the types of a graph's inputs and outputs cannot say.
func (r *Rules) Values(g *driver.Graph, l *driver.LossList) {
	r.eachUnsaid(g, func(v *driver.ValueInfo, why string) { l.Converted(driver.LossValue, v.Name, why) })
}

// eachUnsaid calls f for the inputs and outputs whose types cannot say all.
func (r *Rules) eachUnsaid(g *driver.Graph, f func(v *driver.ValueInfo, why string)) {
	for _, list := range [][]driver.ValueInfo{g.Inputs, g.Outputs} {
		for i := range list {
			v := &list[i]
			switch {
			case v.DType != tensor.Invalid && r.Code(v.DType) == 0:
				f(v, fmt.Sprintf("the format has no %v", v.DType))
			case v.DType == tensor.Invalid && v.Code != "":
				f(v, "the dtype code "+v.Code+" means nothing here")
			}
		}
	}
}

// Losses adds what becomes of attribute j of node i.
func (r *Rules) Losses(p *driver.Plan, i, j int, l *driver.LossList) {
	c := conversions{Rules: r}
	if err := c.value(driver.AttributeName(p, i, j), p.Graph.Nodes[i].Attributes[j].Value); err != nil {
		l.Attribute(p, i, j, err)
		return
	}
	for _, one := range c.found {
		l.Converted(driver.LossConversion, one[0], one[1])
	}
}

// value finds what becomes of an attribute's value, and returns an error when it
// cannot be written at all.
func (c *conversions) value(name string, value any) error {
	switch v := value.(type) {
	case bool:
		c.found = append(c.found, [2]string{name, "the format has no bool, an integer takes its place"})
	case json.RawMessage:
		c.found = append(c.found, [2]string{name, "the format has no JSON values, a string takes its place"})
	case float64:
		return c.floats(name, v)
	case []float64:
		return c.floats(name, v...)
	case tensor.View:
		return c.Tensor(v.Info())
	case []tensor.View:
		for _, x := range v {
			if err := c.Tensor(x.Info()); err != nil {
				return err
			}
		}
	case *driver.Graph:
		return c.graph(name, v)
	case []*driver.Graph:
		for i, g := range v {
			if err := c.graph(fmt.Sprintf("%s[%d]", name, i), g); err != nil {
				return err
			}
		}
	case nil, int64, float32, string, []int64, []int32, []float32, []string:
	default:
		return fmt.Errorf("%w: a value of type %s", driver.ErrUnsupported, driver.TypeName(value))
	}
	return nil
}

// floats compares decimal texts: 0.1 is 0.1 in either precision, although not
// to the last bit.
func (c *conversions) floats(name string, list ...float64) error {
	for _, x := range list {
		f, err := Single(x)
		if err != nil {
			return err
		}
		if strconv.FormatFloat(x, 'g', -1, 64) != strconv.FormatFloat(float64(f), 'g', -1, 32) {
			c.found = append(c.found, [2]string{name, fmt.Sprintf("the format has no float64, %v is rounded to %v", x, f)})
			return nil
		}
	}
	return nil
}

// graph looks at the graph of an attribute.
func (c *conversions) graph(name string, g *driver.Graph) error {
	if g == nil {
		return nil
	}
	if err := c.Subgraph(g); err != nil {
		return err
	}
	c.eachUnsaid(g, func(v *driver.ValueInfo, why string) {
		c.found = append(c.found, [2]string{name + "." + v.Name, why})
	})
	for i := range g.Nodes {
		for _, a := range g.Nodes[i].Attributes {
			if err := c.value(fmt.Sprintf("%s.nodes[%d].%s", name, i, a.Name), a.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// Single rounds to float32 and refuses what becomes infinite by that.
func Single(v float64) (float32, error) {
	f := float32(v)
	if math.IsInf(float64(f), 0) && !math.IsInf(v, 0) {
		return 0, fmt.Errorf("%w: %g is too large for a float32", driver.ErrUnsupported, v)
	}
	return f, nil
}
