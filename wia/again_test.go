package wia

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
)

// plainly is a verification of which nothing is asked but its context.
type plainly struct{ driver.Verification }

func (plainly) Context() context.Context { return context.Background() }

// TestReadAgain: without any sum, a structure that is not what was parsed is found; data
// may be other data.
func TestReadAgain(t *testing.T) {
	eight := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	plain := func(name string, dtype int64, data []byte, shape ...int64) []byte {
		return by(1, inline(name, dtype, data, shape...))
	}
	packed := func(codec, data int64) []byte {
		return by(2, by(1, decl("p", 7, 8)), vi(2, codec), vi(4, 8), by(3, eight), by(15, make([]byte, data)))
	}
	quantized := func(scale float32, zero int64) []byte {
		return by(1, inline("q", 7, eight, 8), by(6, by(3, vi(1, 1), fl(2, scale), vi(3, zero))))
	}
	channels := func(axis int64, scales ...float32) []byte {
		return by(1, inline("c", 7, eight, 2, 2, 2), by(6, by(3, vi(1, 1), by(5, by(1, floats(scales...)), vi(3, axis)))))
	}
	external := func(location string, offset int64, sum string) []byte {
		return by(1, decl("x", 7, 8), by(5, st(1, location), vi(2, offset), vi(3, 8), st(4, checksumPrefix+strings.Repeat(sum, 64))))
	}
	file := func(order []int, tensors ...[]byte) container {
		return container{graph: by(5, inline("g", 7, eight, 8)), meta: []byte("{}"), tensor: cat(tensors...), noSums: true, order: order}
	}
	graphFirst, tensorsFirst := []int{0, 1, 2, 3}, []int{0, 2, 1, 3}
	for _, tt := range []struct {
		name     string
		was, now []byte
		same     bool
	}{
		{"nothing", plain("a", 7, eight, 8), plain("a", 7, eight, 8), true},
		{"data", plain("a", 7, eight, 8), plain("a", 7, bytes.Repeat([]byte{9}, 8), 8), true},
		{"name", plain("a", 7, eight, 8), plain("b", 7, eight, 8), false},
		{"dtype", plain("a", 7, eight, 8), plain("a", 8, eight, 8), false},
		{"shape", plain("a", 7, eight, 2, 4), plain("a", 7, eight, 4, 2), false},
		{"place", cat(by(15, []byte{0, 0}), plain("a", 7, eight, 8)), cat(plain("a", 7, eight, 8), by(15, []byte{0, 0})), false},
		{"a tensor more", bytes.Replace(plain("b", 7, eight, 8), []byte{1<<3 | 2}, []byte{9<<3 | 2}, 1), plain("b", 7, eight, 8), false},
		{"a tensor fewer", plain("b", 7, eight, 8), bytes.Replace(plain("b", 7, eight, 8), []byte{1<<3 | 2}, []byte{9<<3 | 2}, 1), false},
		{"order", cat(plain("a", 7, eight, 8), plain("b", 7, eight, 8)), cat(plain("b", 7, eight, 8), plain("a", 7, eight, 8)), false},
		{"compression, the same", packed(1, 2), packed(1, 2), true},
		{"compression", packed(1, 2), packed(2, 2), false},
		{"stored bytes", packed(1, 2), bytes.Replace(packed(1, 2), cat(by(3, eight), by(15, []byte{0, 0})), cat(by(3, eight, []byte{0}), by(15, []byte{0})), 1), false},
		{"quantization, the same", quantized(0.5, 3), quantized(0.5, 3), true},
		{"scale", quantized(0.5, 3), quantized(0.25, 3), false},
		{"zero point", quantized(0.5, 3), quantized(0.5, 4), false},
		{"no quantization", quantized(0.5, 3), bytes.Replace(quantized(0.5, 3), []byte{6<<3 | 2, 11}, []byte{9<<3 | 2, 11}, 1), false},
		{"scales, the same", channels(1, 1, 2), channels(1, 1, 2), true},
		{"a scale", channels(1, 1, 2), channels(1, 1, 3), false},
		{"channel", channels(1, 1, 2), channels(2, 1, 2), false},
		{"external data, the same", external("a", 8, "1"), external("a", 8, "1"), true},
		{"location", external("a", 8, "1"), external("b", 8, "1"), false},
		{"offset", external("a", 8, "1"), external("a", 9, "1"), false},
		{"checksum", external("a", 8, "1"), external("a", 8, "2"), false},
	} {
		for _, order := range [][]int{graphFirst, tensorsFirst} {
			// With neighbors, of which the one behind is where a tensor must not be taken for it.
			around := func(b []byte) []byte {
				return file(order, plain("first", 7, eight, 8), b, plain("last", 7, eight, 8)).bytes()
			}
			b, now := around(tt.was), around(tt.now)
			f := mustOpen(t, b, nil)
			if len(now) != len(b) {
				t.Fatalf("%s: %d bytes, it was opened with %d", tt.name, len(now), len(b))
			}
			copy(b, now)
			err := f.f.readAgain(plainly{})
			if tt.same && err != nil || !tt.same && !errors.Is(err, format.ErrCorrupt) {
				t.Errorf("%s, order %v: %v, is it the same: %v", tt.name, order, err, tt.same)
			}
			f.Close()
		}
	}
	was := file(graphFirst, plain("a", 7, eight, 8))
	for name, change := range map[string]func(*container){
		"metadata":     func(c *container) { c.meta = []byte("[]") },
		"graph":        func(c *container) { c.graph = by(5, inline("h", 7, eight, 8)) },
		"data of it":   func(c *container) { c.graph = by(5, inline("g", 7, bytes.Repeat([]byte{9}, 8), 8)) },
		"header":       func(c *container) { c.minor = 1 },
		"last of many": func(c *container) { c.tensor = plain("b", 7, eight, 8) },
		"only one":     func(c *container) { c.tensor = by(9, inline("a", 7, eight, 8)) },
	} {
		b, now := was.bytes(), was
		f := mustOpen(t, b, nil)
		change(&now)
		copy(b, now.bytes())
		if err := f.f.readAgain(plainly{}); !errors.Is(err, format.ErrCorrupt) {
			t.Errorf("%s: %v, want %v", name, err, format.ErrCorrupt)
		}
		f.Close()
	}
}
