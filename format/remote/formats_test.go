package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/testhost"
	"github.com/weightmap/weightmap/tensor"
)

// contents lists what a model has.
func contents(t *testing.T, m *format.Model) (all []string) {
	t.Helper()
	for name, v := range m.Tensors() {
		sum, err := v.Digest()
		if err != nil {
			t.Fatal(name, ": ", err)
		}
		all = append(all, fmt.Sprintf("%s %v %v %016x", name, v.DType(), v.Shape(), sum))
	}
	for _, e := range m.Metadata() {
		all = append(all, fmt.Sprint(e))
	}
	g, err := m.Graph()
	return append(all, fmt.Sprint(g != nil, err), fmt.Sprint(m.Notes()))
}

// tensorsOf returns n, or how many tensors one file of a format has at most.
func tensorsOf(name string, n int) int {
	if name == "tsr" || name == "npy" {
		return 1
	}
	return n
}

// TestFormats opens every format and finds what is in the file, whatever the windows.
func TestFormats(t *testing.T) {
	for _, name := range format.Writable() {
		data := written(t, name, tensorsOf(name, 6), 40)
		local, err := format.OpenBytes(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer local.Close()
		want := contents(t, local)
		s := serve(t, data, nil)
		for _, o := range []*Options{nil, {Window: 16, Part: 1000}, {Window: 300, Part: 5000, Parallel: 1}, {Window: 1 << 14, Part: 1 << 20}} {
			t.Run(fmt.Sprint(name, " ", o), func(t *testing.T) {
				m, err := Open(context.Background(), s.URL+"/other."+name, o) // of which no tensor is named
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				if diff := cmp.Diff(want, contents(t, m)); diff != "" {
					t.Errorf("-local +remote\n%s", diff)
				}
				if _, err := m.Verify(context.Background()); err != nil {
					t.Error("Verify: ", err)
				}
			})
		}
	}
}

// cost is what an operation took of a server.
type cost struct{ requests, bytes int64 }

func (s *server) cost(op func() error) (cost, error) {
	s.reset()
	err := op()
	return cost{s.requests.Load(), s.bytes.Load()}, err
}

// TestCosts counts what opening a large model takes, a row, a tensor, and verifying all of
// it. What is needed is what each of them has in the file.
func TestCosts(t *testing.T) {
	for _, tt := range []struct {
		format   string
		tensors  int // of a megabyte
		opening  cost
		verified int64 // requests at most
	}{
		{"mag", 105, cost{1, 256 << 10}, 110},
		{"mle", 12, cost{1, 256 << 10}, 25},
		{"safetensors", 12, cost{1, 256 << 10}, 25},
		{"gguf", 12, cost{1, 256 << 10}, 25},
		{"mobi", 12, cost{13, 600 << 10}, 30},
		{"onnx", 12, cost{13, 600 << 10}, 30},
		{"wia", 12, cost{13, 600 << 10}, 30},
		{"npz", 12, cost{13, 900 << 10}, 30},
	} {
		t.Run(tt.format, func(t *testing.T) {
			const rows = 4096
			if testhost.Race {
				tt.tensors = min(tt.tensors, 4) // one is as good as another to find races
			}
			data := written(t, tt.format, tt.tensors, rows)
			s := serve(t, data, nil)
			var m *format.Model
			took, err := s.cost(func() (err error) {
				m, err = Open(context.Background(), s.URL, &Options{Open: &format.Options{Check: format.CheckStructure}})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if took.requests > tt.opening.requests || took.bytes > tt.opening.bytes {
				t.Errorf("opening takes %+v, want at most %+v", took, tt.opening)
			}
			check := func(what string, need, requests int64, op func() error) {
				took, err := s.cost(op)
				if most := need + need/20; err != nil || took.bytes > most || took.requests > requests {
					t.Errorf("%s takes %+v of %d bytes and %d requests, %v", what, took, need, requests, err)
				}
			}
			v, err := m.Tensor(strconv.Itoa(tt.tensors/2 + 1))
			if err != nil {
				t.Fatal(err)
			}
			check("a row", 256, 1, func() error {
				row, err := v.Slice(tensor.At(rows / 2))
				if err != nil {
					return err
				}
				b, err := row.Bytes()
				if want := pattern(rows*256 + tt.tensors)[tt.tensors/2:][rows/2*256:][:256]; err == nil && !bytes.Equal(b, want) {
					t.Error("another row")
				}
				return err
			})
			check("a tensor", v.Info().Size, 1, func() error { _, err := v.Bytes(); return err })
			check("verification", int64(len(data)), tt.verified, func() error { _, err := m.Verify(context.Background()); return err })
		})
	}
}

// TestLargeIndex: an index that is larger than the window takes two requests more.
func TestLargeIndex(t *testing.T) {
	for _, tt := range []struct {
		format   string
		requests int64
	}{{"mag", 3}, {"mle", 3}, {"safetensors", 3}, {"gguf", 3}} {
		t.Run(tt.format, func(t *testing.T) {
			s := serve(t, written(t, tt.format, 5000, 1), nil)
			m, err := Open(context.Background(), s.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if got := s.requests.Load(); got > tt.requests {
				t.Errorf("%d requests", got)
			}
		})
	}
}

// TestChanged: no version of an object mixes with another, whatever the server thinks of If-Range.
// Another content with the same tag and size is believed, as documented.
func TestChanged(t *testing.T) {
	one, two := pattern(100_000), pattern(100_001)[1:]
	for _, tt := range []struct {
		name    string
		data    []byte
		tag     string
		ignores bool // If-Range
		want    error
	}{
		{"another tag", two, `"two"`, false, ErrChanged},
		{"another tag, If-Range ignored", two, `"two"`, true, ErrChanged},
		{"no tag", two, "", true, ErrAnswer},
		{"another size", two[:99_999], `"one"`, true, ErrChanged},
		{"a larger size", pattern(100_002)[1:], `"one"`, true, ErrChanged},
		{"the same tag", two, `"one"`, false, nil},
	} {
		for _, at := range []int{1, 4} { // the request before which it changes
			t.Run(tt.name+" "+strconv.Itoa(at), func(t *testing.T) {
				s := serve(t, one, nil)
				s.wrong = func(w http.ResponseWriter, r *http.Request, n int) bool {
					if tt.ignores {
						r.Header.Del("If-Range")
					}
					if n == at {
						s.replace(tt.data, tt.tag)
					}
					return false
				}
				r := reader(t, s, &Options{Window: 1000, Part: 99_000 / 7, Parallel: 1})
				r.Parsed()
				p := make([]byte, len(one))
				for off := 0; off < len(p); off += len(p) / 10 {
					_, err := r.ReadAt(p[off:][:len(p)/10], int64(off))
					if errors.Is(err, ErrChanged) != errors.Is(err, tensor.ErrCorrupt) {
						t.Errorf("%v is ErrChanged, or ErrCorrupt, but not both", err)
					}
					if err == nil && tt.want != nil && !bytes.Equal(p[off:][:len(p)/10], one[off:][:len(p)/10]) {
						t.Fatalf("bytes of another version at %d", off)
					}
					if off == len(p)*9/10 && !errors.Is(err, tt.want) {
						t.Errorf("%v, want %v", err, tt.want)
					}
				}
			})
		}
	}
}
