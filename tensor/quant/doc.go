// Package quant reads quantized weights whose scales are in a second tensor. Pairs finds such
// tensors by their names; Join combines the two into a view that decodes to float32. Linear does
// so for the constants of ONNX graphs, whose nodes name the tensors.
//
// # Layouts
//
// DeepSeek's FP8 models store X.weight and X.weight_scale_inv, with a scale for each block of
// 128x128 elements. The last blocks of rows and columns may be partial:
//
//	weight [200, 300] F8_E4M3             weight_scale_inv [2, 3] F32
//
//	          0      128      256  300
//	       0  +--------+--------+----+      value = weight * scale of its block
//	          | s[0,0] | s[0,1] | .. |
//	     128  +--------+--------+----+      element [150, 260] has scale [1, 2]
//	          | s[1,0] | s[1,1] | .. |
//	     200  +--------+--------+----+
//
// Models of compressed-tensors store X.weight, F8_E4M3 or I8, and X.weight_scale: blocks as above,
// or
//
//	weight [N, K]   scale [] or [1]         one scale
//	                scale [N] or [N, 1]     a scale for each row
//	                scale [N, G]            a scale for each K/G elements of a row
//
// MX models such as gpt-oss store X_blocks, with two FP4 (e2m1) numbers in each byte, and X_scales,
// with an exponent (E8M0) for each group of 32 numbers. A row of G groups has 32*G numbers:
//
//	X_blocks [..., G, 16] U8                X_scales [..., G] U8
//
//	+----+----+-------+-----+
//	|1 0 |3 2 |  ...  |31 30|  16 bytes     value = fp4 * 2^(scale - 127)
//	+----+----+-------+-----+               a scale of 255 is NaN
//	 each byte: high half, low half; the low half is the first number
//
// The image models of ComfyUI call the scales X.scale_weight, and some files write X.blocks and
// X.scales.
//
// FindPacked also names the weights of GPTQ, AWQ, bitsandbytes, compressed-tensors, ModelOpt, MLX,
// HQQ and EXL2, which Join does not decode.
//
// Axes before those shown are batches, and the scales have the same ones. Every product is rounded
// to float32 once.
package quant
