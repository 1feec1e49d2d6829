package bench

import (
	"os"
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

// severalTimes is why the large networks miss the times.
const severalTimes = "the specification does not say of which model its times are, and this one is several times ResNet-50"

// mle measures the targets of the specification's tables of loading times and sizes. The header is
// parsed from memory. A load opens the file by path and reads all weights; verify is the time that
// checking all checksums adds to a load. Without large, only the first network is measured.
func (t *table) mle(large bool) {
	for i, n := range mleNetworks {
		if i > 0 && !large {
			break
		}
		size := func(b *testing.B, path string) float64 { return megabytes(b, path) * 1e6 / n.unit }
		add := func(kind string, o mle.WriteOptions, targets ...target) {
			t.targets("mle/"+n.name+"/"+kind, func(path string) error { return n.write(path, o) }, targets...)
		}
		for _, c := range mleKinds {
			if i > 0 {
				c.excuse = severalTimes
			}
			add(c.name, c.o, target{"open", c.open, "", opened}, target{"parse", c.parse, "", parsed}, target{"load", c.load, c.excuse, loaded})
			if c.verify > 0 {
				add(c.name, c.o, target{"verify", c.verify, c.excuse, verified})
			}
		}
		// The specification rounds to whole megabytes.
		add("v2-zstd", mleKinds[2].o, target{"size", n.zstd + 0.5, realWeights, size})
		add("v2-int8", mle.WriteOptions{Compression: mle.MethodInt8}, target{"size", n.int8 + 0.5, "", size})
	}
}

func (n *mleNetwork) write(path string, o mle.WriteOptions) error {
	p, data := modelOf("", n.tensors).Plan()
	p.Metadata = format.Metadata{{Key: "model_name", Value: n.name}}
	o.NoSync = true
	w, err := mle.Create(path, p, &o)
	return feed(w, err, p, data)
}

// parsed returns the time to parse a file in memory.
func parsed(b *testing.B, path string) float64 {
	data, err := os.ReadFile(path)
	must(b, err)
	return ms(floor.PairsOf(b, floor.Timed(func() error {
		f, err := format.OpenBytes(data, nil)
		if err != nil {
			return err
		}
		return f.Close()
	}), floor.Timed(Mapping(path))).Op)
}

// verified returns the time that checking every checksum on first access adds to a load.
func verified(b *testing.B, path string) float64 {
	r := floor.PairsOf(b, floor.Timed(Loading(path, &format.Options{Check: format.CheckTouch})), floor.Timed(Loading(path, nil)))
	return max(0, ms(r.Op-r.Floor))
}
