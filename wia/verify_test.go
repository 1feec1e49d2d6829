package wia

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestVerifyTensors: a verification that is limited to some tensors spares what
// it can.
func TestVerifyTensors(t *testing.T) {
	testhost.NeedTimes(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "m.wia")
	p := &format.Plan{}
	for _, name := range []string{"inline", "packed", "out1", "out2"} {
		n := int64(10)
		if name[:3] == "out" {
			n = 100
		}
		p.Tensors = append(p.Tensors, tensor.Info{Name: name, DType: tensor.Uint8, Shape: tensor.Shape{n}})
	}
	key := ecdsaKey(t)
	w, err := Create(path, p, &WriteOptions{ExternalFrom: 100, Signer: key, CompressTensor: func(i tensor.Info) Compression {
		if i.Name == "packed" {
			return Gzip
		}
		return None
	}})
	if err != nil {
		t.Fatal(err)
	}
	feed(t, w, p)
	damage := func(path string, off int64) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[off] ^= 1
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := f.At(0).Info().Offset
	f.Close()
	damage(path, at)
	damage(dataOf(t, path), 128+5) // of out2
	if f, err = Open(path, nil); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	trusted := format.WithTrustedKey(key.Public())
	tests := []struct {
		name string
		opts []format.VerifyOption
		want error
	}{
		{"all", nil, format.ErrChecksum},
		{"good external", []format.VerifyOption{format.WithTensors("out1")}, nil},
		{"bad external", []format.VerifyOption{format.WithTensors("out2")}, format.ErrChecksum},
		{"inline", []format.VerifyOption{format.WithTensors("out1", "inline")}, format.ErrChecksum},
		{"packed", []format.VerifyOption{format.WithTensors("packed")}, format.ErrChecksum},
		{"good external, trusted", []format.VerifyOption{format.WithTensors("out1"), trusted}, format.ErrChecksum},
		{"unknown", []format.VerifyOption{format.WithTensors("nope")}, format.ErrNotFound},
	}
	for _, tt := range tests {
		for _, workers := range []int{1, 2, 8} {
			err := verify(f, append(tt.opts, format.WithWorkers(workers))...)
			if !errors.Is(err, tt.want) {
				t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
			}
		}
	}
}

// TestVerifyProgress: progress adds up to the bytes there are.
func TestVerifyProgress(t *testing.T) {
	f := mustOpen(t, writeSample(t, samplePlan(t), &WriteOptions{CompressTensor: alternate}), nil)
	var last, all int64
	err := verify(f, format.WithProgress(func(done, total int64, _ string) {
		if done < last || done > total {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last, all = done, total
	}))
	if err != nil || last != all || last == 0 {
		t.Errorf("%d of %d, %v", last, all, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := verifyContext(ctx, f); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// rich is a file of n tensors of all kinds: quantized, per channel, compressed,
// external, declared.
func rich(n int) []byte {
	var c container
	for i := range n {
		name := fmt.Sprintf("tensor.%06d", i)
		switch i % 4 {
		case 0:
			c.tensor = append(c.tensor, by(1, inline(name, 7, []byte{1, 2}, 2), by(6, by(3, vi(1, 1), fl(2, 1))))...)
		case 1:
			c.tensor = append(c.tensor, by(1, inline(name, 7, []byte{1, 2}, 2), by(6, by(3, vi(1, 1), by(5, by(1, floats(1, 2)), by(2, []byte{1, 2})))))...)
		case 2:
			c.tensor = append(c.tensor, by(2, by(1, decl(name, 7, 2)), by(3, []byte{1, 2}), vi(4, 2))...)
		case 3:
			c.tensor = append(c.tensor, elsewhereRecord(name, "some/where", 7, 2, checksumText(nil))...)
			name = ""
		}
		if name != "" {
			c.graph = append(c.graph, by(5, decl(name, 7, 2))...)
		}
	}
	return c.bytes()
}

// TestOpenAllocations: whatever the tensors are, opening allocates a fixed
// number of times.
func TestOpenAllocations(t *testing.T) {
	count := func(n int) float64 {
		b := rich(n)
		return testing.AllocsPerRun(10, func() {
			f, err := OpenBytes(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		})
	}
	if testhost.Race {
		t.Skip("under the race detector a sync.Pool drops what it is given")
	}
	few, more := count(8), count(2000)
	if few > 56 || more > few+5*8 { // five lists double
		t.Errorf("%v allocations for 8 tensors, %v for 2000", few, more)
	}
}

// TestReaderWindows: behind a reader the data are not read on open.
func TestReaderWindows(t *testing.T) {
	b := manyTensors(t, 20, 100000)
	r := &counting{b: b}
	f, err := OpenReaderAt(r, int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if r.n > 64<<10 {
		t.Errorf("opening reads %d of %d bytes", r.n, len(b))
	}
	g := mustOpen(t, b, nil)
	for i := range f.Len() {
		if f.At(i).Info().Offset != g.At(i).Info().Offset {
			t.Errorf("tensor %d at %d, not %d", i, f.At(i).Info().Offset, g.At(i).Info().Offset)
		}
	}
}

type counting struct {
	b []byte
	n int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := bytes.NewReader(c.b).ReadAt(p, off)
	c.n += n
	return n, err
}
