package modelfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/readonce"
	"github.com/weightmap/weightmap/tensor"
)

// TensorReader reads the tensors of a model in sequence.
type TensorReader struct {
	*readonce.Reader
	Ctx  context.Context
	Buf  []byte
	sums map[fileRange]string // SHA-256 by range of a file, which tensors may share

	section  *decoding // what several tensors are parts of, nil if none is being read
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
	return &TensorReader{Reader: readonce.New(m), Ctx: ctx, sums: map[fileRange]string{}}
}

// Watch shows progress until progress.Finish; total is the number of bytes to read.
func (d *TensorReader) Watch(progress *cli.Progress, total int64) {
	d.progress = progress
	d.total = max(total, 1)
}

// Used adds n bytes to the progress.
func (d *TensorReader) Used(n int64) {
	d.Reader.Used(n)
	if d.progress != nil {
		d.done += n
		d.progress.Report(d.done, d.total, "")
	}
}

// Tensor verifies the checksums that cover a tensor. They may cover other tensors, but an error
// names this one.
func (d *TensorReader) Tensor(v tensor.View) (tensor.View, error) {
	_, err := v.ReadAt(nil, 0)
	if errors.Is(err, format.ErrChecksum) && !strings.Contains(err.Error(), "tensor \"") {
		err = fmt.Errorf("%w; tensor %q cannot be trusted", err, v.Name())
	}
	if err != nil {
		return v, err
	}
	return d.Reader.Tensor(v)
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
