package torch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format/formattest"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// files returns valid files for the conformance kit and as fuzzing seeds.
func files(t testing.TB) map[string][]byte {
	six := store("Float", "0", 6)
	long, swapped := strings.Repeat("name", 10), floats(6)
	for i := range 6 {
		slices.Reverse(swapped[4*i:][:4])
	}
	object := pickled(dictOf(str("w"), tensorOf(six, 0, nums(2, 3), nums(3, 1)), str("t"), tensorOf(six, 0, nums(3, 2), nums(1, 3)), str("n"), num(5), str("b"), tensorOf(store("Byte", "1", 3), 0, nums(3), nums(1)),
		str(long+"1"), tensorOf(six, 0, nums(), nums()), str(long+"2"), tensorOf(six, 5, nums(), nums())))
	load := func(class string, count int32, data []byte) string {
		inner := legacy(pickled(oldStore(class, "k", count, "N")), []string{"k"}, []int64{int64(count)}, data)
		return get("torch.storage", "_load_from_bytes") + tup("B"+string(binary.LittleEndian.AppendUint32(nil, uint32(len(inner))))+string(inner)) + "R"
	}
	return map[string][]byte{
		"pickle": []byte(strings.NewReplacer(six, load("Float", 6, floats(6)), store("Byte", "1", 3), load("Byte", 3, []byte{1, 2, 3})).Replace(object)),
		"script": archived(t, entryOf{"m/data.pkl", []byte(object), false}, entryOf{"m/data/0", floats(6), false}, entryOf{"m/data/1", []byte{1, 2, 3}, false}, entryOf{"m/code/x.py", []byte("x"), false}, entryOf{"m/constants.pkl", []byte(pickled(")")), false}),
		"zip":    saved(t, object, floats(6), []byte{1, 2, 3}),
		"packed": archived(t, entryOf{"m/data.pkl", []byte(object), true}, entryOf{"m/data/0", floats(6), true}, entryOf{"m/data/1", []byte{1, 2, 3}, true}),
		"big":    archived(t, entryOf{"m/data.pkl", []byte(object), false}, entryOf{"m/byteorder", []byte("big"), false}, entryOf{"m/data/0", swapped, false}, entryOf{"m/data/1", []byte{1, 2, 3}, false}),
		"legacy": legacy(strings.NewReplacer(six, oldStore("Float", "k", 6, "N"), store("Byte", "1", 3), oldStore("Byte", "j", 3, "N")).Replace(object), []string{"k", "j"}, []int64{6, 3}, floats(6), []byte{1, 2, 3}),
	}
}

func TestConformance(t *testing.T) {
	c, long := formattest.Config{Format: Format{}}, strings.Repeat("name", 10)
	s := &schema.Schema{Metadata: schema.Metadata{{Key: "n", Value: int64(5)}}, Tensors: []tensor.Info{
		{Name: "w", DType: tensor.Float32, Shape: tensor.Shape{2, 3}}, {Name: "t", DType: tensor.Float32, Shape: tensor.Shape{3, 2}}, {Name: "b", DType: tensor.Uint8, Shape: tensor.Shape{3}},
		{Name: long + "1", DType: tensor.Float32, Shape: tensor.Shape{}}, {Name: long + "2", DType: tensor.Float32, Shape: tensor.Shape{}}}}
	data := map[string][]byte{"w": floats(6), "t": floatsOf(0, 3, 1, 4, 2, 5), "b": {1, 2, 3}, long + "1": floats(1), long + "2": floats(6)[20:]}
	for name, b := range files(t) {
		c.Files = append(c.Files, formattest.File{Name: name, Bytes: b, Schema: s, Data: data})
	}
	formattest.Run(t, c)
}

func FuzzOpen(f *testing.F) {
	for _, b := range files(f) {
		f.Add(b)
	}
	for _, tt := range foreignPickles() {
		f.Add(saved(f, pickled(tt.pickle), floats(6)))
	}
	formattest.Fuzz(f, formattest.Config{Format: Format{}})
}

// described is a tensor in the description of a file.
type described struct {
	DType  string       `json:"dtype"`
	Shape  tensor.Shape `json:"shape"`
	SHA256 string       `json:"sha256"`
}

// compare opens a file and compares its tensors with a description.
func compare(t *testing.T, path string, want map[string]described) {
	t.Helper()
	m, err := Open(path, nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer m.Close()
	if _, err := m.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	got := map[string]described{}
	for _, s := range tensorsOf(t, m) {
		if _, bare := want[""]; bare {
			s.Name = ""
		}
		got[s.Name] = described{s.DType, s.Shape, fmt.Sprintf("%x", sha256.Sum256([]byte(s.Data)))}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: %s", filepath.Base(path), diff)
	}
}

// TestPyTorch reads files that PyTorch wrote.
func TestPyTorch(t *testing.T) {
	dir := t.TempDir()
	testhost.Python(t, "torch", "testdata/write.py", dir)
	b, err := os.ReadFile(filepath.Join(dir, "index.json"))
	var index map[string]map[string]described
	if err == nil {
		err = json.Unmarshal(b, &index)
	}
	if err != nil || len(index) != 56 {
		t.Fatal(len(index), err)
	}
	for file, want := range index {
		compare(t, filepath.Join(dir, file), want)
	}
}
