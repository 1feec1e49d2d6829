package bench

import (
	"runtime"
	"testing"
)

// allocations limits allocations of an opening: a constant number for any number of tensors, and a
// number per file for a directory; and the memory that an open model holds.
func (t *table) allocations() {
	for _, c := range []struct {
		name  string
		limit float64
	}{{"mag", 16}, {"mobi", 16}, {"mle", 36}, {"wia", 40}} {
		for _, m := range Models {
			t.count("allocations/"+c.name+"/"+m.Name, c.limit, "allocs", func(b *testing.B) float64 {
				return allocated(b, File(b, c.name, m))
			})
		}
	}
	t.count("allocations/tsr/file", 16, "allocs", func(b *testing.B) float64 {
		return allocated(b, File(b, "tsr", single(small)))
	})
	for _, m := range Models[1:] {
		t.count("allocations/tsr/directory/"+m.Name+"/each-file", 4, "allocs", func(b *testing.B) float64 {
			few, more := File(b, "tsr", small), File(b, "tsr", m)
			return (allocated(b, more) - allocated(b, few)) / float64(len(more.Paths)-len(few.Paths))
		})
	}
	t.count("held/mag/10000", 160, "B/tensor", held)
}

// allocated returns the number of allocations of opening and closing a file.
func allocated(b *testing.B, f Written) float64 { return counted(b, Opening(f.Path)) }

// counted returns the number of allocations of op.
func counted(b *testing.B, op func() error) float64 {
	return testing.AllocsPerRun(10, func() { must(b, op()) })
}

// held returns the bytes of memory per tensor of an open model, after garbage collection.
func held(b *testing.B) float64 {
	inUse := func() int64 {
		for range 3 { // objects in a sync.Pool survive two
			runtime.GC()
		}
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	path := File(b, "mag", many).Path
	before := inUse()
	m := Open(b, path)
	return float64(inUse()-before) / float64(m.Len())
}
