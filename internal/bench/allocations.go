package bench

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// allocVerdicts limits allocations of an opening: a constant number for any number of tensors, and a
// number per file for a directory.
func allocVerdicts() (all []verdict) {
	for _, c := range []struct {
		name  string
		limit float64
	}{{"mag", 16}, {"mobi", 16}, {"mle", 36}, {"wia", 40}} {
		for _, m := range Models {
			all = append(all, verdict{name: "allocations/" + c.name + "/" + m.Name, limit: c.limit, counts: true, figure: func(b *testing.B) float64 {
				return allocated(b, File(b, c.name, m).Path)
			}})
		}
	}
	all = append(all, verdict{name: "allocations/tsr/file", limit: 16, counts: true, figure: func(b *testing.B) float64 {
		return allocated(b, File(b, "tsr", single(Models[0])).Path)
	}})
	for i, files := range []int{300, 10_000} {
		all = append(all, verdict{name: fmt.Sprintf("allocations/tsr/directory%d/each-file", files), limit: 4, counts: true, figure: func(b *testing.B) float64 {
			return allocatedEach(b, File(b, "tsr", Models[0]), File(b, "tsr", Models[i+1]))
		}})
	}
	return append(all, verdict{name: "held/mag/10000", limit: 160, counts: true, figure: func(b *testing.B) float64 {
		return held(b, File(b, "mag", Models[2]))
	}})
}

// held returns the bytes of memory per tensor of an open model, after garbage collection.
func held(b *testing.B, f Written) float64 {
	inUse := func() int64 {
		for range 3 { // objects in a sync.Pool survive two
			runtime.GC()
		}
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	var each float64
	for b.Loop() {
		before := inUse()
		m, err := format.Open(f.Path, nil)
		if err != nil {
			b.Fatal(err)
		}
		each = float64(inUse()-before) / float64(m.Len())
		m.Close()
	}
	b.ReportMetric(each, "B/tensor")
	return each
}

// allocated returns the number of allocations of opening and closing a file. The benchmark's own time
// is that of one opening.
func allocated(b *testing.B, path string) float64 {
	open := Opening(path)
	for b.Loop() {
		if err := open(); err != nil {
			b.Fatal(err)
		}
	}
	n := counted(b, open)
	b.ReportMetric(n, "allocs")
	return n
}

// counted returns the number of allocations of op.
func counted(b *testing.B, op func() error) float64 {
	return testing.AllocsPerRun(10, func() {
		if err := op(); err != nil {
			b.Fatal(err)
		}
	})
}

// allocatedEach returns the number of allocations per file of a directory: the difference between many
// files and few, divided by the number of additional files.
func allocatedEach(b *testing.B, few, many Written) float64 {
	fixed := counted(b, Opening(few.Path))
	each := (allocated(b, many.Path) - fixed) / float64(len(many.Paths)-len(few.Paths))
	b.ReportMetric(each, "allocs/file")
	return each
}
