package inspect

import (
	"context"
	"encoding/hex"
	"io"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/digest"
)

// DigestOf returns the digest of all tensors of a model.
func DigestOf(ctx context.Context, m *format.Model, errs io.Writer) (string, error) {
	progress := cli.NewProgress(errs, "hashing")
	defer progress.Finish()
	sum, err := digest.Tensors(ctx, m, progress.Report)
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum[:]), nil
}

// DigestLine names a digest.
func DigestLine(digest string) string { return "digest " + digest }
