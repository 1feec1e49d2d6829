package formattest

import (
	"context"
	"runtime/metrics"
	"testing"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/tensor"
)

// maxProbe is the size up to which Walk decodes a tensor: fuzzing inputs may declare large tensors
// that compress well.
const maxProbe = 16 << 20

// Walk reads everything in an open model in every way and ignores the results and errors; a caller
// only learns of panics. It does not close m.
func Walk(m *format.Model) {
	_, _ = m.Verify(context.Background(), &format.VerifyOptions{Workers: 1})
	_, _ = m.Format(), m.Version()
	_, _ = m.Metadata()
	_, _ = m.Graph()
	_, _, _, _ = m.Notes(), m.Signature(), m.NeedsKey(), m.Stats()
	_ = m.Prefetch(context.Background())
	for name, v := range m.Tensors() {
		if v.Info().Size > maxProbe {
			continue
		}
		_, _ = m.Tensor(name)
		_ = v.Use(func(b []byte) error {
			if int64(len(b)) != v.Info().Size {
				panic("Use shows another number of bytes than Info")
			}
			return nil
		})
		_, _ = v.Bytes()
		_, _ = v.ReadAt(make([]byte, 3), v.Info().Size/2)
		_, _ = tensor.Decode[float32](nil, v)
		_, _ = tensor.As[float32](v)
		_, _ = v.Slice()
		if len(v.Shape()) > 0 && v.Shape()[0] > 0 {
			_, _ = v.Slice(tensor.At(0))
		}
	}
}

// Fuzz is the body of a format's fuzz target. It adds the samples as seeds, and opens, verifies and
// decodes each input with and without checksums.
func Fuzz(f *testing.F, c Config) {
	for i := range c.Samples {
		f.Add(newSubject(f, &c, &c.Samples[i]).file)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, check := range []format.Check{format.CheckDefault, format.CheckStructure} {
			(&subject{cfg: &c}).opened(t, b, &format.Options{Check: check}, Walk)
		}
	})
}

// cost returns the number of heap bytes that f allocates. Other goroutines may allocate meanwhile,
// so a figure over budget is measured again.
func cost(budget uint64, f func()) uint64 {
	least := ^uint64(0)
	for range 3 {
		before := allocated()
		f()
		least = min(least, allocated()-before)
		if least <= budget {
			break
		}
	}
	return least
}

// allocated returns the total of bytes allocated. Unlike runtime.ReadMemStats it does not stop the
// world; it counts small objects with a delay.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
