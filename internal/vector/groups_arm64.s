//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "neon_arm64.h"

// TIMES multiplies V4 to V7 with the number that a register has four times.
#define TIMES(m) \
	FMUL_S4(4, m, 4); \
	FMUL_S4(5, m, 5); \
	FMUL_S4(6, m, 6); \
	FMUL_S4(7, m, 7)

// GROUP writes sixteen signed bytes as floats times the scale at R8, less the minimum.
#define GROUP(n) \
	VLD1R (R8), [V20.S4]; \
	ADD $64, R8, R10; \
	VLD1R (R10), [V21.S4]; \
	FLOATS_B16(n); \
	TIMES(20); \
	FSUB_S4(4, 21, 4); \
	FSUB_S4(5, 21, 5); \
	FSUB_S4(6, 21, 6); \
	FSUB_S4(7, 21, 7); \
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)

// func groupBlocks(dst []float32, src []byte, scales []Scales, layout *Groups, floats *[32]float32)
TEXT ·groupBlocks(SB), NOSPLIT, $0-88
	MOVD dst_base+0(FP), R0
	MOVD scales_len+56(FP), R1
	MOVD src_base+24(FP), R2
	MOVD layout+72(FP), R3
	MOVD scales_base+48(FP), R4
	MOVD floats+80(FP), R5
	MOVWU Groups_LowMask(R3), R10
	VDUP R10, V24.B16
	MOVWU Groups_HighMask(R3), R11
	VDUP R11, V25.B16
	MOVWU Groups_HighUp(R3), R10
	VDUP R10, V26.B16
	MOVWU Groups_Base(R3), R10
	VDUP R10, V27.B16
	MOVD Groups_Size(R3), R6
	MOVD Groups_Halves(R3), R7
	SUB $1, R7
	CBZ R1, done

block:
	MOVWU Scales_D(R4), R10
	VDUP R10, V20.S4
	MOVWU Scales_Min(R4), R10
	VDUP R10, V21.S4
	ADD $Scales_Scale, R4, R10
	VLD1 (R10), [V0.B16, V1.B16] // and Low
	MOVD R5, R8
	FLOATS_B16(0)
	TIMES(20)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R8)
	FLOATS_B16(1)
	TIMES(21)
	VST1 [V4.S4, V5.S4, V6.S4, V7.S4], (R8)
	ADD $Groups_Rows, R3, R9
	MOVD R5, R8
	MOVD $8, R12

row:
	MOVWU (R9), R10
	ADD R10, R2, R10
	VLD1 (R10), [V0.B16, V1.B16]
	MOVWU 4(R9), R10
	NEG R10, R10
	VDUP R10, V2.B16
	USHL_B16(0, 2, 0)
	USHL_B16(1, 2, 1)
	VAND V24.B16, V0.B16, V0.B16
	VAND V24.B16, V1.B16, V1.B16
	CBZ R11, whole
	MOVWU 8(R9), R10
	ADD R10, R2, R10
	VLD1 (R10), [V16.B16, V17.B16]
	MOVWU 12(R9), R10
	NEG R10, R10
	VDUP R10, V2.B16
	USHL_B16(16, 2, 16)
	USHL_B16(17, 2, 17)
	VAND V25.B16, V16.B16, V16.B16
	VAND V25.B16, V17.B16, V17.B16
	USHL_B16(16, 26, 16)
	USHL_B16(17, 26, 17)
	VORR V16.B16, V0.B16, V0.B16
	VORR V17.B16, V1.B16, V1.B16

whole:
	VSUB V27.B16, V0.B16, V0.B16
	VSUB V27.B16, V1.B16, V1.B16
	GROUP(0)
	ADD R7<<2, R8, R8
	GROUP(1)
	ADD $4, R8
	ADD $16, R9
	SUB $1, R12
	CBNZ R12, row
	ADD R6, R2
	ADD $Scales__size, R4
	SUB $1, R1
	CBNZ R1, block

done:
	RET
