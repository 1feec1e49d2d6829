package mobi

// Operator is one step of the graph. Ids name constants, values that other
// operators make, and inputs of the model; ids that nothing defines are legal.
type Operator struct {
	Type    OpType
	Inputs  []uint32
	Outputs []uint32
	Params  []Param // names are unique
}

// Param is a named value of an operator: an int32, int64, float32, float64,
// bool, []int32, []float32, and beyond the specification string and []int64.
type Param struct {
	Name  string
	Value any
}

// Param returns the value of the parameter of that name.
func (o *Operator) Param(name string) (any, bool) {
	for _, p := range o.Params {
		if p.Name == name {
			return p.Value, true
		}
	}
	return nil, false
}
