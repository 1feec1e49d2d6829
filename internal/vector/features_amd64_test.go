//go:build !purego && !darwin

package vector

import (
	"testing"

	"golang.org/x/sys/cpu"
)

// TestFeatures: what is asked of the processor here is what golang.org/x/sys/cpu finds. (On
// Darwin it asks the system too, which saves the registers of AVX-512 once they are used.)
func TestFeatures(t *testing.T) {
	for _, f := range []struct {
		name      string
		got, want bool
	}{
		{"AVX2", have(avx2, savesYMM), cpu.X86.HasAVX2},
		{"AVX512F", have(avx512f, savesZMM), cpu.X86.HasAVX512F},
		{"AVX512DQ", have(avx512dq, savesZMM), cpu.X86.HasAVX512DQ},
		{"AVX512VL", have(avx512vl, savesZMM), cpu.X86.HasAVX512VL},
	} {
		if f.got != f.want {
			t.Errorf("%s: %v, want %v", f.name, f.got, f.want)
		}
	}
}
