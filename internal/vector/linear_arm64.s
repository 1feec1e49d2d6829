//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// INTEGERS loads sixteen bytes and makes them the integers in V4 to V7: an exclusive
// or with the kind and less the kind, which V20 has four times.
#define INTEGERS \
	VLD1.P 16(R2), [V0.B16]; \
	VUXTL V0.B8, V1.H8; \
	VUXTL2 V0.B16, V2.H8; \
	VUXTL V1.H4, V4.S4; \
	VUXTL2 V1.H8, V5.S4; \
	VUXTL V2.H4, V6.S4; \
	VUXTL2 V2.H8, V7.S4; \
	VEOR V20.B16, V4.B16, V4.B16; \
	VEOR V20.B16, V5.B16, V5.B16; \
	VEOR V20.B16, V6.B16, V6.B16; \
	VEOR V20.B16, V7.B16, V7.B16; \
	VSUB V20.S4, V4.S4, V4.S4; \
	VSUB V20.S4, V5.S4, V5.S4; \
	VSUB V20.S4, V6.S4, V6.S4; \
	VSUB V20.S4, V7.S4, V7.S4

// SCALED multiplies V4 to V7 with the scales in four registers and writes them.
#define SCALED(s0, s1, s2, s3) \
	SCVTF_S4(4, 4); \
	SCVTF_S4(5, 5); \
	SCVTF_S4(6, 6); \
	SCVTF_S4(7, 7); \
	FMUL_S4(4, s0, 4); \
	FMUL_S4(5, s1, 5); \
	FMUL_S4(6, s2, 6); \
	FMUL_S4(7, s3, 7); \
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)

// func linearBlock(dst []float32, src []byte, sign int32, scale float32, zero int32, stream bool)
TEXT ·linearBlock(SB), NOSPLIT, $0-61
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R1
	MOVD src_base+24(FP), R2
	MOVW sign+48(FP), R3
	MOVWU scale+52(FP), R4
	MOVW zero+56(FP), R5
	VDUP R3, V20.S4
	VDUP R4, V21.S4
	VDUP R5, V22.S4
	LSR $4, R1
	CBZ R1, done

loop:
	INTEGERS
	VSUB V22.S4, V4.S4, V4.S4
	VSUB V22.S4, V5.S4, V5.S4
	VSUB V22.S4, V6.S4, V6.S4
	VSUB V22.S4, V7.S4, V7.S4
	SCALED(21, 21, 21, 21)
	SUB $1, R1
	CBNZ R1, loop

done:
	RET

// func rowBlock(dst []float32, src []byte, sign int32, scales []float32, zeros []int32, step int, stream bool)
TEXT ·rowBlock(SB), NOSPLIT, $0-113
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R1
	MOVD src_base+24(FP), R2
	MOVW sign+48(FP), R3
	MOVD scales_base+56(FP), R4
	MOVD zeros_base+80(FP), R5
	MOVD step+104(FP), R6
	VDUP R3, V20.S4
	LSL $6, R6
	LSR $4, R1
	CBZ R1, done

loop:
	INTEGERS
	VLD1 (R5), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1.P 64(R4), [V24.S4, V25.S4, V26.S4, V27.S4]
	VSUB V16.S4, V4.S4, V4.S4
	VSUB V17.S4, V5.S4, V5.S4
	VSUB V18.S4, V6.S4, V6.S4
	VSUB V19.S4, V7.S4, V7.S4
	SCALED(24, 25, 26, 27)
	ADD R6, R5, R5
	SUB $1, R1
	CBNZ R1, loop

done:
	RET
