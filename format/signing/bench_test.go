package signing_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/signing"
	"github.com/weightmap/weightmap/internal/floor"
)

// BenchmarkVerify hashes 10 GB of sparse files, and compares that with two processes of sha256sum that each hash half of them:
// as a signature is verified, and as a sharded model is opened with a Policy, which hashes what is mapped.
func BenchmarkVerify(b *testing.B) {
	const shards, size = 10, 1_000_000_000
	if _, err := exec.LookPath("sha256sum"); err != nil {
		b.Skip(err)
	}
	dir, key := b.TempDir(), newKey(b)
	index, half := `{"weight_map": {`, [2][]string{}
	for i := range shards {
		name := fmt.Sprintf("model-%d.safetensors", i)
		header := fmt.Sprintf(`{"t%d":{"dtype":"U8","shape":[%d],"data_offsets":[0,%[2]d]}}`, i, size)
		path := filepath.Join(dir, name)
		must(b, os.WriteFile(path, append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), 0o666))
		must(b, os.Truncate(path, int64(8+len(header)+size)))
		index += fmt.Sprintf(`"t%d": %q,`, i, name)
		half[i%2] = append(half[i%2], path)
	}
	path := filepath.Join(dir, "model.safetensors.index.json")
	must(b, os.WriteFile(path, []byte(index[:len(index)-1]+"}}"), 0o666))
	bundle := filepath.Join(dir, "model.sig")
	sign(b, dir, bundle, key)
	sums := func() error {
		one, two := exec.Command("sha256sum", half[0]...), exec.Command("sha256sum", half[1]...)
		return errors.Join(one.Start(), two.Start(), one.Wait(), two.Wait())
	}
	const rounds = 3 // of some seconds each
	b.Run("files", func(b *testing.B) {
		b.SetBytes(shards * size)
		floor.Pairs(b, rounds, func() error {
			s, err := signing.Read(bundle)
			if err == nil {
				_, err = signing.Verify(context.Background(), s, dir, trusting(key), nil)
			}
			return err
		}, sums)
	})
	b.Run("open", func(b *testing.B) {
		b.SetBytes(shards * size)
		floor.Pairs(b, rounds, func() error {
			m, err := format.Open(path, &format.Options{Trusted: &signing.Policy{Trust: trusting(key)}})
			if err != nil {
				return err
			}
			return m.Close()
		}, sums)
	})
}
