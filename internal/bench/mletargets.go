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

// mleNetwork is a line of the specification's table of file sizes. Its first unit is
// 1,048,576 bytes, the others' a million: so do their publishers count.
type mleNetwork struct {
	name       string
	tensors    func() []testmodel.Tensor
	unit       float64
	zstd, int8 float64 // what files may take
}

var mleNetworks = []mleNetwork{
	{"resnet50", testmodel.ResNet50, 1 << 20, 32, 25},
	{"bert-base", testmodel.BERTBase, 1e6, 145, 110},
	{"gpt2", testmodel.GPT2, 1e6, 180, 137},
}

// realWeights says why no lossless method makes a third of what the benchmarks
// compress.
const realWeights = "float32 weights as training leaves them have random mantissas; 3:1 takes quantized or sparse ones"

// mleKinds are the columns of the specification's loading table, 0 for no figure.
// Compressed weights are in chunks, which all processors decompress. At level 1 the
// library finds nothing in such weights and copies them; at the default level it
// codes their exponents, saves 7 %, and takes its time to decode what the
// specification takes to be a third of the size.
var mleKinds = []struct {
	name                      string
	o                         mle.WriteOptions
	open, parse, load, verify float64
	held                      string
}{
	{"v1", mle.WriteOptions{Version: 1}, 5, 1, 50, 0, ""},
	{"v2-zstd-1", mle.WriteOptions{Compression: mle.MethodZstd, Level: 1, Chunked: true}, 8, 2, 85, 15, ""},
	{"v2-zstd", mle.WriteOptions{Compression: mle.MethodZstd, Chunked: true}, 8, 2, 85, 15, realWeights},
	{"v2", mle.WriteOptions{}, 5, 1, 50, 10, ""},
}

// mleTargets is the specification's loading table, and that of sizes. The header is
// parsed from memory, a file opened by its path; a load reads every byte of the
// weights, and verification is what checking all sums adds to that. Only the first
// network is small.
func mleTargets(large bool) (all []target) {
	networks := mleNetworks
	if !large {
		networks = networks[:1]
	}
	for i, n := range networks {
		for _, c := range mleKinds {
			add := func(what string, limit float64, held string, figure func(b *testing.B, path string) float64) {
				all = append(all, target{name: "mle/" + n.name + "/" + c.name + "/" + what, limit: limit, unit: "ms", held: held, figure: func(b *testing.B) float64 {
					return figure(b, n.file(b, c.name, c.o))
				}})
			}
			if i > 0 {
				c.held = "the specification does not say of which model its times are, and this one is several times ResNet-50"
			}
			add("open", c.open, "", opened)
			add("parse", c.parse, "", parsed)
			add("load", c.load, c.held, loaded)
			if c.verify > 0 {
				add("verify", c.verify, c.held, verified)
			}
		}
		// The specification prints whole megabytes.
		size := func(name string, limit float64, held string, o mle.WriteOptions) target {
			return target{name: "mle/" + n.name + "/" + name + "/size", limit: limit + 0.5, unit: "MB", held: held, figure: func(b *testing.B) float64 {
				return megabytes(b, n.file(b, name, o)) * 1e6 / n.unit
			}}
		}
		all = append(all, size("v2-zstd", n.zstd, realWeights, mle.WriteOptions{Compression: mle.MethodZstd, Chunked: true}),
			size("v2-int8", n.int8, "", mle.WriteOptions{Compression: mle.MethodInt8}))
	}
	return all
}

// file writes the network, once in a process.
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

// parsed is what it takes to parse a file that is in memory.
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

// verified is what it adds to a load that every sum is checked before the data is
// used. It reports as "apart-ms" what verifying an open file takes, which decompresses
// for itself.
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
