package main

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
	"github.com/weightmap/weightmap/internal/peers/peer"
)

func readNpy(path string) ([]peer.Tensor, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := npy.NewReader(f)
	if err != nil {
		return nil, err
	}
	t, err := array(strings.TrimSuffix(filepath.Base(path), ".npy"), &r.Header, r.Read)
	return []peer.Tensor{t}, err
}

func readNpz(path string) (all []peer.Tensor, err error) {
	r, err := npz.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for _, key := range r.Keys() {
		h := r.Header(key)
		if h == nil {
			return nil, fmt.Errorf("%s has no header", key)
		}
		t, err := array(strings.TrimSuffix(key, ".npy"), h, func(p any) error { return r.Read(key, p) })
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// array reads an array into a slice of the same element type.
func array(name string, h *npy.Header, read func(any) error) (t peer.Tensor, err error) {
	elem := npy.TypeFrom(h.Descr.Type)
	if elem == nil {
		return t, fmt.Errorf("no type for %q", h.Descr.Type)
	}
	p := reflect.New(reflect.SliceOf(elem))
	if err := read(p.Interface()); err != nil {
		return t, err
	}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, p.Elem().Interface()); err != nil {
		return t, err
	}
	t = peer.Tensor{Name: name, Data: b.Bytes(), Columns: h.Descr.Fortran}
	for _, d := range h.Descr.Shape {
		t.Shape = append(t.Shape, int64(d))
	}
	return t, nil
}
