package onnx

import (
	"os"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/target"
	"github.com/weightmap/weightmap/tensor"
)

// copied returns a copy of a model whose data is aligned to a number of bytes.
func copied(t *testing.T, model []byte, align int64) []byte {
	t.Helper()
	return changed(t, model, align, func(*schema.Schema) {})
}

// changed is copied for a schema that a function changes.
func changed(t *testing.T, model []byte, align int64, change func(p *schema.Schema)) []byte {
	t.Helper()
	f := open(t, model)
	p, err := f.Schema()
	expect.OK(t, err)
	change(p)
	w, err := newWriter(p, &driver.LayoutOptions{})
	expect.OK(t, err)
	w.align = align
	expect.OK(t, w.place())
	var out target.Memory
	for _, part := range w.layout.Parts {
		_, err = out.WriteAt(part.Bytes, part.Offset)
		expect.OK(t, err)
	}
	for i := range p.Tensors {
		_, err = out.WriteAt(bytesOf(t, f, p.Tensors[i].Name), w.layout.Offsets[i])
		expect.OK(t, err)
	}
	return out.Bytes()
}

// TestCopyIsIdentical: without padding, the copy of a model is the same byte by byte, in whatever
// order its fields are. Typed data becomes raw data, which is the same in a packed list of floats.
func TestCopyIsIdentical(t *testing.T) {
	models := map[string][]byte{
		"graph last":              cat(num(1, 8), ld(8, num(2, 17)), ld(7, reluNode, weight("w"), inOut)),
		"graph in the middle":     cat(num(1, 8), str(2, "me"), ld(7, reluNode, weight("w"), inOut), ld(8, num(2, 17)), prop(14, "k", "v")),
		"fields backwards":        cat(prop(14, "k", "v"), ld(8, num(2, 17)), num(5, 3), str(2, "me"), num(1, 8), ld(7, inOut, weight("w"), str(2, "g"), reluNode)),
		"tensors between nodes":   modelOf(weight("a"), reluNode, weight("b"), inOut, weight("c")),
		"data before the name":    modelOf(tensorOf(ld(9, make([]byte, 8)), str(8, "w"), num(2, 1), num(1, 2))),
		"packed dims":             modelOf(tensorOf(ld(1, varint(2)), num(2, 1), str(8, "w"), ld(9, make([]byte, 8)), str(12, "doc"))),
		"unknown fields":          cat(modelOf(unknown, tensorOf(unknown, num(1, 2), num(2, 1), unknown, str(8, "w"), ld(9, make([]byte, 8)), unknown)), unknown),
		"no elements, no data":    modelOf(tensorOf(num(1, 0), num(2, 1), str(8, "w"))),
		"no elements, empty data": modelOf(tensorOf(num(1, 0), num(2, 1), str(8, "w"), ld(9))),
		"long varints":            modelOf(ld(1, []byte{1<<3 | 2, 0x81, 0, 'x'}), weight("w")),
		"annotated":               annotated{w: "w", l: "l", code: 1, graph: true}.bytes(),
	}
	for _, c := range nativeCases() {
		models[c.name] = c.model
	}
	delete(models, "a later type in a list") // whose fields are data
	for name, model := range models {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, model, copied(t, model, 1))
			aligned := copied(t, copied(t, model, alignment), alignment) // a type that follows the data moves
			expect.Equal(t, aligned, copied(t, aligned, alignment))
		})
	}
}

// TestCopyOfOurs: a copy of what the writer makes is the same, padding included.
func TestCopyOfOurs(t *testing.T) {
	var p schema.Schema
	for _, name := range []string{"a", "longer", "b", "c"} {
		p.Tensors = append(p.Tensors, tensor.Info{Name: name, DType: tensor.Float32, Shape: tensor.Shape{3, int64(len(name))}})
	}
	p.Graph = testGraph("a")
	b, err := os.ReadFile(written(t, &p, nil))
	expect.OK(t, err)
	expect.Equal(t, b, copied(t, b, alignment))
}
