package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/live"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/floor"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// use measures looking up tensors, holding them and the current model of a live.Handle, and the
// memory that a directory of files and a model take.
func (t *table) use() {
	t.figure("lookup/10000", t.againstMap)
	t.least("use/2goroutines", 1.7, t.usedTwice)
	t.most("acquire", 3, t.acquired)
	t.most("reload", 1.15, t.reloaded)
	t.least("acquire/2goroutines", 1.7, func(b *testing.B) float64 { return twice(b, t.acquiring(b)) })
	for _, m := range Models[1:] {
		name := "allocations/tsr/directory/" + m.Name + "/each-file"
		t.add(name, atMost, 13, "allocs", func(b *testing.B) float64 {
			few := t.file(b, "tsr", small)
			more := t.file(b, "tsr", m)
			return (allocated(b, more) - allocated(b, few)) / float64(len(more.paths)-len(few.paths))
		})
	}
	t.add("held/mag/10000", atMost, 160, "B/tensor", t.held)
	t.add("value/gguf/150000", atMost, 1.1, "x-value", vocabulary)
	t.add("opening/gguf/150000", atMost, .5, "x-metadata", openedVocabulary)
}

// againstMap measures lookups of 10,000 long names in random order in a model, relative to a map.
// The names are copies of the map's keys, since comparing a string with itself takes no time.
func (t *table) againstMap(b *testing.B) float64 {
	const n = 10_000
	var infos []tensor.Info
	names := make([]string, n)
	byName := map[string]int{}
	for i := range n {
		name := fmt.Sprintf("model.layers.%d.block_sparse_moe.experts.%d.down_proj.weight", i/64, i%64)
		infos = append(infos, tensor.Info{Name: name, DType: tensor.Float32, Shape: tensor.Shape{1}, Size: 4})
		byName[name] = i
	}
	// Copy the strings, so that they do not lie next to the map's keys.
	for i := range infos {
		names[i*7919%n] = strings.Clone(infos[i].Name)
	}
	m := opened(b, t.file(b, "mag", Model{"names", func() (*schema.Schema, []byte) { return &schema.Schema{Tensors: infos}, make([]byte, 4) }}).path)
	found := 0
	return floor.Pairs(b, func() error {
		for _, name := range names {
			if _, err := m.Tensor(name); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		for _, name := range names {
			found += byName[name]
		}
		return nil
	})
}

// usedTwice measures the throughput of two goroutines that hold a view, relative to one.
func (t *table) usedTwice(b *testing.B) float64 {
	v := opened(b, t.file(b, "mag", small).path).At(0)
	return twice(b, func() error {
		for range often {
			if err := v.Use(func([]byte) error { return nil }); err != nil {
				return err
			}
		}
		return nil
	})
}

// often is the number of runs timed together of an operation that takes nanoseconds.
const often = 10_000

// twice measures the throughput of op in two goroutines, relative to one.
func twice(b *testing.B, op func() error) float64 {
	one := floor.Timed(op)
	both := func(n int) (time.Duration, error) {
		var took [2]time.Duration
		var ready sync.WaitGroup
		ready.Add(len(took))
		err := work.Each(context.Background(), len(took), len(took), func(i int) (err error) {
			ready.Done()
			ready.Wait() // otherwise the first goroutine may do both before the second runs
			took[i], err = one(n)
			return err
		})
		return max(took[0], took[1]) / 2, err
	}
	return floor.PairsOf(b, one, both).Ratio
}

// acquiring returns a function that acquires and releases a model.
func (t *table) acquiring(b *testing.B) func() error {
	h, err := live.Open(context.Background(), t.file(b, "mag", small).path, nil)
	expect.OK(b, err)
	b.Cleanup(func() { h.Close() })
	return func() error {
		for range often {
			l, err := h.Acquire()
			if err != nil {
				return err
			}
			l.Release()
		}
		return nil
	}
}

// acquired measures Acquire and Release, relative to two additions to an uncontended counter.
func (t *table) acquired(b *testing.B) float64 {
	var n atomic.Int64
	return floor.Pairs(b, t.acquiring(b), func() error {
		for range often {
			n.Add(1)
			n.Add(-1)
		}
		return nil
	})
}

// reloaded measures reloading 100 MB that nothing uses, relative to opening and verifying them.
func (t *table) reloaded(b *testing.B) float64 {
	path := t.file(b, "mle", large).path
	h, err := live.Open(context.Background(), path, &live.Options{Verify: true, Workers: 2})
	expect.OK(b, err)
	b.Cleanup(func() { h.Close() })
	return floor.Pairs(b, func() error {
		_, err := h.ForceReload(context.Background())
		return err
	}, func() error { return verifying(path, 2) })
}

// withVocabulary returns the path of a GGUF file with an array of 150,000 strings.
func withVocabulary(b *testing.B) string {
	words := make([]string, 150_000)
	for i := range words {
		words[i] = fmt.Sprintf("word%d", i*7919%150_000)
	}
	p := &schema.Schema{Metadata: schema.Metadata{{Key: "tokenizer.ggml.tokens", Value: words}}}
	path := filepath.Join(b.TempDir(), "vocabulary.gguf")
	w, err := format.Create(path, p, noSync)
	expect.OK(b, err)
	expect.OK(b, w.Close())
	return path
}

// openedVocabulary returns how much memory it takes to open a file with a vocabulary when the pools
// are empty, relative to the metadata, which is the file.
func openedVocabulary(b *testing.B) float64 {
	path := withVocabulary(b)
	runtime.GC()
	runtime.GC()
	before := totalAlloc()
	expect.OK(b, opening(path)())
	taken := totalAlloc() - before
	for b.Loop() { // otherwise this runs again
	}
	info, err := os.Stat(path)
	expect.OK(b, err)
	return float64(taken) / float64(info.Size())
}

// vocabulary returns how much memory it takes to decode an array of 150,000 strings, relative to the
// value itself.
func vocabulary(b *testing.B) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // pools are per processor
	m := opened(b, withVocabulary(b))
	value, err := m.Value("tokenizer.ggml.tokens")
	expect.OK(b, err)
	text, ok := value.(json.RawMessage)
	if !ok {
		b.Fatalf("the value is a %T", value)
	}
	const calls = 10
	before := totalAlloc()
	for range calls {
		_, err := m.Value("tokenizer.ggml.tokens")
		expect.OK(b, err)
	}
	for b.Loop() { // otherwise this runs again
	}
	return float64(totalAlloc()-before) / calls / float64(len(text))
}

// totalAlloc returns the number of bytes allocated so far.
func totalAlloc() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.TotalAlloc
}

// allocated returns the number of allocations of opening and closing a file.
func allocated(b *testing.B, f file) float64 {
	return testing.AllocsPerRun(10, func() { expect.OK(b, opening(f.path)()) })
}

// held returns the bytes of memory per tensor of an open model, after garbage collection.
func (t *table) held(b *testing.B) float64 {
	inUse := func() int64 {
		for range 3 { // objects in a sync.Pool survive two
			runtime.GC()
		}
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	path := t.file(b, "mag", many).path
	before := inUse()
	m := opened(b, path)
	n := inUse() - before
	for b.Loop() { // otherwise this runs again, in memory that is free but not returned
	}
	return float64(n) / float64(m.Len())
}
