package npy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
)

// objectHeader is the header of an array of objects.
func objectHeader(shape string) string {
	dict := "{'descr': '|O', 'fortran_order': False, 'shape': " + shape + ", }"
	return "\x93NUMPY\x01\x00v\x00" + dict + strings.Repeat(" ", 117-len(dict)) + "\n"
}

// pickledArray pushes an array whose state ends with data.
func pickledArray(dtype, shape, data string) string {
	return "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85C\x01btR(K\x01" + shape +
		"cnumpy\ndtype\n(X\x02\x00\x00\x00" + dtype + "\x89\x88tR(K\x03X\x01\x00\x00\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89" + data + "tb"
}

// floatArray pushes the array [1, 1] of float32.
var floatArray = pickledArray("f4", "K\x02\x85", "C\x08\x00\x00\x80?\x00\x00\x80?")

// objectFile is a file that numpy.save writes of objects.
func objectFile(shape, items string) string {
	dims := ")"
	if shape != "()" {
		dims = "K\x02\x85"
	}
	return objectHeader(shape) + "\x80\x03" + pickledArray("O8", dims, "]("+items+"e") + "."
}

// TestObjects opens arrays of objects, whose arrays are tensors.
func TestObjects(t *testing.T) {
	dict := objectFile("()", "}(X\x01\x00\x00\x00w"+floatArray+"X\x01\x00\x00\x00nK\x05u")
	for _, tt := range []struct {
		name, file string
		names      []string
		notes      []string
	}{
		{"a dict of arrays", dict, []string{"w"}, nil},
		{"two arrays", objectFile("(2,)", floatArray+floatArray), []string{"0", "1"}, nil},
		{"a lone array", objectFile("()", floatArray), []string{"array"}, nil},
		{"os.system", objectFile("()", "}(X\x01\x00\x00\x00w"+floatArray+"X\x01\x00\x00\x00xcos\nsystem\n)Ru"), []string{"w"}, []string{"this pickle names os.system, which was not called"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := openBytes([]byte(tt.file), nil)
			expect.OK(t, err)
			defer m.Close()
			expect.Equal(t, "npy 1.0", m.Format()+" "+m.Version())
			var names []string
			for name, v := range m.Tensors() {
				names = append(names, name)
				got, err := v.Clone()
				expect.OK(t, err)
				b, err := got.Bytes()
				expect.OK(t, err)
				expect.Equal(t, "\x00\x00\x80?\x00\x00\x80?", string(b))
			}
			expect.Equal(t, tt.names, names)
			notes := strings.Join(m.Notes(), "\n")
			for _, note := range append(tt.notes, `numpy.savez("OUT.npz", **numpy.load("IN.npy", allow_pickle=True).item())`) {
				if !strings.Contains(notes, note) {
					t.Errorf("no note %q in %q", note, notes)
				}
			}
			_, err = m.Verify(t.Context(), nil)
			expect.OK(t, err)
		})
	}
	for _, tt := range []struct {
		name, file string
		want       error
		text       string
	}{
		{"no pickle", objectHeader("()"), format.ErrTruncated, "pickle"},
		{"a cut pickle", dict[:len(dict)-20], format.ErrTruncated, "pickle"},
		{"bytes behind it", dict + "x", format.ErrCorrupt, "1 bytes follow the pickle"},
		{"another size", objectFile("()", pickledArray("f4", "K\x03\x85", "C\x08abcdefgh")), format.ErrCorrupt, "takes 12 bytes, 8 are stored"},
		{"a buffer outside", objectHeader("()") + "\x80\x05\x97.", format.ErrUnsupported, "a buffer that is not in the file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := openBytes([]byte(tt.file), nil)
			if err == nil {
				m.Close()
			}
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v, want %v with %q", err, tt.want, tt.text)
			}
		})
	}
}

// TestRaw opens arrays of the types of ml_dtypes, of which NumPy knows only the size.
func TestRaw(t *testing.T) {
	for _, descr := range []string{"<V2", "|V1", "<f1", "V4"} {
		size := int(descr[len(descr)-1] - '0')
		m, err := openBytes(npy(dict(descr, "False", "(3,)"), ramp(3*size)).bytes(), nil)
		expect.OK(t, err)
		v := m.At(0)
		info := v.Info()
		b, err := v.Bytes()
		expect.OK(t, err)
		expect.Equal(t, descr, info.TypeName())
		expect.Equal(t, string(ramp(3*size)), string(b))
		m.Close()
		_, err = openBytes(npy(dict(descr, "False", "(3,)"), ramp(3*size+1)).bytes(), nil)
		if !errors.Is(err, format.ErrCorrupt) {
			t.Errorf("%s with a byte more: %v", descr, err)
		}
	}
	for _, descr := range []string{"V", "V0", "<V99999999999", ">V2", "Vx"} {
		_, err := openBytes(npy(dict(descr, "False", "(3,)"), ramp(6)).bytes(), nil)
		if !errors.Is(err, format.ErrUnsupported) {
			t.Errorf("%s: %v", descr, err)
		}
	}
}

// TestReports opens n01_dict.npy and n04_V1.npy of cases/reports, whose kinds TestObjects and TestRaw build.
func TestReports(t *testing.T) {
	const dir = "../../../shared/cases/reports"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("shared/cases/reports is missing")
	}
	m, err := Open(filepath.Join(dir, "n01_dict.npy"), nil)
	expect.OK(t, err)
	defer m.Close()
	v, err := m.Tensor("w")
	expect.OK(t, err)
	expect.Equal(t, "float32 [2]", v.DType().String()+" "+v.Shape().String())
	notes := strings.Join(m.Notes(), "\n")
	if !strings.Contains(notes, "allow_pickle") || !strings.Contains(notes, "numpy.savez") {
		t.Errorf("notes %q", notes)
	}
	raw, err := Open(filepath.Join(dir, "n04_V1.npy"), nil)
	expect.OK(t, err)
	defer raw.Close()
	info := raw.At(0).Info()
	expect.Equal(t, "|V1 [2]", info.TypeName()+" "+info.Shape.String())
}
