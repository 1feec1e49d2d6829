//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// func scaledBlocks(dst []float32, src []byte, stride int, scales []float32)
TEXT ·scaledBlocks(SB), NOSPLIT, $0-80
	MOVD dst_base+0(FP), R0
	MOVD src_base+24(FP), R1
	MOVD stride+48(FP), R2
	MOVD scales_base+56(FP), R3
	MOVD scales_len+64(FP), R4
	SUB $32, R1
	CBZ R4, done

loop:
	ADD R2, R1
	MOVWU.P 4(R3), R5
	VLD1 (R1), [V0.B16, V1.B16]
	VDUP R5, V22.S4
	FLOATS_B16(0)
	FMUL_S4(4, 22, 4)
	FMUL_S4(5, 22, 5)
	FMUL_S4(6, 22, 6)
	FMUL_S4(7, 22, 7)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	FLOATS_B16(1)
	FMUL_S4(4, 22, 4)
	FMUL_S4(5, 22, 5)
	FMUL_S4(6, 22, 6)
	FMUL_S4(7, 22, 7)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	SUB $1, R4
	CBNZ R4, loop

done:
	RET
