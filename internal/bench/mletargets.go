package bench

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/testmodel"
	"github.com/weightmap/weightmap/mle"
)

// mleNetwork is a row of the specification's table of file sizes. A megabyte is 1,048,576 bytes in the
// first row and a million bytes in the others, as in their publishers' figures.
type mleNetwork struct {
	name       string
	tensors    func() []testmodel.Tensor
	unit       float64
	zstd, int8 float64 // limits of the file size
}

var mleNetworks = []mleNetwork{
	{"resnet50", testmodel.ResNet50, 1 << 20, 32, 25},
	{"bert-base", testmodel.BERTBase, 1e6, 145, 110},
	{"gpt2", testmodel.GPT2, 1e6, 180, 137},
}

// realWeights is why lossless compression misses the specification's ratio.
const realWeights = "float32 weights as training leaves them have random mantissas; 3:1 takes quantized or sparse ones"

// mleKinds are the columns of the specification's table of loading times; 0 means that it has no
// figure. Compressed weights are in chunks, which all processors decompress. At level 1 the library
// finds nothing to compress in such weights and stores them. At the default level it codes their
// exponents and saves 7 %, where the specification assumes two thirds.
var mleKinds = []struct {
	name                      string
	o                         mle.WriteOptions
	open, parse, load, verify float64
	excuse                    string
}{
	{"v1", mle.WriteOptions{Version: 1}, 5, 1, 50, 0, ""},
	{"v2-zstd-1", mle.WriteOptions{Compression: mle.MethodZstd, Level: 1, Chunked: true}, 8, 2, 85, 15, ""},
	{"v2-zstd", mle.WriteOptions{Compression: mle.MethodZstd, Chunked: true}, 8, 2, 85, 15, realWeights},
	{"v2", mle.WriteOptions{}, 5, 1, 50, 10, ""},
}

// mleTargets returns the targets of the specification's tables of loading times and sizes. The header
// is parsed from memory. A load opens the file by path and reads all weights; verify is the time that
// checking all checksums adds to a load. Without large, only the first network is measured.
func mleTargets(large bool) (all []target) {
	networks := mleNetworks
	if !large {
		networks = networks[:1]
	}
	for i, n := range networks {
		for _, c := range mleKinds {
			add := func(what string, limit float64, excuse string, figure func(b *testing.B, path string) float64) {
				all = append(all, target{name: "mle/" + n.name + "/" + c.name + "/" + what, limit: limit, unit: "ms", excuse: excuse, figure: func(b *testing.B) float64 {
					return figure(b, n.file(b, c.name, c.o))
				}})
			}
			if i > 0 {
				c.excuse = "the specification does not say of which model its times are, and this one is several times ResNet-50"
			}
			add("open", c.open, "", opened)
			add("parse", c.parse, "", parsed)
			add("load", c.load, c.excuse, loaded)
			if c.verify > 0 {
				add("verify", c.verify, c.excuse, verified)
			}
		}
		// The specification rounds to whole megabytes.
		size := func(name string, limit float64, excuse string, o mle.WriteOptions) target {
			return target{name: "mle/" + n.name + "/" + name + "/size", limit: limit + 0.5, unit: "MB", excuse: excuse, figure: func(b *testing.B) float64 {
				return megabytes(b, n.file(b, name, o)) * 1e6 / n.unit
			}}
		}
		all = append(all, size("v2-zstd", n.zstd, realWeights, mle.WriteOptions{Compression: mle.MethodZstd, Chunked: true}),
			size("v2-int8", n.int8, "", mle.WriteOptions{Compression: mle.MethodInt8}))
	}
	return all
}

// file writes the network, once per process.
func (n *mleNetwork) file(b *testing.B, kind string, o mle.WriteOptions) string {
	b.Helper()
	path := filepath.Join(temp, n.name+"-"+kind+".mle")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if free, ok := floor.DiskFree(temp); ok && free < 2<<30 {
		b.Skip("too little room on disk")
	}
	p, data := gather(n.tensors())
	p.Metadata = format.Metadata{{Key: "model_name", Value: n.name}}
	o.NoSync = true
	w, err := mle.Create(path, p, &o)
	if err == nil {
		err = feed(w, p, data)
	}
	if err != nil {
		b.Fatal(err)
	}
	return path
}

// parsed returns the time to parse a file in memory.
func parsed(b *testing.B, path string) float64 {
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return ms(floor.PairsOf(b, floor.Rounds, floor.Timed(func() error {
		f, err := format.OpenBytes(data, nil)
		if err != nil {
			return err
		}
		return f.Close()
	}), floor.Timed(Mapping(path))).Op)
}

// verified returns the time that checking every checksum on first access adds to a load. It reports as
// "apart-ms" the time of Verify on an open file, which decompresses the data again.
func verified(b *testing.B, path string) float64 {
	f, err := format.Open(path, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	apart, err := floor.Compare(floor.Rounds, floor.Timed(func() error {
		_, err := f.Verify(context.Background())
		return err
	}), floor.Timed(func() error { return floor.Load(path) }))
	if err != nil {
		b.Fatal(err)
	}
	checked := floor.Timed(Loading(path, &format.Options{Check: format.CheckTouch}))
	r := floor.PairsOf(b, floor.Rounds, checked, floor.Timed(Loading(path, nil)))
	b.ReportMetric(ms(apart.Op), "apart-ms")
	return max(0, ms(r.Difference))
}
