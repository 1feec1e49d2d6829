package modelfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

const (
	// evictEvery is how many bytes of a model are in memory at a time.
	evictEvery = 8 << 20
	// freeEvery is how many decoded bytes become garbage before they are collected.
	freeEvery = 32 << 20
)

// TensorReader reads the tensors of a model one after the other in little memory.
type TensorReader struct {
	Ctx     context.Context
	Buf     []byte
	m       *format.Model
	sums    map[fileRange]string // SHA-256 by range of a file, which tensors may share
	used    int64                // bytes read since pages were evicted
	decoded int64                // bytes decoded since garbage was collected

	section  *decoding // tensors that are compressed together, nil if none is being read
	restarts int       // how often section was read from its beginning

	progress    *cli.Progress // nil to show no progress
	done, total int64         // bytes read
}

// fileRange is a range of a file of the model.
type fileRange struct {
	file         int
	offset, size int64
}

func NewTensorReader(ctx context.Context, m *format.Model) *TensorReader {
	return &TensorReader{Ctx: ctx, m: m, sums: map[fileRange]string{}}
}

// Watch shows progress until progress.Finish; total is the number of bytes to read.
func (d *TensorReader) Watch(progress *cli.Progress, total int64) {
	d.progress = progress
	d.total = max(total, 1)
}

// Used adds n bytes to the progress, and evicts what was read.
func (d *TensorReader) Used(n int64) {
	d.evict(n)
	if d.progress != nil {
		d.done += n
		d.progress.Report(d.done, d.total, "")
	}
}

// evict is told that n bytes were read.
func (d *TensorReader) evict(n int64) {
	d.used += n
	if d.used >= evictEvery {
		d.used = 0
		_ = d.m.Evict() // a hint; a closed model says so elsewhere
	}
}

// Tensor verifies the checksums that cover a tensor, and returns a view of the same data. They may
// cover other tensors, but an error names this one. A tensor that is decoded is held in memory by
// that view alone.
func (d *TensorReader) Tensor(v tensor.View) (tensor.View, error) {
	_, err := v.ReadAt(nil, 0)
	if errors.Is(err, format.ErrChecksum) && !strings.Contains(err.Error(), "tensor \"") {
		err = fmt.Errorf("%w; tensor %q cannot be trusted", err, v.Name())
	}
	if err != nil {
		return v, err
	}
	info := v.Info()
	if v.ZeroCopy() || info.Offset >= 0 {
		return v, nil
	}
	d.decoded += info.Size
	if d.decoded >= freeEvery {
		// The last one may be as large, and is garbage: without this, both would be in memory.
		d.decoded = info.Size
		debug.FreeOSMemory()
	}
	b, err := v.Bytes()
	if err != nil {
		return v, err
	}
	d.evict(info.Size)
	return tensor.FromInfo(info, b)
}

// Sum returns the SHA-256 of a tensor's bytes. It hashes the bytes once that several tensors share.
func (d *TensorReader) Sum(v tensor.View) (string, error) {
	info := v.Info()
	at := fileRange{info.File, info.Offset, info.Size}
	known, isShared := d.sums[at]
	if isShared {
		return known, nil
	}
	h := sha256.New()
	err := d.Copy(h, v)
	if err != nil {
		return "", err
	}
	text := hex.EncodeToString(h.Sum(nil))
	if v.ZeroCopy() && info.Offset >= 0 {
		d.sums[at] = text
	}
	return text, nil
}

// Copy writes the bytes of a tensor.
func (d *TensorReader) Copy(out io.Writer, v tensor.View) error {
	d.Buf = Resize(d.Buf, 1<<20)
	r := io.NewSectionReader(v, 0, v.Info().Size)
	for {
		if err := d.Ctx.Err(); err != nil {
			return err
		}
		n, err := r.Read(d.Buf)
		d.Used(int64(n))
		if n > 0 {
			if _, err := out.Write(d.Buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
