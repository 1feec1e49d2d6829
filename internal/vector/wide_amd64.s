//go:build !purego

#include "textflag.h"
#include "avx2_amd64.h"

// DOUBLE rounds sixteen float64 and writes them with store.
#define DOUBLE(store) \
	VCVTPD2PSY (SI), X0; \
	VCVTPD2PSY 32(SI), X1; \
	VCVTPD2PSY 64(SI), X2; \
	VCVTPD2PSY 96(SI), X3; \
	store X0, (DI); \
	store X1, 16(DI); \
	store X2, 32(DI); \
	store X3, 48(DI); \
	ADDQ $128, SI; \
	ADDQ $64, DI

// func float64Block(dst []float32, src []byte, stream bool)
TEXT ·float64Block(SB), NOSPLIT, $0-49
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ src_base+24(FP), SI
	MOVBLZX stream+48(FP), AX
	CONVERT(DOUBLE, AX)

// INTEGER rounds sixteen int32 and writes them with store.
#define INTEGER(store) \
	VCVTDQ2PS (SI), Y0; \
	VCVTDQ2PS 32(SI), Y1; \
	store Y0, (DI); \
	store Y1, 32(DI); \
	ADDQ $64, SI; \
	ADDQ $64, DI

// func int32Block(dst []float32, src []byte, stream bool)
TEXT ·int32Block(SB), NOSPLIT, $0-49
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ src_base+24(FP), SI
	MOVBLZX stream+48(FP), AX
	CONVERT(INTEGER, AX)

// WORDS converts sixteen integers of 16 bits, as linearBlock does those of 8, and
// writes them with store.
#define WORDS(store) \
	VPMOVZXWD (SI), Y0; \
	VPMOVZXWD 16(SI), Y1; \
	VPXOR Y5, Y0, Y0; \
	VPXOR Y5, Y1, Y1; \
	VPSUBD Y7, Y0, Y0; \
	VPSUBD Y7, Y1, Y1; \
	VCVTDQ2PS Y0, Y0; \
	VCVTDQ2PS Y1, Y1; \
	VMULPS Y6, Y0, Y0; \
	VMULPS Y6, Y1, Y1; \
	store Y0, (DI); \
	store Y1, 32(DI); \
	ADDQ $32, SI; \
	ADDQ $64, DI

// func linear16Block(dst []float32, src []byte, sign int32, scale float32, zero int32, stream bool)
TEXT ·linear16Block(SB), NOSPLIT, $0-61
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ src_base+24(FP), SI
	VBROADCASTSS sign+48(FP), Y5
	VBROADCASTSS scale+52(FP), Y6
	VBROADCASTSS zero+56(FP), Y7
	VPADDD Y5, Y7, Y7
	MOVBLZX stream+60(FP), AX
	CONVERT(WORDS, AX)
