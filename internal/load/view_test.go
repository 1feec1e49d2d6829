package load

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// TestViewOutsideIndex: tensors of attributes are views too, and say what is wrong.
func TestViewOutsideIndex(t *testing.T) {
	d := &toy{}
	var in driver.Dir
	var declared, missing driver.Space
	d.dir = func(x driver.Dir) (err error) {
		in = x
		declared, _ = x.Declare("w.bin")
		missing, err = x.Declare("none.bin")
		return err
	}
	m := openPath(t, filepath.Join(modelDir(t), "m.toy"), d)
	view := func(s driver.Space, off, size int64) tensor.View {
		return in.View(s, &tensor.Info{Name: "a", DType: tensor.Uint8, Shape: tensor.Shape{size}, Offset: off, Size: size})
	}
	v := view(declared, 2, 4)
	if b, err := v.Bytes(); err != nil || fmt.Sprint(b) != "[2 3 4 5]" {
		t.Errorf("%v, %v", b, err)
	}
	odd := in.View(declared, &tensor.Info{Name: "a", DType: tensor.Uint16, Shape: tensor.Shape{1}, Offset: 3, Size: 2})
	if b, err := odd.Bytes(); err != nil || fmt.Sprint(b) != "[3 4]" || odd.ZeroCopy() {
		t.Errorf("misaligned: %v, %v", b, err)
	}
	for _, c := range []struct {
		name string
		v    tensor.View
		want error
	}{
		{"beyond the end", view(declared, 2, 1<<40), tensor.ErrTruncated},
		{"before the start", view(declared, -1, 4), tensor.ErrTruncated},
		{"missing", view(missing, 0, 4), os.ErrNotExist},
		{"the file itself", view(0, 0, 4), tensor.ErrCorrupt},
		{"no such file", view(9, 0, 4), tensor.ErrCorrupt},
	} {
		if _, err := c.v.Bytes(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	m.Close()
	if _, err := v.Bytes(); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := view(declared, 2, 4).Bytes(); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("made after Close: %v", err)
	}
}

// TestDeclaredDirectory: what is named as a directory holds no tensor.
func TestDeclaredDirectory(t *testing.T) {
	dir := modelDir(t)
	_, err := declared(t, dir, "w.bin/").Tensor("w")
	wantError(t, "a slash at the end", err, source.ErrNotRegular, `tensor "w"`)
}
