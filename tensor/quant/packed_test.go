package quant_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/internal/lowbit"
	"github.com/weightmap/weightmap/tensor"
	"github.com/weightmap/weightmap/tensor/quant"
)

// of describes a tensor of dtype and dims.
func of(name string, d tensor.DType, dims ...int64) tensor.Info {
	return tensor.Info{Name: name, DType: d, Shape: tensor.Shape(dims)}
}

// TestFindPacked: the names and shapes say how weights are packed.
func TestFindPacked(t *testing.T) {
	const i8, i32, u8, u32, f16, f32, f8 = tensor.Int8, tensor.Int32, tensor.Uint8, tensor.Uint32, tensor.Float16, tensor.Float32, tensor.Float8E4M3FN
	f4 := tensor.Info{Name: "l.weight", Encoding: lowbit.Encoding("F4"), Shape: tensor.Shape{4, 32}}
	for _, tt := range []struct {
		name    string
		tensors []tensor.Info
		want    string // "" for none; with "!" if Join decodes them
	}{
		// ../shared/cases/reports/s30_gptq.safetensors
		{"GPTQ", []tensor.Info{of("l.qweight", i32, 2, 8), of("l.qzeros", i32, 2, 1), of("l.scales", f16, 2, 8), of("l.g_idx", i32, 16)}, "1 packed weight: GPTQ, 4 bits, groups of 8"},
		{"GPTQ of 8 bits", []tensor.Info{of("l.qweight", i32, 1024, 512), of("l.qzeros", i32, 32, 128), of("l.scales", f16, 32, 512)}, "1 packed weight: GPTQ, 8 bits, groups of 128"},
		{"GPTQ of 3 bits", []tensor.Info{of("l.qweight", i32, 384, 512), of("l.qzeros", i32, 32, 48), of("l.scales", f16, 32, 512)}, "1 packed weight: GPTQ, 3 bits, groups of 128"},
		{"GPTQ of one group", []tensor.Info{of("l.qweight", i32, 512, 512), of("l.qzeros", i32, 1, 64), of("l.scales", f16, 1, 512)}, "1 packed weight: GPTQ, 4 bits, a scale for each row"},
		{"AWQ", []tensor.Info{of("l.qweight", i32, 4096, 512), of("l.qzeros", i32, 32, 512), of("l.scales", f16, 32, 4096)}, "1 packed weight: AWQ, 4 bits, groups of 128"},
		{"neither", []tensor.Info{of("l.qweight", i32, 4096, 512), of("l.qzeros", i32, 32, 512), of("l.scales", f16, 32, 100)}, ""},
		{"GPTQ without scales", []tensor.Info{of("l.qweight", i32, 2, 8), of("l.qzeros", i32, 2, 1)}, ""},
		{"GPTQ of floats", []tensor.Info{of("l.qweight", f32, 2, 8), of("l.qzeros", i32, 2, 1), of("l.scales", f16, 2, 8)}, ""},
		{"GPTQ of 0 columns", []tensor.Info{of("l.qweight", i32, 2, 0), of("l.qzeros", i32, 2, 0), of("l.scales", f16, 2, 0)}, ""},
		{"GPTQ of absurd dims", []tensor.Info{of("l.qweight", i32, math.MaxInt64, math.MaxInt64), of("l.qzeros", i32, 2, math.MaxInt64), of("l.scales", f16, 2, math.MaxInt64)}, ""},
		{"nf4", []tensor.Info{of("l.weight", u8, 8192, 1), of("l.weight.absmax", f32, 256), of("l.weight.quant_map", f32, 16), of("l.weight.quant_state.bitsandbytes__nf4", u8, 80)}, "1 packed weight: bitsandbytes nf4, 4 bits, blocks of 64"},
		{"fp4, nested", []tensor.Info{of("l.weight", u8, 8192, 1), of("l.weight.absmax", u8, 256), of("l.weight.quant_map", f32, 16), of("l.weight.quant_state.bitsandbytes__fp4", u8, 80)}, "1 packed weight: bitsandbytes fp4, 4 bits, blocks of 64, scales quantized too"},
		// ../shared/cases/reports/s33_bnb_int8.safetensors
		{"int8", []tensor.Info{of("l.weight", i8, 2, 2), of("l.SCB", f32, 2), of("l.weight_format", u8)}, "1 packed weight: bitsandbytes int8, 8 bits, a scale for each row"},
		{"int8 with other scales", []tensor.Info{of("l.weight", i8, 2, 2), of("l.SCB", f32, 3)}, ""},
		{"pack-quantized", []tensor.Info{of("l.weight_packed", i32, 64, 8), of("l.weight_scale", f16, 64, 1), of("l.weight_shape", tensor.Int64, 2)}, "1 packed weight: compressed-tensors, pack-quantized"},
		{"nvfp4-pack-quantized", []tensor.Info{of("l.weight_packed", u8, 64, 32), of("l.weight_scale", f8, 64, 4), of("l.weight_global_scale", f32, 1)}, "1 packed weight: compressed-tensors, nvfp4, 4 bits, groups of 16"},
		{"marlin-24", []tensor.Info{of("l.weight_packed", i32, 64, 32), of("l.scale_packed", f16, 64, 4), of("l.meta", tensor.Int16, 4)}, "1 packed weight: compressed-tensors, marlin-24"},
		{"sparse", []tensor.Info{of("l.compressed", f16, 64), of("l.bitmask", u8, 64, 4)}, "1 packed weight: compressed-tensors, sparse"},
		{"ModelOpt", []tensor.Info{of("l.weight", u8, 64, 32), of("l.weight_scale", f8, 64, 4), of("l.weight_scale_2", f32)}, "1 packed weight: ModelOpt NVFP4, 4 bits, groups of 16"},
		{"HQQ", []tensor.Info{of("l.W_q", u8, 64, 32), of("l.scale", f16, 1, 64), of("l.zero", f16, 1, 64)}, "1 packed weight: HQQ"},
		{"EXL2", []tensor.Info{of("l.q_weight", i32, 64, 32), of("l.q_scale", i32, 4, 8), of("l.q_groups", tensor.Int16, 8)}, "1 packed weight: EXL2"},
		{"MXFP4", []tensor.Info{of("e_blocks", u8, 2, 3, 16), of("e_scales", u8, 2, 3)}, "1 packed weight: MXFP4, 4 bits, groups of 32!"},
		// ../shared/cases/reports/s37_mxfp4_gptoss.safetensors
		{"MXFP4 with dots", []tensor.Info{of("e.blocks", u8, 2, 1, 16), of("e.scales", u8, 2, 1)}, "1 packed weight: MXFP4, 4 bits, groups of 32!"},
		{"blocks of another kind", []tensor.Info{of("e.blocks", u8, 2, 1, 12), of("e.scales", u8, 2, 1)}, ""},
		{"MLX", []tensor.Info{of("l.weight", u32, 64, 8), of("l.scales", f16, 64, 1), of("l.biases", f16, 64, 1)}, "1 packed weight: MLX"},
		{"MLX without biases", []tensor.Info{of("l.weight", u32, 64, 8), of("l.scales", u8, 64, 2)}, "1 packed weight: MLX"},
		{"FP8 in blocks", []tensor.Info{of("l.weight", f8, 200, 300), of("l.weight_scale_inv", f32, 2, 3)}, "1 packed weight: FP8, block scales 128x128!"},
		// ../shared/cases/reports/s42_fp8_scale_weight.safetensors
		{"scaled FP8", []tensor.Info{of("scaled_fp8", f8, 0), of("l.weight", f8, 2, 2), of("l.scale_weight", f32, 1)}, "1 packed weight: FP8, one scale!"},
		{"FP8 and scales that do not fit", []tensor.Info{of("l.weight", f8, 4, 5), of("l.weight_scale", f32, 3)}, "1 packed weight: FP8, scales of an unknown layout"},
		{"int8 and a zero point", []tensor.Info{of("l.weight", i8, 4, 5), of("l.weight_scale", f32), of("l.weight_zero_point", i8)}, "1 packed weight: int8, scales of an unknown layout"},
		{"FP4 with scales", []tensor.Info{f4, of("l.weight_scale", f32, 4)}, "1 packed weight: F4, a scale for each row!"},
		{"plain", []tensor.Info{of("l.weight", f32, 4, 5), of("l.scale", f32, 4), of("l.weight_scale", f32, 4)}, ""},
		{"FP8 alone", []tensor.Info{of("l.weight", f8, 4, 5)}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			for _, p := range quant.FindPacked(tt.tensors) {
				got += p.String()
				if p.Joins {
					got += "!"
				}
			}
			expect.Equal(t, tt.want, got)
		})
	}
}

// TestFindPackedGroups: weights of the same kind are one group.
func TestFindPackedGroups(t *testing.T) {
	var list []tensor.Info
	for i := range 96 {
		name := fmt.Sprintf("layers.%d.", i)
		list = append(list, of(name+"qweight", tensor.Int32, 512, 64), of(name+"qzeros", tensor.Int32, 32, 8), of(name+"scales", tensor.Float16, 32, 64))
	}
	list = append(list, of("head.weight", tensor.Float8E4M3FN, 4, 4), of("head.weight_scale", tensor.Float32, 4), of("e_blocks", tensor.Uint8, 1, 16), of("e_scales", tensor.Uint8, 1))
	slices.Reverse(list)
	var got []string
	for _, p := range quant.FindPacked(list) {
		got = append(got, p.String())
	}
	expect.Equal(t, []string{"1 packed weight: MXFP4, 4 bits, groups of 32", "1 packed weight: FP8, a scale for each row", "96 packed weights: GPTQ, 4 bits, groups of 128"}, got)
}
