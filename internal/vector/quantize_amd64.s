//go:build !purego

#include "textflag.h"

// FOLD reduces the eight numbers in y with op and leaves the result in all of the lower half
// of y. x is the lower half of y; t is scratch.
#define FOLD(op, y, x, t) \
	VEXTRACTF128 $1, y, t; \
	op t, x, x; \
	VPERMILPS $0x4e, x, t; \
	op t, x, x; \
	VPERMILPS $0xb1, x, t; \
	op t, x, x

// func rangeBlock(src []float32) (lo, hi float32, nan bool)
TEXT ·rangeBlock(SB), NOSPLIT, $0-33
	MOVQ src_base+0(FP), SI
	MOVQ src_len+8(FP), CX
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	SHRQ $4, CX
	JZ done

	// Of a NaN and another number, and of two zeros, the first operand is the result.
loop:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMINPS Y2, Y0, Y2
	VMAXPS Y4, Y0, Y4
	VMINPS Y3, Y1, Y3
	VMAXPS Y5, Y1, Y5
	VCMPPS $3, Y0, Y1, Y0
	VORPS Y0, Y6, Y6
	ADDQ $64, SI
	DECQ CX
	JNZ loop

done:
	VMINPS Y3, Y2, Y2
	VMAXPS Y5, Y4, Y4
	FOLD(VMINPS, Y2, X2, X0)
	FOLD(VMAXPS, Y4, X4, X0)
	VMOVSS X2, lo+24(FP)
	VMOVSS X4, hi+28(FP)
	VMOVMSKPS Y6, AX
	TESTL AX, AX
	SETNE nan+32(FP)
	VZEROUPPER
	RET

// func rangeRowBlock(src, lo, hi []float32) (finite bool)
TEXT ·rangeRowBlock(SB), NOSPLIT, $0-73
	MOVQ src_base+0(FP), SI
	MOVQ src_len+8(FP), CX
	MOVQ lo_base+24(FP), R8
	MOVQ hi_base+48(FP), R9
	VXORPS Y6, Y6, Y6
	SHRQ $4, CX
	JZ done

loop:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMINPS (R8), Y0, Y2
	VMINPS 32(R8), Y1, Y3
	VMAXPS (R9), Y0, Y4
	VMAXPS 32(R9), Y1, Y5
	VMOVUPS Y2, (R8)
	VMOVUPS Y3, 32(R8)
	VMOVUPS Y4, (R9)
	VMOVUPS Y5, 32(R9)
	VSUBPS Y0, Y0, Y0
	VSUBPS Y1, Y1, Y1
	VORPS Y0, Y6, Y6
	VORPS Y1, Y6, Y6
	ADDQ $64, SI
	ADDQ $64, R8
	ADDQ $64, R9
	DECQ CX
	JNZ loop

done:
	VPTEST Y6, Y6
	SETEQ finite+72(FP)
	VZEROUPPER
	RET

DATA snap<>+0(SB)/8, $0x4158000000000000 // 3<<21, whose unit in the last place is 2^-30
GLOBL snap<>(SB), RODATA|NOPTR, $8
DATA magnitude<>+0(SB)/8, $0x7fffffffffffffff
GLOBL magnitude<>(SB), RODATA|NOPTR, $8

// STEPS quantizes four float32 at off to int32 in x, which is the lower half of y.
#define STEPS(off, y, x) \
	VCVTPS2PD off(SI), y; \
	VMULPD Y8, y, y; \
	VMINPD y, Y10, y; \
	VMAXPD y, Y9, y; \
	VADDPD Y11, y, y; \
	VSUBPD Y11, y, y; \
	VCVTPD2DQY y, x; \
	VPADDD X12, x, x; \
	VPAND X13, x, x

// func quantizeBlock(dst []byte, src []float32, s *Steps)
TEXT ·quantizeBlock(SB), NOSPLIT, $0-56
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ src_len+32(FP), CX
	MOVQ s+48(FP), AX
	VBROADCASTSD (AX), Y8
	VBROADCASTSD 8(AX), Y9
	VBROADCASTSD 16(AX), Y10
	VBROADCASTSD snap<>(SB), Y11
	VCVTTPD2DQX 24(AX), X12
	VPBROADCASTD X12, X12
	VPCMPEQD X13, X13, X13
	VPSRLD $24, X13, X13
	SHRQ $4, CX
	JZ done

loop:
	STEPS(0, Y0, X0)
	STEPS(16, Y1, X1)
	STEPS(32, Y2, X2)
	STEPS(48, Y3, X3)
	VPACKUSDW X1, X0, X0
	VPACKUSDW X3, X2, X2
	VPACKUSWB X2, X0, X0
	VMOVDQU X0, (DI)
	ADDQ $64, SI
	ADDQ $16, DI
	DECQ CX
	JNZ loop

done:
	VZEROUPPER
	RET

// COLUMNS quantizes four float32 at off to int32 in x, with the four Steps at AX, and advances
// AX.
#define COLUMNS(off, x) \
	VMOVUPD (AX), X4; \
	VMOVUPD 32(AX), X5; \
	VMOVUPD 16(AX), X6; \
	VMOVUPD 48(AX), X7; \
	VINSERTF128 $1, 64(AX), Y4, Y4; \
	VINSERTF128 $1, 96(AX), Y5, Y5; \
	VINSERTF128 $1, 80(AX), Y6, Y6; \
	VINSERTF128 $1, 112(AX), Y7, Y7; \
	VUNPCKLPD Y5, Y4, Y8; \
	VUNPCKHPD Y5, Y4, Y9; \
	VUNPCKLPD Y7, Y6, Y10; \
	VUNPCKHPD Y7, Y6, Y12; \
	VCVTPS2PD off(SI), Y4; \
	VMULPD Y8, Y4, Y4; \
	VMINPD Y4, Y10, Y4; \
	VMAXPD Y4, Y9, Y4; \
	VADDPD Y11, Y4, Y4; \
	VSUBPD Y11, Y4, Y4; \
	VCVTPD2DQY Y4, X4; \
	VCVTPD2DQY Y12, X5; \
	VPADDD X5, X4, X4; \
	VPAND X13, X4, x; \
	ADDQ $128, AX

// func quantizeRowBlock(dst []byte, src []float32, s []Steps)
TEXT ·quantizeRowBlock(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ src_len+32(FP), CX
	MOVQ s_base+48(FP), AX
	VBROADCASTSD snap<>(SB), Y11
	VPCMPEQD X13, X13, X13
	VPSRLD $24, X13, X13
	SHRQ $4, CX
	JZ done

loop:
	COLUMNS(0, X0)
	COLUMNS(16, X1)
	COLUMNS(32, X2)
	COLUMNS(48, X3)
	VPACKUSDW X1, X0, X0
	VPACKUSDW X3, X2, X2
	VPACKUSWB X2, X0, X0
	VMOVDQU X0, (DI)
	ADDQ $64, SI
	ADDQ $16, DI
	DECQ CX
	JNZ loop

done:
	VZEROUPPER
	RET

// func errorsBlock(e *Errors, numbers, stand []float32) (ok bool)
TEXT ·errorsBlock(SB), NOSPLIT, $0-57
	MOVQ e+0(FP), DI
	MOVQ numbers_base+8(FP), SI
	MOVQ numbers_len+16(FP), CX
	MOVQ stand_base+32(FP), BX
	VMOVUPD (DI), Y8
	VMOVUPD 32(DI), Y9
	VMOVUPD 64(DI), Y10
	VMOVUPD 96(DI), Y11
	VMOVUPD 128(DI), Y12
	VMOVUPD 160(DI), Y13
	VMOVUPD 192(DI), Y14
	VMOVUPD 224(DI), Y15
	VXORPS Y4, Y4, Y4
	VXORPS Y6, Y6, Y6         // counts
	VXORPS Y7, Y7, Y7         // zero as long as all numbers are finite
	VBROADCASTSD magnitude<>(SB), Y5
	SHRQ $3, CX

loop:
	VMOVUPS (SI), Y0
	VSUBPS Y0, Y0, Y1
	VORPS Y1, Y7, Y7
	VCMPPS $4, Y4, Y0, Y2     // not zero
	VCMPPS $0, (BX), Y4, Y3
	VANDPS Y2, Y3, Y3         // not zero, but quantized to zero
	VPACKSSDW Y3, Y2, Y2
	VPSUBW Y2, Y6, Y6
	VCVTPS2PD (SI), Y0
	VCVTPS2PD (BX), Y1
	VCVTPS2PD 16(SI), Y2
	VCVTPS2PD 16(BX), Y3
	VSUBPD Y1, Y0, Y1
	VSUBPD Y3, Y2, Y3
	VANDPD Y5, Y1, Y1
	VANDPD Y5, Y3, Y3
	VMAXPD Y8, Y1, Y8         // unchanged where an error is NaN
	VMAXPD Y9, Y3, Y9
	VADDPD Y1, Y10, Y10
	VADDPD Y3, Y11, Y11
	VMULPD Y1, Y1, Y1
	VMULPD Y3, Y3, Y3
	VADDPD Y1, Y12, Y12
	VADDPD Y3, Y13, Y13
	VMULPD Y0, Y0, Y0
	VMULPD Y2, Y2, Y2
	VADDPD Y0, Y14, Y14
	VADDPD Y2, Y15, Y15
	ADDQ $32, SI
	ADDQ $32, BX
	DECQ CX
	JNZ loop

	VPTEST Y7, Y7
	JNZ special
	VMOVUPD Y8, (DI)
	VMOVUPD Y9, 32(DI)
	VMOVUPD Y10, 64(DI)
	VMOVUPD Y11, 96(DI)
	VMOVUPD Y12, 128(DI)
	VMOVUPD Y13, 160(DI)
	VMOVUPD Y14, 192(DI)
	VMOVUPD Y15, 224(DI)

	// Four words of each half count what is not zero, four what became zero.
	VPCMPEQW Y0, Y0, Y0
	VPSRLW $15, Y0, Y0
	VPMADDWD Y0, Y6, Y6
	VEXTRACTI128 $1, Y6, X0
	VPADDD X0, X6, X6
	VPHADDD X6, X6, X6
	VMOVQ X6, AX
	MOVL AX, DX
	SHRQ $32, AX
	ADDQ DX, 256(DI)
	ADDQ AX, 264(DI)
	MOVB $1, ok+56(FP)
	VZEROUPPER
	RET

special:
	MOVB $0, ok+56(FP)
	VZEROUPPER
	RET
