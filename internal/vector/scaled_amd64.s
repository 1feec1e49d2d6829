//go:build !purego

#include "textflag.h"

// SCALE converts eight bytes, with the scale in Y8.
#define SCALE(from, y, to) \
	VPMOVSXBD from-32(SI), y; \
	VCVTDQ2PS y, y; \
	VMULPS Y8, y, y; \
	VMOVUPS y, to(DI)

// func scaledBlocks(dst []float32, src []byte, stride int, scales []float32)
TEXT ·scaledBlocks(SB), NOSPLIT, $0-80
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ stride+48(FP), DX
	MOVQ scales_base+56(FP), AX
	MOVQ scales_len+64(FP), CX
	ADDQ DX, SI
	TESTQ CX, CX
	JZ done

loop:
	VBROADCASTSS (AX), Y8
	SCALE(0, Y0, 0)
	SCALE(8, Y1, 32)
	SCALE(16, Y2, 64)
	SCALE(24, Y3, 96)
	ADDQ DX, SI
	ADDQ $4, AX
	ADDQ $128, DI
	DECQ CX
	JNZ loop

done:
	VZEROUPPER
	RET
