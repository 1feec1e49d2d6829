package wia

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/testhost"
)

// mixed returns a container with a tensor of each kind, and a directory with
// w.bin, its external data.
func mixed(t *testing.T) (container, string) {
	t.Helper()
	dir := t.TempDir()
	expect.OK(t, os.WriteFile(filepath.Join(dir, "w.bin"), []byte("0123456789abcdef"), 0o644))
	return container{
		graph: by(5, inline("initializer", 8, []byte{201, 202}, 2)),
		tensor: cat(
			by(1, inline("plain", 8, []byte{203, 204}, 2)),
			by(2, by(1, decl("packed", 8, 4)), vi(2, 1), by(3, gz([]byte("data"))), vi(4, 4)),
			externalRecord("summed", "w.bin", 0, 8, checksumText([]byte("01234567"))),
			externalRecord("bare", "w.bin", 8, 8, "")),
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
	summed.tensor = c.tensor[:len(c.tensor)-len(externalRecord("bare", "w.bin", 8, 8, ""))]
	for _, tt := range []struct {
		name     string
		b        []byte
		opts     *format.VerifyOptions
		sections []format.Covered
		tensors  []format.Covered
		state    format.SignatureState
		text     string
	}{
		{"all", c.bytes(), nil, sections, all, format.Unsigned, "ok, but nothing covers the data of 1 tensor"},
		{"external only", c.bytes(), &format.VerifyOptions{Tensors: []string{"summed"}}, sections[:3], all[3:4], format.Unsigned, "ok"},
		{"initializer only", c.bytes(), &format.VerifyOptions{Tensors: []string{"initializer"}}, sections[:3], all[:1], format.Unsigned, "ok"},
		{"in the block", c.bytes(), &format.VerifyOptions{Tensors: []string{"packed"}}, sections, all[2:3], format.Unsigned, "ok"},
		{"signed", signed(summed, rsaSigner, false), nil, sections, all[:4], format.SignatureUnknown, "ok"},
		{"trusted", signed(summed, rsaSigner, false), &format.VerifyOptions{Trusted: format.TrustKey(rsaSigner.Public())}, sections, all[:4], format.SignatureTrusted, "ok"},
		{"trusted external, beside one without checksum", signed(c, rsaSigner, false), &format.VerifyOptions{Trusted: format.TrustKey(rsaSigner.Public()), Tensors: []string{"summed"}}, sections, all[3:4], format.SignatureTrusted, "ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := mustOpen(t, tt.b, &format.Options{Dir: dir})
			got, err := f.Verify(context.Background(), tt.opts)
			expect.OK(t, err)
			expect.Equal(t, tt.sections, got.Sections())
			expect.Equal(t, tt.tensors, slices.Collect(got.Tensors()))
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
	for _, tt := range []struct {
		damaged, with string
		bad           []string
	}{
		{"", "", nil},
		{"\xcb\xcc", "\xcb\x00", []string{"plain", "packed"}},
		{string(gz([]byte("data"))), "\x1f\x8b\x08\x00\x01", []string{"plain", "packed"}}, // the time in the header of the member
		{"\xc9\xca", "\xc9\x00", []string{"initializer"}},
		{"01234567", "x1234567", []string{"summed"}},
		{"89abcdef", "xxxxxxxx", nil},
	} {
		c, dir := mixed(t)
		b := c.bytes()
		path := filepath.Join(dir, "w.bin")
		if i := bytes.Index(b, []byte(tt.damaged)); i >= 0 {
			copy(b[i:], tt.with)
		} else if err := os.WriteFile(path, []byte(strings.Replace("0123456789abcdef", tt.damaged, tt.with, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		for check, bad := range map[format.Check][]string{format.CheckTouch: tt.bad, format.CheckDefault: nil} {
			f := mustOpen(t, b, &format.Options{Dir: dir, Check: check})
			for range 2 {
				for name, v := range f.Tensors() {
					_, err := v.Bytes()
					if slices.Contains(bad, name) != errors.Is(err, format.ErrChecksum) || !slices.Contains(bad, name) && err != nil {
						t.Errorf("%q damaged, %v: %s: %v", tt.damaged, check, name, err)
					}
				}
			}
		}
	}
	f := mustOpen(t, container{noSums: true, tensor: by(1, inline("w", 8, []byte{1}, 1))}.bytes(), &format.Options{Check: format.CheckTouch})
	if _, err := f.At(0).Bytes(); err != nil {
		t.Errorf("a file without sums: %v", err)
	}
	expect.Equal(t, []string{"no checksums: the file has no signature block"}, f.Notes())
}
