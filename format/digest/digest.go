// Package digest computes a digest of the tensors of a model that does not depend on the format of
// its file.
//
// It is separate from package format so that programs which do not use it do not link SHA-256.
package digest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"strings"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/internal/target"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// Tensors returns the digest of all tensors of m: their names, types, shapes and bytes. Two models
// with equal tensors have the same digest, also if one is a safetensors file and the other a GGUF
// file or an .npz archive. Metadata, graph and quantization parameters beside the bytes do not
// count, nor does how the file stores a tensor.
//
// The digest is the SHA-256 of these fields, for each tensor with data, in the order of the bytes
// of their names. Numbers are 64-bit little-endian.
//
//	size of the name in bytes    uint64
//	name                         UTF-8
//	size of the type in bytes    uint64
//	type                         tensor.DType.String, "float32"; for an Encoding its name, "Q4_K"
//	rank                         uint64
//	dims, outermost first        uint64 each
//	digest of the data           32 bytes: SHA-256 of the elements, row-major, little-endian, as View.ReadInto returns them
//
// Element types of less than 16 bits without a DType have several names. The first one counts: F4
// (FLOAT4E2M1, float4_e2m1), F8_E8M0 (FLOAT8E8M0, float8_e8m0fnu), F8_E4M3FNUZ (FLOAT8E4M3FNUZ,
// float8_e4m3fnuz), F8_E5M2FNUZ (FLOAT8E5M2FNUZ, float8_e5m2fnuz).
//
// Tensors are read on as many goroutines as there are processors. progress may be nil; it is called
// by one goroutine at a time with the bytes of all tensors as the total. Errors are those of
// View.ReadInto, and the context's.
func Tensors(ctx context.Context, m *format.Model, progress format.Progress) (sum [sha256.Size]byte, err error) {
	r := &reader{ctx: cmp.Or(ctx, context.Background()), m: m}
	r.Progress.Report = progress
	var views []tensor.View
	err = m.Guard(func() error {
		for _, v := range m.Tensors() {
			views = append(views, v)
			r.Expect(v.Size())
		}
		return nil
	})
	if err != nil {
		return sum, err
	}
	records := make([]record, len(views))
	err = work.Each(r.ctx, len(views), 0, func(i int) error {
		x, err := r.record(views[i])
		records[i] = x
		return err
	})
	if err != nil {
		return sum, err
	}
	slices.SortFunc(records, func(a, b record) int { return strings.Compare(a.name, b.name) })
	h := sha256.New()
	for _, x := range records {
		h.Write(x.encoded)
	}
	h.Sum(sum[:0])
	return sum, nil
}

// record is what the digest has of one tensor.
type record struct {
	name    string
	encoded []byte
}

// reader hashes tensors.
type reader struct {
	ctx context.Context
	m   *format.Model
	work.Progress
}

func (r *reader) record(v tensor.View) (record, error) {
	info := v.Info()
	b := appendText(nil, info.Name)
	b = appendText(b, typeName(&info))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(info.Shape)))
	for _, d := range info.Shape {
		b = binary.LittleEndian.AppendUint64(b, uint64(d))
	}
	h := sha256.New()
	if err := r.data(h, v); err != nil {
		return record{}, err
	}
	return record{info.Name, h.Sum(b)}, nil
}

func appendText(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s)))
	return append(b, s...)
}

// typeName returns the name of the type, which must not depend on the format.
func typeName(info *tensor.Info) string {
	if info.Encoding != nil {
		return lowbit.Type(info.Encoding.Name)
	}
	return info.DType.String()
}

// data hashes the bytes of a tensor. It decodes compressed ones piece by piece where the format
// can.
func (r *reader) data(h hash.Hash, v tensor.View) error {
	info := v.Info()
	isAlone := info.Stored >= 0 // and not compressed together with others
	if info.Compression != "" && info.Offset < 0 && isAlone {
		requests := []format.Request{{Tensor: info.Name}}
		return r.m.Stream(r.ctx, requests, nil, func(p format.Piece) error {
			h.Write(p.Data)
			r.Done(int64(len(p.Data)), info.Name)
			return nil
		})
	}
	return target.EachPiece(r.ctx, v, func(b []byte) error {
		h.Write(b)
		r.Done(int64(len(b)), info.Name)
		return nil
	})
}
