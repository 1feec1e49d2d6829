package main

import (
	"context"
	"encoding/hex"
	"io"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/digest"
)

// digestOf returns the digest of all tensors of a model.
func digestOf(ctx context.Context, m *format.Model, errs io.Writer) (string, error) {
	progress := cli.NewProgress(errs, "hashing")
	defer progress.Finish()
	sum, err := digest.Tensors(ctx, m, progress.Report)
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum[:]), nil
}

// digestLine names a digest.
func digestLine(digest string) string { return "digest " + digest }
