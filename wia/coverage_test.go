package wia

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
)

// mixed returns a container with a tensor of each kind, and a directory with
// w.bin, its external data.
func mixed(t *testing.T) (container, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "w.bin"), []byte("0123456789abcdef"), 0o644); err != nil {
		t.Fatal(err)
	}
	return container{
		graph: by(5, inline("initializer", 8, []byte{201, 202}, 2)),
		tensor: cat(
			by(1, inline("plain", 8, []byte{203, 204}, 2)),
			by(2, by(1, decl("packed", 8, 4)), vi(2, 1), by(3, gz([]byte("data"))), vi(4, 4)),
			elsewhereRecord("summed", "w.bin", 0, 8, checksumText([]byte("01234567"))),
			elsewhereRecord("bare", "w.bin", 8, 8, "")),
	}, dir
}

// TestCoverage checks which checksum Verify reports for each tensor.
func TestCoverage(t *testing.T) {
	testhost.NeedTimes(t)
	c, dir := mixed(t)
	sections := []format.Covered{{Name: "header", By: "sha256"}, {Name: "metadata", By: "sha256"}, {Name: "graph", By: "sha256"}, {Name: "tensor", By: "sha256"}}
	block, own, graph := "sha256 of the tensor block", "sha256", "sha256 of the graph block"
	all := []format.Covered{{Name: "initializer", By: graph}, {Name: "plain", By: block}, {Name: "packed", By: block}, {Name: "summed", By: own}, {Name: "bare"}}
	summed := c
	summed.tensor = c.tensor[:len(c.tensor)-len(elsewhereRecord("bare", "w.bin", 8, 8, ""))]
	for _, tt := range []struct {
		name     string
		b        []byte
		opts     []format.VerifyOption
		sections []format.Covered
		tensors  []format.Covered
		state    format.SignatureState
		text     string
	}{
		{"all", c.bytes(), nil, sections, all, format.Unsigned, "ok, but nothing covers the data of 1 tensor"},
		{"external only", c.bytes(), []format.VerifyOption{format.WithTensors("summed")}, sections[:3], all[3:4], format.Unsigned, "ok"},
		{"initializer only", c.bytes(), []format.VerifyOption{format.WithTensors("initializer")}, sections[:3], all[:1], format.Unsigned, "ok"},
		{"in the block", c.bytes(), []format.VerifyOption{format.WithTensors("packed")}, sections, all[2:3], format.Unsigned, "ok"},
		{"signed", signed(summed, rsaSigner, false), nil, sections, all[:4], format.SignatureUnknown, "ok"},
		{"trusted", signed(summed, rsaSigner, false), []format.VerifyOption{format.WithTrustedKey(rsaSigner.Public())}, sections, all[:4], format.SignatureTrusted, "ok"},
		{"trusted external", signed(summed, rsaSigner, false), []format.VerifyOption{format.WithTrustedKey(rsaSigner.Public()), format.WithTensors("summed")}, sections, all[3:4], format.SignatureTrusted, "ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := mustOpen(t, tt.b, &format.Options{Dir: dir})
			got, err := f.Verify(context.Background(), tt.opts...)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.sections, got.Sections()); d != "" {
				t.Errorf("sections (-want +got)\n%s", d)
			}
			if d := cmp.Diff(tt.tensors, slices.Collect(got.Tensors())); d != "" {
				t.Errorf("tensors (-want +got)\n%s", d)
			}
			if got.Signature() != tt.state || got.String() != tt.text {
				t.Errorf("%v, %q", got.Signature(), got)
			}
		})
	}
}

// TestTouch checks that checksums are compared before the first use of the data
// they cover.
func TestTouch(t *testing.T) {
	testhost.NeedTimes(t)
	for _, damaged := range []string{"", "plain", "packed", "initializer", "summed", "bare"} {
		t.Run("damaged "+damaged, func(t *testing.T) {
			c, dir := mixed(t)
			b := c.bytes()
			path := filepath.Join(dir, "w.bin")
			switch damaged {
			case "plain":
				b[bytes.Index(b, []byte{203, 204})] ^= 1
			case "packed":
				b[bytes.Index(b, gz([]byte("data")))+4] ^= 1 // the time in the header of the member
			case "initializer":
				b[bytes.Index(b, []byte{201, 202})] ^= 1
			case "summed":
				os.WriteFile(path, []byte("x123456789abcdef"), 0o644)
			case "bare":
				os.WriteFile(path, []byte("01234567xxxxxxxx"), 0o644)
			}
			inBlock := damaged == "plain" || damaged == "packed"
			bad := map[string]bool{"plain": inBlock, "packed": inBlock, "initializer": damaged == "initializer", "summed": damaged == "summed", "bare": false}
			f := mustOpen(t, b, &format.Options{Dir: dir, Check: format.CheckTouch})
			for range 2 {
				for name, v := range f.Tensors() {
					_, err := v.Bytes()
					if bad[name] != errors.Is(err, format.ErrChecksum) || !bad[name] && err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
			relaxed := mustOpen(t, b, &format.Options{Dir: dir})
			for name, v := range relaxed.Tensors() {
				if _, err := v.Bytes(); err != nil {
					t.Errorf("%s without checks on first use: %v", name, err)
				}
			}
		})
	}
	f := mustOpen(t, container{noSums: true, tensor: by(1, inline("w", 8, []byte{1}, 1))}.bytes(), &format.Options{Check: format.CheckTouch})
	v, err := f.Tensor("w")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Bytes(); err != nil {
		t.Errorf("a file without sums: %v", err)
	}
}
