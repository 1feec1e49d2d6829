// Package quant reads quantized weights whose scales are in a second tensor. Join makes one view
// of both, which decodes to float32; Pairs finds them by their names.
//
// # Layouts
//
// DeepSeek's FP8 models have X.weight and X.weight_scale_inv, a scale for each block of 128x128.
// The last blocks of rows and columns may be partial:
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
// Models of compressed-tensors have X.weight, F8_E4M3 or I8, and X.weight_scale: blocks as above, or
//
//	weight [N, K]   scale [] or [1]         one scale
//	                scale [N] or [N, 1]     a scale for each row
//	                scale [N, G]            a scale for each K/G elements of a row
//
// MX models such as gpt-oss have X_blocks, bytes of two FP4 (e2m1) numbers, and X_scales, exponents
// (E8M0). 32 numbers have a scale, and a row of G groups has 32*G numbers:
//
//	X_blocks [..., G, 16] U8                X_scales [..., G] U8
//
//	+----+----+-------+-----+
//	|1 0 |3 2 |  ...  |31 30|  16 bytes     value = fp4 * 2^(scale - 127)
//	+----+----+-------+-----+               a scale of 255 is NaN
//	 each byte: high half, low half; the low half is the first number
//
// All axes before those shown are batches: scales have the same. Every product is rounded to
// float32 once.
package quant
