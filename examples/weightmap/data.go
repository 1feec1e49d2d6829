package main

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
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/readonce"
	"github.com/weightmap/weightmap/tensor"
)

// data reads the tensors of a model in sequence.
type data struct {
	*readonce.Reader
	ctx  context.Context
	buf  []byte
	sums map[stretch]string // SHA-256 by range of memory, which tensors may share

	section  *decoding // what several tensors are parts of, nil if none is being read
	restarts int       // how often section was read from its beginning

	progress    *cli.Progress // nil to show no progress
	done, total int64         // bytes read
}

// stretch is a range of memory.
type stretch struct {
	address uintptr
	size    int
}

func newData(ctx context.Context, m *format.Model) *data {
	return &data{Reader: readonce.New(m), ctx: ctx, sums: map[stretch]string{}}
}

// watch shows progress until progress.Finish; total is the number of bytes to read.
func (d *data) watch(progress *cli.Progress, total int64) {
	d.progress, d.total = progress, max(total, 1)
}

// Used adds n bytes to the progress.
func (d *data) Used(n int64) {
	d.Reader.Used(n)
	if d.progress != nil {
		d.done += n
		d.progress.Report(d.done, d.total, "")
	}
}

// Tensor verifies the checksums that cover a tensor. They may cover other tensors, but an error
// names this one.
func (d *data) Tensor(v tensor.View) (tensor.View, error) {
	_, err := v.ReadAt(nil, 0)
	if errors.Is(err, format.ErrChecksum) && !strings.Contains(err.Error(), "tensor \"") {
		err = fmt.Errorf("%w; tensor %q cannot be trusted", err, v.Name())
	}
	if err != nil {
		return v, err
	}
	return d.Reader.Tensor(v)
}

// sum returns the SHA-256 of a tensor's bytes. It caches by address only in the mapping, where an
// address is unique while the file is open.
func (d *data) sum(v tensor.View) (string, error) {
	var at stretch
	if v.ZeroCopy() && v.Info().Offset >= 0 {
		err := v.Use(func(b []byte) error {
			at = stretch{memory.Address(b), len(b)}
			return nil
		})
		if known, ok := d.sums[at]; ok || err != nil {
			return known, err
		}
	}
	h := sha256.New()
	if err := d.copy(h, v); err != nil {
		return "", err
	}
	text := hex.EncodeToString(h.Sum(nil))
	if at.address != 0 {
		d.sums[at] = text
	}
	return text, nil
}

// copy writes the bytes of a tensor.
func (d *data) copy(out io.Writer, v tensor.View) error {
	d.buf = resize(d.buf, 1<<20)
	r := io.NewSectionReader(v, 0, v.Info().Size)
	for {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		n, err := r.Read(d.buf)
		d.Used(int64(n))
		if n > 0 {
			if _, err := out.Write(d.buf[:n]); err != nil {
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
