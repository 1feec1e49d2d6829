package mobile

import (
	"cmp"

	"github.com/weightmap/weightmap/format"
)

// names are those that tensors of a MOBI file had before the format numbered them.
type names struct {
	byID map[string]string // by number, where it is another
	ids  map[string]string // the numbers by name
}

// namesOf reads them. A model of another format, and a file without names, has none.
func namesOf(m *format.Model) names {
	if m.Format() != "mobi" {
		return names{}
	}
	p, err := formerPlan(m)
	if err != nil {
		return names{} // GraphJSON returns the error
	}
	n := names{map[string]string{}, map[string]string{}}
	for i, info := range p.Tensors {
		if id := m.At(i).Name(); id != info.Name {
			n.byID[id], n.ids[info.Name] = info.Name, id
		}
	}
	return n
}

// of returns the name of what the file calls id.
func (n names) of(id string) string { return cmp.Or(n.byID[id], id) }

// id returns what the file calls name.
func (n names) id(name string) string { return cmp.Or(n.ids[name], name) }

// formerPlan describes the model with the names it had.
func formerPlan(m *format.Model) (*format.Plan, error) {
	p, err := format.PlanOf(m)
	if err == nil {
		err = m.RestoreNames(p)
	}
	return p, err
}
