package library

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/sbinet/npyio/npy"
	"github.com/sbinet/npyio/npz"
)

// Npyio opens an array or an archive with npyio.
func Npyio(path string) (File, error) {
	if filepath.Ext(path) == ".npz" {
		return archive(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	r, err := npy.NewReader(f)
	if err != nil {
		return File{}, err
	}
	return File{listed([]Tensor{array(filepath.Base(path), &r.Header, r.Read)}).Tensors, f.Close}, nil
}

func archive(path string) (File, error) {
	r, err := npz.Open(path)
	if err != nil {
		return File{}, err
	}
	return File{func() (all []Tensor, err error) {
		for _, key := range r.Keys() {
			h := r.Header(key)
			if h == nil {
				return nil, fmt.Errorf("%s has no header", key)
			}
			all = append(all, array(key, h, func(p any) error { return r.Read(key, p) }))
		}
		return all, nil
	}, r.Close}, nil
}

// array returns an array that is read into a slice of the same element type.
func array(name string, h *npy.Header, read func(any) error) Tensor {
	t := Tensor{Name: strings.TrimSuffix(name, ".npy"), Columns: h.Descr.Fortran, Read: func() ([]byte, error) {
		elem := npy.TypeFrom(h.Descr.Type)
		if elem == nil {
			return nil, fmt.Errorf("no type for %q", h.Descr.Type)
		}
		p := reflect.New(reflect.SliceOf(elem))
		if err := read(p.Interface()); err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err := binary.Write(&b, binary.LittleEndian, p.Elem().Interface())
		return b.Bytes(), err
	}}
	for _, d := range h.Descr.Shape {
		t.Shape = append(t.Shape, int64(d))
	}
	return t
}
