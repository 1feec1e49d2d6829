//go:build !purego

#include "textflag.h"
#include "avx2_amd64.h"

// LINEAR converts sixteen bytes and writes them with store: an exclusive or with the
// kind in Y5 and less the kind, they are integers; less their zero points, which is
// exact, and times their scales, which rounds.
#define LINEAR(zero0, zero1, scale0, scale1, store) \
	VPMOVZXBD (SI), Y0; \
	VPMOVZXBD 8(SI), Y1; \
	VPXOR Y5, Y0, Y0; \
	VPXOR Y5, Y1, Y1; \
	VPSUBD Y5, Y0, Y0; \
	VPSUBD Y5, Y1, Y1; \
	VPSUBD zero0, Y0, Y0; \
	VPSUBD zero1, Y1, Y1; \
	VCVTDQ2PS Y0, Y0; \
	VCVTDQ2PS Y1, Y1; \
	VMULPS scale0, Y0, Y0; \
	VMULPS scale1, Y1, Y1; \
	store Y0, (DI); \
	store Y1, 32(DI); \
	ADDQ $16, SI; \
	ADDQ $64, DI

// BYTES is LINEAR with the same parameters for all elements.
#define BYTES(store) LINEAR(Y7, Y7, Y6, Y6, store)

// func linearBlock(dst []float32, src []byte, sign int32, scale float32, zero int32, stream bool)
TEXT ·linearBlock(SB), NOSPLIT, $0-61
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ src_base+24(FP), SI
	VBROADCASTSS sign+48(FP), Y5
	VBROADCASTSS scale+52(FP), Y6
	VBROADCASTSS zero+56(FP), Y7
	MOVBLZX stream+60(FP), AX
	CONVERT(BYTES, AX)

// ROW is LINEAR with the parameters of sixteen columns, and the next columns'.
#define ROW(store) \
	LINEAR((BX), 32(BX), (AX), 32(AX), store); \
	ADDQ $64, AX; \
	ADDQ DX, BX

// func rowBlock(dst []float32, src []byte, sign int32, scales []float32, zeros []int32, step int, stream bool)
TEXT ·rowBlock(SB), NOSPLIT, $0-113
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ src_base+24(FP), SI
	VBROADCASTSS sign+48(FP), Y5
	MOVQ scales_base+56(FP), AX
	MOVQ zeros_base+80(FP), BX
	MOVQ step+104(FP), DX
	MOVBLZX stream+112(FP), R8
	SHLQ $6, DX
	CONVERT(ROW, R8)
