package mobile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// TestMaxMemory: the limit holds for what the library keeps and for each copy it returns, and is
// there without options.
func TestMaxMemory(t *testing.T) {
	file, want := sample(t)
	data := want.Tensors[0].Data
	tests := []struct {
		name    string
		options *Options
		limit   int64
	}{
		{"null", nil, DefaultMaxMemory},
		{"new options", NewOptions(), DefaultMaxMemory},
		{"raised", &Options{MaxMemory: 1 << 40}, 1 << 40},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := OpenBytes(file, test.options)
			must(t, err)
			defer m.Close()
			if m.limit != test.limit {
				t.Errorf("limit %d, want %d", m.limit, test.limit)
			}
		})
	}
	for _, limit := range []int{len(data), len(data) - 1} {
		m, _ := newFake(t, part{name: "x", dtype: tensor.Float32, shape: want.Tensors[0].Shape, data: data})
		m.limit = int64(limit)
		x := get(t, m, "x")
		code := ""
		if limit < len(data) {
			code = CodeLimit
		}
		if _, err := x.Bytes(); ErrorCode(err) != code {
			t.Errorf("Bytes of %d bytes: %v, want code %q", limit, err, code)
		}
		if _, err := x.Float32Bytes(); ErrorCode(err) != code {
			t.Errorf("Float32Bytes of %d bytes: %v, want code %q", limit, err, code)
		}
		if n, err := x.CopyTo(make([]byte, len(data))); n != int64(len(data)) || err != nil { // the app's memory
			t.Errorf("CopyTo: %d, %v", n, err)
		}
		m.Close()
	}
	if _, err := OpenBytes(file, &Options{MaxMemory: 1}); ErrorCode(err) != CodeLimit {
		t.Errorf("a limit of one byte: %v", err)
	}
}

// TestLock: what the option says is done.
func TestLock(t *testing.T) {
	testhost.NeedResident(t)
	file, want := sample(t)
	m, err := Open(save(t, "m.mag", file), &Options{Lock: true})
	must(t, err)
	defer m.Close()
	if s, size := m.m.Stats(), int64(len(file)); s.Mapped != size || s.Locked != size {
		t.Errorf("%+v of %d bytes", s, size)
	}
	if diff := cmp.Diff(want, describe(t, m)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
