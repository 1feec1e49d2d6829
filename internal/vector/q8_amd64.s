//go:build !purego

#include "textflag.h"

DATA order<>+0(SB)/8, $0x0000000400000000
DATA order<>+8(SB)/8, $0x0000000500000001
DATA order<>+16(SB)/8, $0x0000000600000002
DATA order<>+24(SB)/8, $0x0000000700000003
GLOBL order<>(SB), RODATA|NOPTR, $32
DATA one<>+0(SB)/4, $0x3f800000
GLOBL one<>(SB), RODATA|NOPTR, $4
DATA steps<>+0(SB)/4, $0x42fe0000 // 127
GLOBL steps<>(SB), RODATA|NOPTR, $4
DATA half<>+0(SB)/4, $0x3effffff // just under a half
GLOBL half<>(SB), RODATA|NOPTR, $4

// AWAY rounds the numbers in y times the inverse of the scale in Y5, halves away from zero.
#define AWAY(y, t) \
	VMULPS Y5, y, y; \
	VANDNPS y, Y6, t; \
	VORPS Y7, t, t; \
	VADDPS t, y, y; \
	VCVTTPS2DQ y, y

// func q8Block(dst []byte, src []float32) (blocks int)
TEXT ·q8Block(SB), NOSPLIT, $0-56
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ src_len+32(FP), CX
	SHRQ $5, CX
	MOVQ CX, DX
	VPCMPEQD Y6, Y6, Y6
	VPSRLD $1, Y6, Y6          // all but the sign
	VBROADCASTSS half<>(SB), Y7
	VMOVDQU order<>(SB), Y8
	TESTQ CX, CX
	JZ done

loop:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMOVUPS 64(SI), Y2
	VMOVUPS 96(SI), Y3
	VPAND Y6, Y0, Y4
	VPAND Y6, Y1, Y5
	VPAND Y6, Y2, Y9
	VPAND Y6, Y3, Y10
	VPMAXUD Y5, Y4, Y4
	VPMAXUD Y10, Y9, Y9
	VPMAXUD Y9, Y4, Y4
	VEXTRACTI128 $1, Y4, X5
	VPMAXUD X5, X4, X4
	VPSHUFD $0x4e, X4, X5
	VPMAXUD X5, X4, X4
	VPSHUFD $0xb1, X4, X5
	VPMAXUD X5, X4, X4
	VMOVD X4, AX
	CMPL AX, $0x4afde040       // 127 times the largest float16: the Go version handles larger numbers
	JHI done
	VDIVSS steps<>(SB), X4, X4
	VCVTPS2PH $0, X4, X5
	VMOVD X5, AX
	MOVW AX, (DI)
	VXORPS X5, X5, X5
	TESTW AX, AX
	JZ ready
	VMOVSS one<>(SB), X5
	VDIVSS X4, X5, X5

ready:
	VBROADCASTSS X5, Y5
	AWAY(Y0, Y4)
	AWAY(Y1, Y9)
	AWAY(Y2, Y10)
	AWAY(Y3, Y11)
	VPACKSSDW Y1, Y0, Y0
	VPACKSSDW Y3, Y2, Y2
	VPACKSSWB Y2, Y0, Y0
	VPERMD Y0, Y8, Y0
	VMOVDQU Y0, 2(DI)
	ADDQ $128, SI
	ADDQ $34, DI
	DECQ CX
	JNZ loop

done:
	SUBQ CX, DX
	MOVQ DX, blocks+48(FP)
	VZEROUPPER
	RET
