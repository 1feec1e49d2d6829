package weightmap_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/tensor"
)

var strict = flag.Bool("strict", false, "fail a verdict that is missed, even where it depends on the machine")

// verdict is a figure that the library is held to.
type verdict struct {
	name   string // of the benchmark
	limit  float64
	least  bool // the figure has to be that much at least
	counts bool // and not a matter of the machine
	figure func(b *testing.B) float64
}

func (v *verdict) met(figure float64) bool {
	if v.least {
		return figure >= v.limit
	}
	return figure <= v.limit
}

// BenchmarkVerdicts measures what the library is held to, each as the median of
// the ratios of paired rounds, and prints a table of them:
//
//	go test -run '^$' -bench Verdicts .
//
// A miss fails only where the figure does not depend on the machine, or with
// -strict. Those that compare with other libraries are in internal/peers.
func BenchmarkVerdicts(b *testing.B) {
	var table strings.Builder
	for _, v := range verdicts() {
		line := ""
		b.Run(v.name, func(b *testing.B) {
			figure := v.figure(b)
			bound, word := "at most", "met"
			if v.least {
				bound = "at least"
			}
			if !v.met(figure) {
				word = "missed"
				if v.counts || *strict {
					b.Errorf("%.2f, %s %v", figure, bound, v.limit)
				}
			}
			b.ReportMetric(v.limit, "limit")
			line = fmt.Sprintf("%-44s %8.2f   %-8s %6v   %s\n", v.name, figure, bound, v.limit, word)
		})
		table.WriteString(line)
	}
	fmt.Print("\n", table.String(), "\n")
}

// verdicts are all figures, in the order in which they are printed.
func verdicts() (all []verdict) {
	all = append(all, openVerdicts()...)
	all = append(all, allocVerdicts()...)
	all = append(all, useVerdicts()...)
	all = append(all, verifyVerdicts()...)
	all = append(all, floatVerdicts()...)
	all = append(all, writeVerdicts()...)
	return append(all, firstFloatVerdicts()...)
}

// single is the model m as one tensor.
func single(m model) model {
	return model{"single-" + m.name, func() (*format.Plan, []byte) {
		_, data := m.plan()
		n := int64(len(data))
		return &format.Plan{Tensors: []tensor.Info{{Name: "tensor", DType: tensor.Float32, Shape: tensor.Shape{n / 4}, Size: n}}}, data
	}}
}

// openVerdicts: opening and closing, in terms of mapping one file.
func openVerdicts() (all []verdict) {
	bare := func(name string, m model) func(b *testing.B) float64 {
		return func(b *testing.B) float64 {
			f := file(b, name, m)
			return floor.Pairs(b, floor.Rounds, opening(f.path), mapping(f.paths[0]))
		}
	}
	small, large := models[0], models[1]
	for _, c := range []struct {
		name         string
		small, large float64
	}{{"mag", 3.3, 10}, {"tsr", 3.3, 10}, {"mle", 4, 20}, {"wia", 10, 40}, {"mobi", 10, 40}} {
		s, l := small, large
		if c.name == "tsr" {
			s, l = single(small), single(large)
		}
		all = append(all, verdict{name: "open/" + c.name + "/2MB", limit: c.small, figure: bare(c.name, s)},
			verdict{name: "open/" + c.name + "/100MB", limit: c.large, figure: bare(c.name, l)},
			verdict{name: "open/" + c.name + "/8goroutines", limit: 0.7, figure: crowded(c.name, s)})
	}
	return append(all, verdict{name: "open/tsr/directory20", limit: 15, figure: bare("tsr", small)},
		verdict{name: "open/tsr/directory300", limit: 220, figure: bare("tsr", large)})
}

// crowded is how long an opening takes when eight goroutines open a file each,
// in terms of one goroutine alone.
func crowded(name string, m model) func(b *testing.B) float64 {
	return func(b *testing.B) float64 {
		const goroutines = 8
		var open []func() error
		for i := range goroutines {
			path := filepath.Join(b.TempDir(), fmt.Sprint(i))
			if _, err := write(name, path, m, &format.WriteOptions{NoSync: true}); err != nil {
				b.Fatal(err)
			}
			open = append(open, opening(path))
		}
		return floor.PairsOf(b, floor.Rounds, together(open...), floor.Timed(open[0])).Ratio
	}
}

// together is a round in which each function runs n times in a goroutine of its
// own, and which takes what one run of one function took on the whole.
func together(fs ...func() error) floor.Round {
	return func(n int) (time.Duration, error) {
		var group sync.WaitGroup
		errs := make([]error, len(fs))
		start := time.Now()
		for i, f := range fs {
			group.Add(1)
			go func() {
				defer group.Done()
				for range n {
					if errs[i] = f(); errs[i] != nil {
						return
					}
				}
			}()
		}
		group.Wait()
		return time.Since(start) / time.Duration(len(fs)), errors.Join(errs...)
	}
}

// allocVerdicts: opening allocates as often for many tensors as for few.
func allocVerdicts() (all []verdict) {
	for _, name := range []string{"mag", "mobi", "tsr", "mle", "wia"} {
		limit := 16.0
		if name == "mle" || name == "wia" {
			limit = 24
		}
		for _, m := range models {
			all = append(all, verdict{name: "allocations/" + name + "/" + m.name, limit: limit, counts: true, figure: func(b *testing.B) float64 {
				open := opening(file(b, name, m).path)
				for b.Loop() {
					if err := open(); err != nil {
						b.Fatal(err)
					}
				}
				n := testing.AllocsPerRun(10, func() { open() })
				b.ReportMetric(n, "allocs")
				return n
			}})
		}
	}
	return all
}

// useVerdicts: looking tensors up and holding them.
func useVerdicts() []verdict {
	return []verdict{
		{name: "lookup/10000", limit: 1.5, figure: againstMap},
		{name: "use/2goroutines", limit: 1.7, least: true, figure: usedTwice},
	}
}

// againstMap looks up 10,000 long names, in an order that jumps about, in a
// model and in a map. The names that are asked for are other strings than those
// of the map: comparing a string with itself is no work.
func againstMap(b *testing.B) float64 {
	const n = 10_000
	p := &format.Plan{}
	asked := make([]string, n)
	theirs := map[string]int{}
	for i := range n {
		name := fmt.Sprintf("model.layers.%d.block_sparse_moe.experts.%d.down_proj.weight", i/64, i%64)
		p.Tensors = append(p.Tensors, tensor.Info{Name: name, DType: tensor.Float32, Shape: tensor.Shape{1}, Size: 4})
		theirs[name] = i
		asked[i*7919%n] = strings.Clone(name)
	}
	path := filepath.Join(b.TempDir(), "names")
	w, err := format.Create("mag", path, p, &format.WriteOptions{NoSync: true})
	if err == nil {
		err = feed(w, p, make([]byte, 4*n))
	}
	if err != nil {
		b.Fatal(err)
	}
	f, err := format.Open(path, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	found := 0
	return floor.Pairs(b, floor.Rounds, func() error {
		for _, name := range asked {
			if _, err := f.Tensor(name); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		for _, name := range asked {
			found += theirs[name]
		}
		return nil
	})
}

// usedTwice is how often two goroutines hold a view, in terms of one.
func usedTwice(b *testing.B) float64 {
	f, err := format.Open(file(b, "mag", models[0]).path, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	v := f.At(0)
	many := func() error {
		for range 10_000 {
			if err := v.Use(func([]byte) error { return nil }); err != nil {
				return err
			}
		}
		return nil
	}
	return floor.PairsOf(b, floor.Rounds, floor.Timed(many), together(many, many)).Ratio
}

// verifyVerdicts: verifying an open file on two processors, in terms of reading
// it on two; WIA, whose sum cannot be split, in terms of that sum.
func verifyVerdicts() (all []verdict) {
	const workers = 2
	verify := func(b *testing.B, name string, m model) func() error {
		f, err := format.Open(file(b, name, m).path, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { f.Close() })
		return func() error {
			_, err := f.Verify(context.Background(), format.WithWorkers(workers))
			return err
		}
	}
	large := models[1]
	for _, c := range []struct {
		name  string
		of    string
		m     model
		limit float64
	}{{"mle", "mle", large, 1.15}, {"tsr", "tsr", single(large), 1.15}, {"tsr/directory", "tsr", large, 1.15}, {"mobi", "mobi", large, 1.3}, {"mag", "mag", large, 1.3}} {
		all = append(all, verdict{name: "verify/" + c.name, limit: c.limit, figure: func(b *testing.B) float64 {
			return floor.Pairs(b, floor.Rounds, verify(b, c.of, c.m), reading(wholeFile(b, plain(b, large)), workers))
		}})
	}
	return append(all, verdict{name: "verify/wia", limit: 1.05, figure: func(b *testing.B) float64 {
		_, data := large.plan()
		return floor.Pairs(b, floor.Rounds, verify(b, "wia", large), func() error { hashed(len(data)); return nil })
	}})
}

// hashed hashes n bytes that are in the processor's cache.
func hashed(n int) {
	h := sha256.New()
	p := make([]byte, 1<<14)
	for ; n > len(p); n -= len(p) {
		h.Write(p)
	}
	h.Write(p[:n])
	h.Sum(nil)
}

// floatVerdicts: conversions to float32, from memory rather than from a cache,
// in terms of copying what comes out.
func floatVerdicts() (all []verdict) {
	const rows, columns = 4096, 4096
	shape := tensor.Shape{rows, columns}
	for _, c := range []struct {
		name string
		d    tensor.DType
		q    *tensor.Quantization
	}{
		{"float16", tensor.Float16, nil},
		{"bfloat16", tensor.BFloat16, nil},
		{"int8", tensor.Int8, &tensor.Quantization{Scales: []float32{0.01}, Axis: tensor.PerTensor}},
		{"int8/last-axis", tensor.Int8, &tensor.Quantization{Scales: scales(columns), Axis: 1}},
	} {
		all = append(all, verdict{name: "to-float32/" + c.name, limit: 1.4, figure: func(b *testing.B) float64 {
			in := ordinary(rows*columns, c.d)
			out, from := make([]float32, rows*columns), make([]float32, rows*columns)
			for i := range from {
				from[i] = 1 // or all of it would be one page of zeros
			}
			convert := func() error { return tensor.Dequantize(out, in, c.d, shape, c.q) }
			if c.q == nil {
				v, err := tensor.FromBytes("", c.d, shape, in)
				if err != nil {
					b.Fatal(err)
				}
				convert = func() error { _, err := tensor.Decode(out, v); return err }
			}
			return floor.Pairs(b, floor.Rounds, convert, func() error { copy(out, from); return nil })
		}})
	}
	return all
}

func scales(n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = 0.01 + float32(i)*1e-6
	}
	return s
}

// ordinary returns n elements as weights have them: small, of both signs.
func ordinary(n int, d tensor.DType) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]byte, n*int(d.Size()))
	if d == tensor.Int8 {
		for i := range out {
			out[i] = byte(int8(r.NormFloat64() * 30))
		}
		return out
	}
	f := make([]float32, n)
	for i := range f {
		f[i] = float32(r.NormFloat64() * 0.05)
	}
	if err := tensor.Encode(out, d, f); err != nil {
		panic(err)
	}
	return out
}

// writeVerdicts: writing from memory without waiting for the disk, in terms of
// plain writes.
func writeVerdicts() (all []verdict) {
	large, many := models[1], models[2]
	for _, name := range []string{"mag", "mle", "tsr", "mobi"} {
		l := large
		if name == "tsr" {
			l = single(large)
		}
		for _, c := range []struct {
			name  string
			m     model
			limit float64
		}{{"100MB", l, 1.15}, {"10000", many, 3}} {
			all = append(all, verdict{name: "write/" + name + "/" + c.name, limit: c.limit, figure: func(b *testing.B) float64 {
				_, data := c.m.plan()
				return benchmarkWrite(b, name, file(b, name, c.m), data, false)
			}})
		}
	}
	return all
}

// firstFloatVerdicts: opening a file of 1 GB, looking at one float and closing
// it, in terms of 1 MB.
func firstFloatVerdicts() (all []verdict) {
	for _, name := range format.Formats() {
		all = append(all, verdict{name: "first-float/" + name, limit: 1.5, figure: func(b *testing.B) float64 {
			const size = 1 << 30
			dir := b.TempDir()
			if free, ok := floor.DiskFree(dir); ok && free < 2*size {
				b.Skip("too little room on disk")
			}
			return floor.Pairs(b, floor.Rounds, firstFloat(b, name, filepath.Join(dir, "large"), size), firstFloat(b, name, filepath.Join(dir, "small"), 1<<20))
		}})
	}
	return all
}

// firstFloat writes a model of one tensor and returns what reads its first
// element. The tensor has the name of the file, as some formats have it.
func firstFloat(b *testing.B, name, path string, size int64) func() error {
	m := model{plan: func() (*format.Plan, []byte) {
		info := tensor.Info{Name: filepath.Base(path), DType: tensor.Float32, Shape: tensor.Shape{size / 4}, Size: size}
		return &format.Plan{Tensors: []tensor.Info{info}}, make([]byte, size)
	}}
	if _, err := write(name, path, m, &format.WriteOptions{NoSync: true}); err != nil {
		b.Fatal(err)
	}
	return func() error {
		f, err := format.Open(path, nil)
		if err != nil {
			return err
		}
		defer f.Close()
		x, err := tensor.As[float32](f.At(0))
		if err == nil && x[0] != 0 {
			err = fmt.Errorf("%v instead of 0", x[0])
		}
		return err
	}
}
