//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// KEEP clears the top bit of the payload of a NaN in d, the quiet bit, unless the
// source had it, shifted into place in w; V20 has all bits but that one. FCVTL
// sets it, even if the source is a signaling NaN.
#define KEEP(w, d, number) \
	FCMEQ_S4(d, d, 16); \
	VORR w.B16, V16.B16, V16.B16; \
	VORR V20.B16, V16.B16, V16.B16; \
	VAND V16.B16, number.B16, number.B16

// func float16Block(dst []float32, src []byte, stream bool)
TEXT ·float16Block(SB), NOSPLIT, $0-49
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R1
	MOVD src_base+24(FP), R2
	MOVD $0xffbfffff, R3
	VDUP R3, V20.S4
	LSR $4, R1
	CBZ R1, done

loop:
	VLD1.P 32(R2), [V0.H8, V1.H8]
	FCVTL_H4(0, 4)
	FCVTL2_H8(0, 5)
	FCVTL_H4(1, 6)
	FCVTL2_H8(1, 7)
	VUSHLL $13, V0.H4, V8.S4
	VUSHLL2 $13, V0.H8, V9.S4
	VUSHLL $13, V1.H4, V10.S4
	VUSHLL2 $13, V1.H8, V11.S4
	KEEP(V8, 4, V4)
	KEEP(V9, 5, V5)
	KEEP(V10, 6, V6)
	KEEP(V11, 7, V7)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	SUB $1, R1
	CBNZ R1, loop

done:
	RET

// func bfloat16Block(dst []float32, src []byte, stream bool)
TEXT ·bfloat16Block(SB), NOSPLIT, $0-49
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R1
	MOVD src_base+24(FP), R2
	VEOR V20.B16, V20.B16, V20.B16
	LSR $4, R1
	CBZ R1, done

loop:
	VLD1.P 32(R2), [V0.H8, V1.H8]
	VZIP1 V0.H8, V20.H8, V4.H8
	VZIP2 V0.H8, V20.H8, V5.H8
	VZIP1 V1.H8, V20.H8, V6.H8
	VZIP2 V1.H8, V20.H8, V7.H8
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	SUB $1, R1
	CBNZ R1, loop

done:
	RET
