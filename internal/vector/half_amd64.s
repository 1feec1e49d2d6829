//go:build !purego

#include "textflag.h"
#include "avx2_amd64.h"

// HALF widens sixteen float16 and writes them with store. VCVTPH2PS sets the top
// bit of a NaN's payload, the quiet bit, which Y7 has alone: where the result is
// a NaN and its source lacked that bit, it is cleared again.
#define HALF(store) \
	VMOVDQU (SI), X0; \
	VMOVDQU 16(SI), X2; \
	VPMOVZXWD X0, Y1; \
	VPMOVZXWD X2, Y3; \
	VCVTPH2PS X0, Y0; \
	VCVTPH2PS X2, Y2; \
	VCMPPS $3, Y0, Y0, Y4; \
	VCMPPS $3, Y2, Y2, Y5; \
	VPSLLD $13, Y1, Y1; \
	VPSLLD $13, Y3, Y3; \
	VPANDN Y7, Y1, Y1; \
	VPANDN Y7, Y3, Y3; \
	VPAND Y4, Y1, Y1; \
	VPAND Y5, Y3, Y3; \
	VPXOR Y1, Y0, Y0; \
	VPXOR Y3, Y2, Y2; \
	store Y0, (DI); \
	store Y2, 32(DI); \
	ADDQ $32, SI; \
	ADDQ $64, DI

// func float16Block(dst []float32, src []byte, stream bool)
TEXT ·float16Block(SB), NOSPLIT, $0-49
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ src_base+24(FP), SI
	MOVBLZX stream+48(FP), AX
	VPCMPEQD Y7, Y7, Y7
	VPSRLD $31, Y7, Y7
	VPSLLD $22, Y7, Y7
	CONVERT(HALF, AX)

// BRAIN widens sixteen bfloat16 and writes them with store.
#define BRAIN(store) \
	VPMOVZXWD (SI), Y0; \
	VPMOVZXWD 16(SI), Y1; \
	VPSLLD $16, Y0, Y0; \
	VPSLLD $16, Y1, Y1; \
	store Y0, (DI); \
	store Y1, 32(DI); \
	ADDQ $32, SI; \
	ADDQ $64, DI

// func bfloat16Block(dst []float32, src []byte, stream bool)
TEXT ·bfloat16Block(SB), NOSPLIT, $0-49
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ src_base+24(FP), SI
	MOVBLZX stream+48(FP), AX
	CONVERT(BRAIN, AX)
