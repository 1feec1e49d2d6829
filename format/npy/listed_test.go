package npy

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// mixed is an archive with arrays of types that only NumPy reads, and one of numbers in
// the middle.
func mixed() []byte {
	array := func(descr, fortran, shape string, data []byte) []byte {
		return npy("{'descr': "+descr+", 'fortran_order': "+fortran+", 'shape': "+shape+", }", data).bytes()
	}
	return archiveOf(
		stored1("text", array("'<U2'", "False", "(3,)", ramp(24))),
		deflated1("records", array("[('a', '<f4'), ('b', '<i4', (2,))]", "False", "(2,)", ramp(24))),
		stored1("good", f32().bytes()),
		stored1("objects", array("'|O'", "False", "(1000,)", []byte("\x80\x04N."))),
		stored1("columns", array("'>U1'", "True", "(2, 3)", ramp(24))),
		stored1("none", array("'<M8[ns]'", "False", "(0,)", nil)),
	).bytes()
}

// mixedTypes are what each is listed as.
var mixedTypes = map[string]string{
	"text": "<U2", "records": "[('a', '<f4'), ('b', '<i4', (2,))]", "good": "float32", "objects": "|O", "columns": ">U1, fortran_order", "none": "<M8[ns]",
}

// TestListedCopy: a copy to an archive keeps the arrays, and is what NumPy wrote.
func TestListedCopy(t *testing.T) {
	m, err := openBytes(mixed(), nil)
	expect.OK(t, err)
	defer m.Close()
	p, err := m.Schema()
	expect.OK(t, err)
	path := filepath.Join(t.TempDir(), "copy.npz")
	w, err := format.Create(path, p, nil)
	expect.OK(t, err)
	expect.OK(t, w.WriteModel(m))
	expect.OK(t, w.Close())
	again, err := Open(path, &format.Options{Check: format.CheckAll})
	expect.OK(t, err)
	defer again.Close()
	for name, v := range m.Tensors() {
		c, err := again.Tensor(name)
		expect.OK(t, err)
		want, _ := v.Bytes()
		got, err := c.Bytes()
		info, copied := v.Info(), c.Info()
		if !bytes.Equal(want, got) || err != nil || info.TypeName() != mixedTypes[name] || copied.TypeName() != mixedTypes[name] || !info.Shape.Equal(copied.Shape) {
			t.Errorf("%v became %v, %v", v, c, err)
		}
	}
	// NumPy reads it: strings, records and dates without a pickle.
	out := testhost.Python(t, "numpy", "testdata/listed.py", filepath.Dir(path))
	want := "text <U2 (3,) False\nrecords [('a', '<f4'), ('b', '<i4', (2,))] (2,) False\ncolumns >U1 (2, 3) True\nnone <M8[ns] (0,) False\n"
	expect.Equal(t, want, out)
}

// TestListedRefused: what is no name of NumPy's, or of another format, is a loss by name.
func TestListedRefused(t *testing.T) {
	for name, test := range map[string]struct {
		encoding tensor.Encoding
		write    string
		good     bool
	}{
		"an archive's":       {tensor.Encoding{Name: "<U2", Format: archiveName}, archiveName, true},
		"in a lone file":     {tensor.Encoding{Name: "<U2", Format: archiveName}, formatName, false},
		"of another format":  {tensor.Encoding{Name: "<U2"}, archiveName, false},
		"STRING":             {tensor.Encoding{Name: "STRING", Format: "onnx"}, archiveName, false},
		"a quote":            {tensor.Encoding{Name: "<U2', 'x': 'y", Format: archiveName}, archiveName, false},
		"a type that is one": {tensor.Encoding{Name: "<f4", Format: archiveName}, archiveName, false},
		"half a list":        {tensor.Encoding{Name: "[('a', '<f4')", Format: archiveName}, archiveName, false},
		"a list and more":    {tensor.Encoding{Name: "[('a', '<f4')], 'x': [1]", Format: archiveName}, archiveName, false},
		"a call":             {tensor.Encoding{Name: "[print(1)]", Format: archiveName}, archiveName, false},
		"nothing":            {tensor.Encoding{Name: inFortran, Format: archiveName}, archiveName, false},
		"too long":           {tensor.Encoding{Name: "<" + strings.Repeat("U", mostDescr), Format: archiveName}, archiveName, false},
	} {
		p := &schema.Schema{Tensors: []tensor.Info{{Name: "t", Shape: tensor.Shape{1}, Size: 8, Encoding: &test.encoding}}}
		w, err := format.NewWriter(&bytes.Buffer{}, p, &format.WriteOptions{Format: expect.Must(format.ByName(test.write)), Spool: format.SpoolMemory})
		if err == nil {
			w.Abort()
		}
		var loss *schema.LossError
		if test.good && err != nil || !test.good && (!errors.As(err, &loss) || loss.Losses[0].Item() != "dtype:t") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestListedLongNames: names of types take memory as far as they are shown.
func TestListedLongNames(t *testing.T) {
	long := "[" + strings.Repeat("('x', '<f4'), ", 500) + "]"
	for name, descr := range map[string]string{"long": long, "of other letters": "[('é', '<f4')]", "of no letters": "[('\xff', '<f4')]"} {
		b := archiveOf(stored1("x", npy("{'descr': "+descr+", 'fortran_order': False, 'shape': (2,), }", ramp(8)).bytes())).bytes()
		m, err := openBytes(b, nil)
		expect.OK(t, err)
		e := m.At(0).Info().Encoding
		if len(e.Name) > mostDescr || e.Format != "" || !strings.HasPrefix(descr, e.Name[:3]) {
			t.Errorf("%s: %d bytes, %q, format %q", name, len(e.Name), e.Name[:10], e.Format)
		}
		p, _ := m.Schema()
		var loss *schema.LossError
		if _, err := newArchiveWriter(&bytes.Buffer{}, p, nil); !errors.As(err, &loss) {
			t.Errorf("%s: copied, %v", name, err)
		}
		m.Close()
	}
}
