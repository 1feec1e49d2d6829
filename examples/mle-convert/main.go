// Command mle-convert writes an MLE file anew: it brings version 1 to version
// 2, compresses, quantizes, signs and encrypts.
//
//	mle-convert --input model_v1.mle --output model_v2.mle --compress zstd --sign key.pem
//
// Options:
//
//	--input FILE       file to read, either version
//	--output FILE      file to write; the input may be replaced
//	--compress METHOD  none, lz4, zstd or brotli
//	--level N          1 (fast) to 9 (small), 6 by default
//	--quantize BITS    int8 or fp16, for models of float32 tensors; takes the place of --compress
//	--chunked          compress each tensor by itself
//	--sign KEY.pem     Ed25519 private key, as "openssl genpkey -algorithm ed25519" makes it
//	--encrypt KEY      AES-256 key: 64 hexadecimal digits, or a file with them or with 32 bytes
//	--key KEY          key of an encrypted input
//	--max-memory SIZE  refuse an input that takes more memory
//	--version N        1 for old readers; 2 by default
//
// The input is verified first. Without --compress or --quantize the weights are
// written plainly, ready to be mapped. Graph and metadata are kept as they are,
// operators with the codes of the new version, and the names of tensors added.
// Exit status: 0 for success, 1 for failure, 2 for wrong usage.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/mle"
	_ "github.com/weightmap/weightmap/mle/brotli"
)

func main() { cli.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	job, err := parse(ctx, args, stdout)
	if err != nil {
		return tool.Status(err, stderr)
	}
	return tool.Status(job.run(ctx, stdout, stderr), stderr)
}

// job is one conversion.
type job struct {
	input, output string
	read          format.Options
	write         format.WriteOptions
	to            mle.Format
}

func (j *job) run(ctx context.Context, stdout, stderr io.Writer) error {
	f, err := mle.Open(j.input, &j.read)
	if err != nil {
		return err
	}
	defer f.Close()
	// Verify first: fresh checksums would hide the damage.
	if _, err := f.Verify(ctx, nil); err != nil {
		return err
	}
	s, err := f.Schema()
	if err != nil {
		return err
	}
	j.to.IR = f.IR()
	progress := cli.NewProgress(stderr, "converting")
	j.write.Progress = progress.Report
	err = j.copy(f, s)
	progress.Finish()
	if err != nil {
		return err
	}
	return j.summary(stdout, f)
}

// copy writes the output.
func (j *job) copy(f *mle.File, s *schema.Schema) error {
	w, err := format.Create(j.output, s, j.write.With(j.to))
	if err != nil {
		return err
	}
	defer w.Abort()
	err = w.WriteModel(f.Model)
	if err != nil {
		return err
	}
	return w.Close()
}

// summary describes the output file.
func (j *job) summary(out io.Writer, f *mle.File) error {
	st, err := os.Stat(j.output)
	if err != nil {
		return err
	}
	has := f.Header().Features.Has
	_, err = fmt.Fprintf(out, "%s: version %d.0, %s, %s (was %s)%s\n",
		cli.Printable(j.output), max(j.to.Version, 1), cli.Count(f.Len(), "tensor"), cli.Size(st.Size()),
		cli.Size(f.Stats().FileSize),
		cli.Dropped(has(mle.Encryption) && j.write.Key == nil, has(mle.Signing) && j.write.Signer == nil))
	return err
}
