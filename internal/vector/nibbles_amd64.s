//go:build !purego

#include "textflag.h"
#include "go_asm.h"

// The shuffle of the bytes of fifth bits: each goes to eight elements, whose bits are below.
DATA fifth<>+0(SB)/8, $0x0000000000000000
DATA fifth<>+8(SB)/8, $0x0101010101010101
DATA fifth<>+16(SB)/8, $0x0202020202020202
DATA fifth<>+24(SB)/8, $0x0303030303030303
DATA fifth<>+32(SB)/8, $0x8040201008040201
// Shifts that leave the lower nibbles in the lower half, and the upper ones in the upper.
DATA fifth<>+40(SB)/8, $0x0000000000000000
DATA fifth<>+48(SB)/8, $0x0000000000000000
DATA fifth<>+56(SB)/8, $0x0000000400000004
DATA fifth<>+64(SB)/8, $0x0000000400000004
DATA fifth<>+72(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL fifth<>(SB), RODATA|NOPTR, $80

// EIGHT converts the eight bytes of x and writes them. The minimum is the first
// operand of the sum, so that its NaN wins.
#define EIGHT(x, y, at) \
	VPMOVSXBD x, y; \
	VCVTDQ2PS y, y; \
	VMULPS Y8, y, y; \
	VADDPS y, Y9, y; \
	VMOVUPS y, at(DI)

// func nibbleBlocks(dst []float32, src []byte, scales, mins []float32, n *Nibbles)
TEXT ·nibbleBlocks(SB), NOSPLIT, $0-104
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ scales_base+48(FP), AX
	MOVQ scales_len+56(FP), CX
	MOVQ mins_base+72(FP), BX
	MOVQ n+96(FP), R8
	MOVQ Nibbles_Stride(R8), DX
	MOVQ Nibbles_At(R8), R9
	MOVQ Nibbles_Fifth(R8), R10
	VBROADCASTI128 Nibbles_Values(R8), Y15
	VPBROADCASTB Nibbles_High(R8), Y14
	VMOVDQU fifth<>+0(SB), Y13
	VPBROADCASTQ fifth<>+32(SB), Y12
	VMOVDQU fifth<>+40(SB), Y11
	VPBROADCASTQ fifth<>+72(SB), Y10
	TESTQ CX, CX
	JZ done

loop:
	VBROADCASTI128 (SI)(R9*1), Y0
	VPBROADCASTD (SI)(R10*1), Y1
	VBROADCASTSS (AX), Y8
	VBROADCASTSS (BX), Y9
	VPSRLVD Y11, Y0, Y0
	VPAND Y10, Y0, Y0
	VPSHUFB Y0, Y15, Y0
	VPSHUFB Y13, Y1, Y1
	VPAND Y12, Y1, Y1
	VPCMPEQB Y12, Y1, Y1
	VPAND Y14, Y1, Y1
	VPADDB Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X2
	VPSRLDQ $8, X0, X1
	VPSRLDQ $8, X2, X3
	EIGHT(X0, Y0, 0)
	EIGHT(X1, Y1, 32)
	EIGHT(X2, Y2, 64)
	EIGHT(X3, Y3, 96)
	ADDQ DX, SI
	ADDQ $4, AX
	ADDQ $4, BX
	ADDQ $128, DI
	DECQ CX
	JNZ loop

done:
	VZEROUPPER
	RET
