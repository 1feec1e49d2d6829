package wia

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/internal/corpus"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
	"google.golang.org/protobuf/encoding/protowire"
)

// small returns a container with a bit of everything except external data.
func small() container {
	return container{
		meta: []byte(`{"model_info": {"name":"m"}, "x": 7}`),
		graph: cat(
			st(1, "main"),
			by(2, st(1, "n0"), st(2, "Conv"), st(3, "in"), st(3, "w"), st(3, ""), st(4, "y"),
				by(5, st(1, "strides"), vi(8, 2), vi(8, -1), vi(20, 7)),
				by(5, st(1, "alpha"), fl(2, 0.5), vi(20, 1)),
				by(5, st(1, "k"), by(5, inline("", 1, floats(3), 1)), vi(20, 4))),
			by(3, st(1, "in"), by(2, by(1, vi(1, 1), by(2, by(1, st(2, "batch")), by(1, vi(1, 3)), by(1))))),
			by(4, st(1, "y")),
			by(5, decl("w", 1, 2, 2)),
		),
		tensor: cat(
			by(15, make([]byte, 3)),
			by(1, inline("w", 1, floats(1, 2, 3, 4), 2, 2)),
			by(2, by(1, decl("z", 7, 4)), vi(2, 1), by(3, corpus.Gzip([]byte{1, 2, 3, 255})), vi(4, 4)),
			by(1, inline("q", 7, []byte{1, 2, 253}, 3), by(6, st(1, "doc"), by(2, st(1, "k"), st(2, "v")), by(3, vi(1, 1), fl(2, 0.5), vi(3, 1)))),
		),
	}
}

// TestBeyond4GiB reads a tensor of 5 GiB in a sparse file, and one behind it, to
// check that no length or offset is truncated to 32 bits.
func TestBeyond4GiB(t *testing.T) {
	testhost.NeedMaps(t)
	if math.MaxInt == math.MaxInt32 {
		t.Skip("such a file does not fit the address space")
	}
	const big = 5 << 30
	head := cat(decl("big", 8, big), []byte{4<<3 | 2}, protowire.AppendVarint(nil, big))
	front := cat([]byte{1<<3 | 2}, protowire.AppendVarint(nil, uint64(len(head))+big), head)
	tail := by(1, inline("last", 8, []byte{42}, 1))
	size := int64(len(front)) + big + int64(len(tail))
	b := container{noSums: true, tensor: front, patch: func(h []byte) {
		binary.LittleEndian.PutUint64(h[48:], uint64(size))
	}}.bytes()
	path := filepath.Join(t.TempDir(), "big.wia")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(b); err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(append([]byte{7}, tail...), 256+size-int64(len(tail))-1); err != nil {
		t.Skip("the file system has no room for a hole: ", err)
	}
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, _ := f.Tensor("big")
	last, err := v.Slice(tensor.Range{From: big - 1, To: big})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := last.Bytes(); err != nil || b[0] != 7 {
		t.Errorf("%v %v", b, err)
	}
	v, _ = f.Tensor("last")
	if b, err := v.Bytes(); err != nil || b[0] != 42 {
		t.Errorf("%v %v", b, err)
	}
	g, err := OpenReaderAt(file, 256+size, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	v, _ = g.Tensor("last")
	if b, err := v.Bytes(); err != nil || b[0] != 42 {
		t.Errorf("behind a reader: %v %v", b, err)
	}
}
