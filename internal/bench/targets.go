package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
)

// target is a figure in a specification, of a file.
type target struct {
	what    string
	limit   float64
	unit    string
	measure func(b *testing.B, path string) float64
}

// targets measures targets of a file, which is written once.
func (t *table) targets(name string, write func(b *testing.B, path string) error, all ...target) {
	for _, x := range all {
		t.add(name+"/"+x.what, "at most", x.limit, x.unit, func(b *testing.B) float64 {
			path := filepath.Join(t.dir, strings.ReplaceAll(name, "/", "-"))
			if _, err := os.Stat(path); err != nil {
				expect.OK(b, write(b, path))
			}
			return x.measure(b, path)
		})
	}
}

// mobi measures MOBI's targets for its two networks, quantized. Opening parses the header; a load
// opens the file, verifies both checksums and reads every weight.
func (t *table) mobi() {
	for _, n := range []struct {
		Model
		load, size float64
	}{
		{mnist, 50, 2},
		{cifar, 100, 5},
	} {
		for _, d := range []tensor.DType{tensor.Int8, tensor.Int16} {
			for _, compression := range []string{"", "gzip"} {
				o := &convert.Options{Lossy: true, Quantize: convert.Quantized(tensor.QuantizeOptions{DType: d, PerChannel: true}), QuantizeOnly: func(tensor.Info) bool { return true },
					Write: &format.WriteOptions{Format: mobi.Format{}, NoSync: true, Compression: compression}}
				t.targets(fmt.Sprintf("mobi/%s/%v/%s", n.Name, d, compression), func(b *testing.B, path string) error {
					_, err := convert.File(b.Context(), t.file(b, "safetensors", n.Model).path, path, o)
					return err
				}, target{"header", 1, "ms", header}, target{"load", n.load, "ms", loaded}, target{"size", n.size, "MB", megabytes})
			}
		}
	}
}

// mle measures the targets of MLE's tables of loading times and sizes, for as many weights as
// ResNet-50 has. Opening the file parses the header, and has a higher target. A load opens the file
// by path and reads all weights; verify is the time that checking all checksums adds to a load.
// Sizes are rounded to whole megabytes of 1,048,576 bytes. At level 1, Zstandard finds nothing to
// compress in weights as training leaves them, whose mantissas are random: the specification's 32
// MB take quantized or sparse ones.
func (t *table) mle() {
	size := func(b *testing.B, path string) float64 { return megabytes(b, path) * 1e6 / (1 << 20) }
	for _, c := range []struct {
		kind    string
		o       format.WriteOptions
		targets []target
	}{
		{"v2", format.WriteOptions{Format: mle.Format{}}, []target{
			{"header", 1, "ms", header},
			{"load", 50, "ms", loaded},
			{"verify", 10, "ms", verified},
		}},
		{"v2-zstd-1", format.WriteOptions{Compression: "zstd", Level: 1, Format: mle.Format{Chunked: true}}, []target{
			{"header", 2, "ms", header},
			{"load", 85, "ms", loaded},
			{"verify", 15, "ms", verified},
		}},
		{"v2-int8", format.WriteOptions{Format: mle.Format{Lossy: mle.MethodInt8}}, []target{{"size", 25.5, "MB", size}}},
	} {
		t.targets("mle/resnet50/"+c.kind, func(_ *testing.B, path string) error {
			p, data := resNet50.Schema()
			c.o.NoSync = true
			w, err := format.Create(path, p, &c.o)
			return feed(w, err, p, data)
		}, c.targets...)
	}
}

// milliseconds measures op, next to mapping the file.
func milliseconds(b *testing.B, path string, op func() error) float64 {
	return floor.PairsOf(b, floor.Timed(op), floor.Timed(mapping(path))).Op.Seconds() * 1e3
}

// header measures opening and closing a file.
func header(b *testing.B, path string) float64 { return milliseconds(b, path, opening(path)) }

// loaded measures opening a file, reading every byte of its weights and, if the format checks on
// access, verifying their checksums.
func loaded(b *testing.B, path string) float64 {
	return milliseconds(b, path, loading(path, nil))
}

// verified measures what checking every checksum on first access adds to a load.
func verified(b *testing.B, path string) float64 {
	r := floor.PairsOf(b, floor.Timed(loading(path, &format.Options{Check: format.CheckTouch})), floor.Timed(loading(path, nil)))
	return max(0, (r.Op-r.Floor).Seconds()*1e3)
}

// megabytes returns the size of a file in 10^6 bytes.
func megabytes(b *testing.B, path string) float64 {
	st, err := os.Stat(path)
	expect.OK(b, err)
	return float64(st.Size()) / 1e6
}
