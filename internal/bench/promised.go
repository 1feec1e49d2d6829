package bench

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/mobi"
	"github.com/weightmap/weightmap/tensor"
)

// mobi adds the sentences of MOBI's "Performance Targets", for the smallest and the slowest form of
// each network: int8, and int16 compressed with gzip. A load opens the file, verifies both
// checksums and reads every weight.
func (t *targets) mobi() {
	for _, n := range []struct {
		network    string
		model      Model
		load, size float64
	}{
		{"MNIST", mnist, 50, 2},
		{"CIFAR", cifar, 100, 5},
	} {
		for _, form := range []struct {
			name        string
			dtype       tensor.DType
			compression string
		}{{"int8", tensor.Int8, ""}, {"int16, gzip", tensor.Int16, "gzip"}} {
			file := t.file(n.network+"-"+form.name+".mobi", func(b *testing.B, path string) error {
				return writeMOBI(b, path, n.model, form.dtype, form.compression)
			})
			of := fmt.Sprintf("%s model (%s)", n.network, form.name)
			t.add(row{name: "MOBI: parse the header of a " + of, limit: 1, unit: "ms",
				measure: headerOf(file)})
			t.add(row{name: "MOBI: load a " + of, limit: n.load, unit: "ms",
				measure: timed(file, loadingWith(format.CheckAll))})
			t.add(row{name: "MOBI: file size of a " + of, limit: n.size, unit: "MB",
				measure: megabytes(file, 1e6)})
		}
	}
}

// writeMOBI writes a model with quantized weights.
func writeMOBI(b *testing.B, path string, m Model, d tensor.DType, compression string) error {
	plain := path + ".safetensors"
	_, err := Write("safetensors", plain, m, noSync)
	if err != nil {
		return err
	}
	_, err = convert.File(b.Context(), plain, path, &convert.Options{
		Lossy:        true,
		Quantize:     convert.Quantized(tensor.QuantizeOptions{DType: d, PerChannel: true}),
		QuantizeOnly: func(tensor.Info) bool { return true },
		Write:        &format.WriteOptions{Format: mobi.Format{}, NoSync: true, Compression: compression},
	})
	return err
}

// ofMLE writes a model as MLE.
func ofMLE(m Model, o format.WriteOptions) writing {
	return func(_ *testing.B, path string) error {
		p, data := m.Schema()
		o.NoSync = true
		w, err := format.Create(path, p, &o)
		return feed(w, err, p, data)
	}
}

// zstd compresses each tensor by itself, or all of them in one frame.
func zstd(isChunked bool) format.WriteOptions {
	return format.WriteOptions{Compression: "zstd", Format: mle.Format{Chunked: isChunked}}
}

// mleTimes adds MLE's table of loading times, for ResNet-50. The specification's compressed weights
// take a third of the space, as those of a pruned network do.
func (t *targets) mleTimes() {
	for _, v := range []struct {
		name                       string
		model                      Model
		o                          format.WriteOptions
		open, header, load, verify float64
		why                        string // loading and verification take longer
	}{
		{"v1.0", resNet50, format.WriteOptions{Format: mle.Format{Version: 1}}, 5, 1, 50, 0, ""},
		{"v2.0 (Uncompressed)", resNet50, format.WriteOptions{Format: mle.Format{}}, 5, 1, 50, 10, ""},
		{"v2.0 (Compressed, one frame)", pruned, zstd(false), 8, 2, 85, 15,
			"one processor decompresses a frame, and once more to verify it: use Chunked"},
		{"v2.0 (Compressed, chunks)", pruned, zstd(true), 8, 2, 85, 15, ""},
	} {
		file := t.file("times-"+v.name+".mle", ofMLE(v.model, v.o))
		name := func(what string) string { return "MLE: " + what + ", " + v.name }
		t.add(row{name: name("File Open"), limit: v.open, unit: "ms", measure: timed(file, opening)})
		t.add(row{name: name("Header Parse"), limit: v.header, unit: "ms", measure: headerOf(file)})
		t.add(row{name: name("Weight Load"), limit: v.load, unit: "ms", why: v.why,
			measure: timed(file, loadingWith(format.CheckStructure))})
		if v.verify > 0 {
			t.add(row{name: name("Verification"), limit: v.verify, unit: "ms", why: v.why,
				measure: verifyingOf(file)})
		}
	}
}

// mleSizes adds MLE's table of file sizes.
func (t *targets) mleSizes() {
	const mebi = 1 << 20 // ResNet-50 has 98 of them, the others are in millions
	for _, n := range []struct {
		name                 string
		model                Model
		unit                 float64
		whole, zstd, quarter float64
	}{
		{"ResNet-50", pruned, mebi, 98, 32, 25},
		{"BERT-Base", bertBase, 1e6, 440, 145, 110},
		{"GPT-2", gpt2, 1e6, 548, 180, 137},
	} {
		size := func(what string, limit float64, m Model, o format.WriteOptions) {
			file := t.file(n.name+"-"+what+".mle", ofMLE(m, o))
			t.add(row{name: "MLE: " + n.name + ", " + what, limit: limit, unit: "MB",
				measure: megabytes(file, n.unit)})
		}
		size("Original", n.whole, n.model, format.WriteOptions{Format: mle.Format{Version: 1}})
		size("v2.0 (ZSTD), pruned to a third", n.zstd, n.model, zstd(true))
		quantized := mle.Format{Lossy: mle.MethodInt8, Chunked: true}
		size("v2.0 (Quantized)", n.quarter, n.model, format.WriteOptions{Format: quantized})
	}
	file := t.file("trained.mle", ofMLE(resNet50, zstd(true)))
	t.add(row{name: "MLE: ResNet-50, v2.0 (ZSTD), as trained", limit: 32, unit: "MB",
		measure: megabytes(file, mebi),
		why:     "the mantissas of trained float32 weights are random"})
}

// Pruned networks of the sizes in MLE's tables: of each row of 64 numbers in three, one is left.
var (
	pruned   = sparse("resnet50", 267, 95_919)
	bertBase = sparse("bert-base", 200, 550_000)
	gpt2     = sparse("gpt2", 148, 925_600)
)

// sparse returns a model of n equal tensors of which two thirds are zeros.
func sparse(name string, n int, elems int64) Model {
	const run = 64
	trained := uniform(name, n, elems)
	return Model{name + "-pruned", sync.OnceValues(func() (p *schema.Schema, data []byte) {
		p, data = trained.Schema()
		r := rand.New(rand.NewPCG(3, 4))
		for at := 0; at+4*run <= len(data); at += 4 * run {
			if r.IntN(3) > 0 {
				clear(data[at:][:4*run])
			}
		}
		return p, data
	})}
}
