//go:build !purego

#include "textflag.h"
#include "go_asm.h"
#include "neon_arm64.h"

// The shuffle of the bytes of fifth bits: each goes to eight elements, whose bits come last.
DATA fifth<>+0(SB)/8, $0x0000000000000000
DATA fifth<>+8(SB)/8, $0x0101010101010101
DATA fifth<>+16(SB)/8, $0x0202020202020202
DATA fifth<>+24(SB)/8, $0x0303030303030303
DATA fifth<>+32(SB)/8, $0x8040201008040201
DATA fifth<>+40(SB)/8, $0x8040201008040201
GLOBL fifth<>(SB), RODATA|NOPTR, $48

// SIXTEEN makes the nibbles in q elements and writes them; spread are the indices of
// their fifth bits. The minimum is the first operand of the sum, so that its NaN
// wins.
#define SIXTEEN(q, number, spread) \
	VTBL q.B16, [V16.B16], q.B16; \
	VTBL spread.B16, [V2.B16], V3.B16; \
	VCMTST V20.B16, V3.B16, V3.B16; \
	VAND V17.B16, V3.B16, V3.B16; \
	VADD V3.B16, q.B16, q.B16; \
	FLOATS_B16(number); \
	FMUL_S4(4, 22, 4); \
	FMUL_S4(5, 22, 5); \
	FMUL_S4(6, 22, 6); \
	FMUL_S4(7, 22, 7); \
	FADD_S4(23, 4, 4); \
	FADD_S4(23, 5, 5); \
	FADD_S4(23, 6, 6); \
	FADD_S4(23, 7, 7); \
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)

// func nibbleBlocks(dst []float32, src []byte, scales, mins []float32, n *Nibbles)
TEXT ·nibbleBlocks(SB), NOSPLIT, $0-104
	MOVD dst_base+0(FP), R0
	MOVD src_base+24(FP), R1
	MOVD scales_base+48(FP), R2
	MOVD scales_len+56(FP), R3
	MOVD mins_base+72(FP), R4
	MOVD n+96(FP), R5
	MOVD Nibbles_Stride(R5), R6
	MOVD Nibbles_At(R5), R7
	MOVD Nibbles_Fifth(R5), R8
	ADD R1, R7
	ADD R1, R8
	ADD $Nibbles_Values, R5, R9
	VLD1 (R9), [V16.B16]
	MOVBU Nibbles_High(R5), R9
	VDUP R9, V17.B16
	MOVD $fifth<>(SB), R9
	VLD1 (R9), [V18.B16, V19.B16, V20.B16]
	VMOVI $15, V21.B16
	CBZ R3, done

loop:
	VLD1 (R7), [V0.B16]
	MOVWU (R8), R9
	MOVWU.P 4(R2), R10
	MOVWU.P 4(R4), R11
	VDUP R9, V2.S4
	VDUP R10, V22.S4
	VDUP R11, V23.S4
	VUSHR $4, V0.B16, V1.B16
	VAND V21.B16, V0.B16, V0.B16
	SIXTEEN(V0, 0, V18)
	SIXTEEN(V1, 1, V19)
	ADD R6, R7
	ADD R6, R8
	SUB $1, R3
	CBNZ R3, loop

done:
	RET
