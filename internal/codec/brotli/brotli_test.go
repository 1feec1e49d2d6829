package brotli

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/tensor"
)

// TestNoWriter checks that without a registered writer decompression works and the error of
// compression names the import.
func TestNoWriter(t *testing.T) {
	if Writes() {
		t.Fatal("there is a writer")
	}
	const want = `import _ "github.com/weightmap/weightmap/mle/brotli"`
	if _, err := Codec.Compress([]byte("abc"), 6); !errors.Is(err, ErrNoWriter) || !strings.Contains(err.Error(), want) {
		t.Errorf("Compress: %v, want %s", err, want)
	}
	if _, err := Codec.NewWriter(io.Discard, 6, 3); !errors.Is(err, ErrNoWriter) {
		t.Errorf("NewWriter: %v, want ErrNoWriter", err)
	}
}

// TestStreams decompresses streams built bit by bit (RFC 7932, section 9.2).
func TestStreams(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   string
		want string // "" means an error
	}{
		// WBITS 0 (16); ISLAST 0, MNIBBLES 00, MLEN-1 = 2 in 16 bits, ISUNCOMPRESSED 1;
		// then ISLAST 1, ISLASTEMPTY 1.
		{"uncompressed", "\x20\x00\x10abc\x03", "abc"},
		{"no last block", "\x20\x00\x10abc", ""},
		{"a byte more", "\x20\x00\x10abc\x03\x00", ""},
		{"two streams", "\x20\x00\x10abc\x03\x20\x00\x10abc\x03", ""},
		{"cut", "\x20\x00\x10ab", ""},
		{"reserved window", "\x11", ""},
		{"padding is not 0", "\x20\x00\x10abc\x07", ""},
		// Metadata: MNIBBLES 11, reserved 0, MSKIPBYTES 01, MSKIPLEN-1 = 1, padding.
		{"metadata", "\xac\x00xy\x10\x00\x08abc\x03", "abc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := codec.Data(Codec, []byte(tt.in), 3, nil)
			if all, err := codec.Section(Codec, []byte(tt.in), -1, 1000, nil); (err == nil) != (tt.want != "") || string(all) != tt.want || Codec.Window(nil) == 0 {
				t.Errorf("without its size: %q, %v", all, err)
			}
			if tt.want == "" {
				if !errors.Is(err, tensor.ErrCorrupt) {
					t.Fatalf("%q, %v, want ErrCorrupt", got, err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, string(got)); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

// broken is a reader that panics.
type broken struct{ v any }

func (b broken) Read([]byte) (int, error) { panic(b.v) }

// faultError is like the runtime's error for a memory fault.
type faultError struct{ runtime.Error }

func (faultError) Addr() uintptr { return 1 << 20 }

// TestPanics checks that only a bug of the library becomes an error.
func TestPanics(t *testing.T) {
	bug := &runtime.TypeAssertionError{}
	for v, want := range map[any]any{bug: nil, faultError{bug}: faultError{bug}, "not of the runtime": "not of the runtime"} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("%v: panic %v, want %v", v, got, want)
				}
			}()
			if n, err := guarded(broken{v}, nil); n != 0 || !errors.Is(err, bug) {
				t.Errorf("%d, %v, want the panic's error", n, err)
			}
		}()
	}
}
