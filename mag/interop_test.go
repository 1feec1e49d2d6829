package mag

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
)

// described is the JSON description next to a file of another implementation.
type described struct {
	Checksum  string `json:"checksum"`
	Timestamp uint64 `json:"timestamp"`
	Tensors   []struct {
		Key    string  `json:"key"`
		DType  string  `json:"dtype"`
		Shape  []int64 `json:"shape"`
		Size   int64   `json:"nbytes"`
		Offset int64   `json:"file_offset"`
		SHA256 string  `json:"sha256"`
	} `json:"tensors"`
	Metadata []struct {
		Key  string `json:"key"`
		Type string `json:"type"`
		Bits string `json:"bits"`
	} `json:"metadata"`
}

// interop returns the files of other implementations, or skips the test.
func interop(t *testing.T) []string {
	t.Helper()
	files, _ := filepath.Glob("../../shared/interop/mag/*.mag")
	if len(files) == 0 {
		t.Skip("no files of other implementations next to this project")
	}
	return files
}

// seen is a tensor in comparable form.
type seen struct {
	Name, DType, SHA256 string
	Shape               []int64
	Offset, Size        int64
}

func TestInterop(t *testing.T) {
	for _, path := range interop(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			var d described
			text, err := os.ReadFile(strings.TrimSuffix(path, ".mag") + ".json")
			if err == nil {
				err = json.Unmarshal(text, &d)
			}
			if err != nil {
				t.Fatal(err)
			}
			f, err := Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			compareInterop(t, f, &d)
			if _, err := f.Verify(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

func compareInterop(t *testing.T, f *File, d *described) {
	t.Helper()
	var want, got []seen
	for _, x := range d.Tensors {
		dtype := strings.Replace(x.DType, "boolean", "bool", 1)
		shape := append([]int64{}, x.Shape...)
		want = append(want, seen{x.Key, dtype, x.SHA256, shape, x.Offset, x.Size})
	}
	for name, v := range f.Tensors() {
		err := v.Use(func(b []byte) error {
			sum := sha256.Sum256(b)
			info := v.Info()
			got = append(got, seen{name, info.DType.String(), hex.EncodeToString(sum[:]), append([]int64{}, info.Shape...), info.Offset, info.Size})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tensors (-described +read):\n%s", diff)
	}
	type entry struct {
		Key, Type string
		Bits      uint64
	}
	var wantMeta, gotMeta []entry
	for _, m := range d.Metadata {
		bits, err := strconv.ParseUint(m.Bits, 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		wantMeta = append(wantMeta, entry{m.Key, m.Type, bits})
	}
	for _, m := range f.Metadata() {
		switch v := m.Value.(type) {
		case int64:
			gotMeta = append(gotMeta, entry{m.Key, "i64", uint64(v)})
		case float64:
			gotMeta = append(gotMeta, entry{m.Key, "f64", math.Float64bits(v)})
		}
	}
	if diff := cmp.Diff(wantMeta, gotMeta); diff != "" {
		t.Errorf("metadata (-described +read):\n%s", diff)
	}
	if f.Timestamp() != d.Timestamp {
		t.Errorf("timestamp %d, want %d", f.Timestamp(), d.Timestamp)
	}
}

// TestInteropRewrite rewrites version 1 files of the reference implementation. The
// bytes are the same, except for zeros that the reference leaves at the end of some.
func TestInteropRewrite(t *testing.T) {
	for _, path := range interop(t) {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := OpenBytes(want, nil)
		if err != nil {
			t.Fatal(err)
		}
		if f.Snapshot() {
			continue
		}
		got := rewrite(t, f, &WriteOptions{NoDigests: true})
		if rest := strings.Trim(string(want[min(len(got), len(want)):]), "\x00"); rest != "" {
			t.Errorf("%s: %d bytes, the reference has %d", path, len(got), len(want))
		}
		if diff := cmp.Diff(want[:min(len(got), len(want))], got); diff != "" {
			t.Errorf("%s (-reference +ours):\n%s", path, diff)
		}
	}
}

// rewrite returns the bytes of a file with the content of f.
func rewrite(t *testing.T, f *File, o *WriteOptions) []byte {
	t.Helper()
	p, err := format.PlanOf(f.Model)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	w, err := NewWriter(&out, p, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := format.Copy(w, f.Model); err != nil {
		t.Fatal(err)
	}
	return []byte(out.String())
}
