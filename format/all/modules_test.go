package all_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/internal/expect"
)

// The opcodes of a pickle of a module, as torch.save(model) writes it: strings, integers, floats, classes, dicts.

func pickledText(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func pickledInt(n int32) string {
	return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

func pickledFloat(f float64) string {
	return "G" + string(binary.BigEndian.AppendUint64(nil, math.Float64bits(f)))
}

const (
	pickledTrue  = "\x88"
	pickledFalse = "\x89"
	pickledOrder = "ccollections\nOrderedDict\n)R"
)

// pickledModule is a module with parameters, submodules and attributes, all of which are keys and values.
func pickledModule(class string, parameters, modules string, attributes ...string) string {
	return class + ")\x81}(" + pickledText("training") + pickledFalse +
		pickledText("_parameters") + pickledOrder + "(" + parameters + "u" +
		pickledText("_buffers") + pickledOrder +
		pickledText("_non_persistent_buffers_set") + "\x8f" +
		pickledText("_modules") + pickledOrder + "(" + modules + "u" +
		strings.Join(attributes, "") + "ub"
}

// savedModule is a file of torch.save(model), where the model has a layer with a weight of two elements.
func savedModule(t *testing.T) []byte {
	storage := "(" + pickledText("storage") + "ctorch\nFloatStorage\n" + pickledText("0") + pickledText("cpu") + pickledInt(2) + "tQ"
	weight := "ctorch._utils\n_rebuild_parameter\n(ctorch._utils\n_rebuild_tensor_v2\n(" + storage + pickledInt(0) + "(" + pickledInt(2) + "t(" + pickledInt(1) + "t" +
		pickledFalse + pickledOrder + "tR" + pickledTrue + pickledOrder + "tR"
	layer := pickledModule("ctorch.nn.modules.linear\nLinear\n", pickledText("weight")+weight, "",
		pickledText("in_features"), pickledInt(2), pickledText("out_features"), pickledInt(-1), pickledText("eps"), pickledFloat(1e-5),
		pickledText("best"), pickledFloat(math.Inf(1)), pickledText("loss"), pickledFloat(math.NaN()), pickledText("inplace"), pickledTrue,
		pickledText("seed"), "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00", pickledText("mode"), pickledText("fan_in"))
	net := pickledModule("cmy.nets\nNet\n", "", pickledText("fc")+layer, pickledText("stride"), "("+pickledInt(1)+pickledInt(2)+"t", pickledText("1"), pickledInt(3))
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range []struct{ name, content string }{
		{"m/data.pkl", "\x80\x02" + net + "."}, {"m/byteorder", "little"}, {"m/data/0", weightBytes}, {"m/version", "3\n"},
	} {
		to, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Store})
		expect.OK(t, err)
		_, err = to.Write([]byte(e.content))
		expect.OK(t, err)
	}
	expect.OK(t, w.Close())
	return b.Bytes()
}

// weightBytes are the elements of the weight, 1 and 2.
const weightBytes = "\x00\x00\x80?\x00\x00\x00@"

// TestModules converts a whole module to safetensors: its integers, floats and booleans are no loss, and come back as they
// were.
func TestModules(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "net.pt")
	out := filepath.Join(dir, "net.safetensors")
	expect.OK(t, os.WriteFile(in, savedModule(t), 0o600))
	source, err := format.Open(in, nil)
	expect.OK(t, err)
	defer source.Close()
	want := expect.Got(t, source.Metadata)
	expect.Equal(t, 13, len(want))
	_, err = convert.File(t.Context(), in, out, nil)
	expect.OK(t, err)
	m, err := format.Open(out, nil)
	expect.OK(t, err)
	defer m.Close()
	v, err := m.Tensor("fc.weight")
	expect.OK(t, err)
	expect.Equal(t, weightBytes, string(expect.Got(t, v.Bytes)))
	p, err := m.Schema()
	expect.OK(t, err)
	if d := cmp.Diff(want, p.Metadata, cmpopts.EquateNaNs()); d != "" {
		t.Error(d)
	}
}
