package npy

import (
	"math/rand/v2"
	"testing"

	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/tensor"
)

// dtypes are those that a file can hold.
func dtypes() (list []tensor.DType) {
	for _, e := range elems {
		if e.enc == nil {
			list = append(list, e.dtype)
		}
	}
	return list
}

func sampleSchema(d tensor.DType, s tensor.Shape) *schema.Schema {
	return &schema.Schema{Tensors: []tensor.Info{{Name: "array", DType: d, Shape: s}}}
}

func TestConformanceFile(t *testing.T) {
	const noSums = "the format has no checksums"
	// Types of one size and numbers of one product are told apart by nothing but
	// the header itself, which has no sum: it must not be changed unnoticed where
	// that would change sizes.
	prefix := func([]byte) []formattest.Range { return []formattest.Range{{From: 0, To: 10}} }
	formattest.Run(t, formattest.Config{
		Format: Format{},
		Samples: []formattest.Sample{
			{Name: "float32", Schema: sampleSchema(tensor.Float32, tensor.Shape{2, 3, 4, 5}), Structural: prefix},
			{Name: "bool", Schema: sampleSchema(tensor.Bool, tensor.Shape{7}), Structural: prefix},
			{Name: "complex64", Schema: sampleSchema(tensor.Complex64, tensor.Shape{2, 3}), Structural: prefix},
			{Name: "scalar", Schema: sampleSchema(tensor.Float64, tensor.Shape{}), Structural: prefix},
			{Name: "empty", Schema: sampleSchema(tensor.Int8, tensor.Shape{2, 0})},
			{Name: "complex128", Schema: &schema.Schema{Tensors: []tensor.Info{{Name: "array", Encoding: &complex128, Shape: tensor.Shape{2, 2}}}}, Structural: prefix},
		},
		Files: []formattest.File{
			{Name: "Fortran", Bytes: npy(dict("|u1", "True", "(2, 3)"), []byte{0, 3, 1, 4, 2, 5}).bytes(), Schema: sampleSchema(tensor.Uint8, tensor.Shape{2, 3}), Data: map[string][]byte{"array": ramp(6)}},
			{Name: "big-endian", Bytes: npy(dict(">f4", "False", "(3,)"), bigFloats(0, 1, 2)).bytes(), Schema: sampleSchema(tensor.Float32, tensor.Shape{3}), Data: map[string][]byte{"array": floats(3)}},
			{Name: "misaligned", Bytes: npy(" "+dict("<f4", "False", "(2, 3)"), floats(6)).bytes(), Schema: sampleSchema(tensor.Float32, tensor.Shape{2, 3}), Data: map[string][]byte{"array": floats(6)}},
		},
		Exempt: map[string]string{
			"Overlap":     "a file has one tensor",
			"CoveredData": noSums,
		},
		NamesFromPath: true,
		ZeroCopy:      true,
		Align:         alignment,
		Scale: func(_ int, elems int64) *schema.Schema {
			return sampleSchema(tensor.Float32, tensor.Shape{elems})
		},
	})
}

func TestConformanceArchive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	small := formattest.RandomSchema(r, formattest.SchemaOptions{DTypes: dtypes(), Tensors: 3})
	long := formattest.RandomSchema(r, formattest.SchemaOptions{DTypes: dtypes(), Tensors: 4, Name: formattest.LongName})
	mixed := archiveOf(
		stored1("view", f32().bytes()), deflated1("packed", f32().bytes()),
		stored1("big", npy(dict(">f4", "False", "(3,)"), bigFloats(0, 1, 2)).bytes()),
		deflated1("both", npy(dict(">f4", "True", "(2, 2)"), bigFloats(0, 2, 1, 3)).bytes()))
	streaming := archiveOf(streamed(false, true), stored1("y", f32().bytes()))
	float := func(name string, s ...int64) tensor.Info {
		return tensor.Info{Name: name, DType: tensor.Float32, Shape: s}
	}
	formattest.Run(t, formattest.Config{
		Format:   Archive{},
		ZeroCopy: true,
		Align:    alignment,
		Samples: []formattest.Sample{
			{Name: "small", Schema: small, Structural: formattest.Whole},
			{Name: "long", Schema: long, Structural: formattest.Whole},
			{Name: "empty", Schema: &schema.Schema{}, Structural: formattest.Whole},
			{Name: "one", Schema: sampleSchema(tensor.Float32, tensor.Shape{2, 3}), Structural: formattest.Whole},
		},
		Files: []formattest.File{
			{Name: "mixed", Bytes: mixed.bytes(), Schema: &schema.Schema{Tensors: []tensor.Info{float("view", 2, 3), float("packed", 2, 3), float("big", 3), float("both", 2, 2)}},
				Data: map[string][]byte{"view": floats(6), "packed": floats(6), "big": floats(3), "both": floats(4)}},
			{Name: "data descriptor", Bytes: streaming.bytes()},
		},
	})
}

// FuzzOpen opens, verifies and decodes any input as an archive.
func FuzzOpen(f *testing.F) {
	corpus.Seed(f)
	f.Add(mixed())
	formattest.Fuzz(f, formattest.Config{Format: Archive{}})
}

// FuzzFile is FuzzOpen for a lone array.
func FuzzFile(f *testing.F) {
	corpus.Seed(f)
	formattest.Fuzz(f, formattest.Config{Format: Format{}})
}
