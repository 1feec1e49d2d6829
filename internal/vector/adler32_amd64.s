//go:build !purego

#include "textflag.h"

// The weights of 32 bytes: 32 for the first, 1 for the last.
DATA weights<>+0(SB)/8, $0x191a1b1c1d1e1f20
DATA weights<>+8(SB)/8, $0x1112131415161718
DATA weights<>+16(SB)/8, $0x090a0b0c0d0e0f10
DATA weights<>+24(SB)/8, $0x0102030405060708
GLOBL weights<>(SB), RODATA|NOPTR, $32

// func adlerBlock(p []byte) (sum, moment uint64)
//
// Y0 holds the sum of the bytes in four parts, Y1 the sum of what Y0 was before
// each 32 bytes, Y2 the sum of the bytes times their weights in eight parts.
// The words that VPMADDUBSW makes of two bytes are at most 255*(32+31); two of
// them added stay below 2^15. A part of Y2 grows by at most 62,220 every 64 bytes.
TEXT ·adlerBlock(SB), NOSPLIT, $0-40
	MOVQ p_base+0(FP), SI
	MOVQ p_len+8(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y5, Y5, Y5
	VMOVDQU weights<>(SB), Y3
	VPCMPEQW Y4, Y4, Y4
	VPSRLW $15, Y4, Y4 // sixteen ones
	SHRQ $6, CX
	JZ done

loop:
	VMOVDQU (SI), Y6
	VMOVDQU 32(SI), Y7

	VPADDQ Y0, Y1, Y1
	VPSADBW Y5, Y6, Y8
	VPADDQ Y8, Y0, Y0
	VPADDQ Y0, Y1, Y1
	VPSADBW Y5, Y7, Y9
	VPADDQ Y9, Y0, Y0
	VPMADDUBSW Y3, Y6, Y6
	VPMADDUBSW Y3, Y7, Y7
	VPADDW Y6, Y7, Y7
	VPMADDWD Y4, Y7, Y7
	VPADDD Y7, Y2, Y2
	ADDQ $64, SI
	DECQ CX
	JNZ loop

done:
	// Each byte counts 32 times for every 32 bytes after its own.
	VPSLLQ $5, Y1, Y1
	VPSRLQ $32, Y2, Y6
	VPADDQ Y6, Y1, Y1
	VPSLLQ $32, Y2, Y2
	VPSRLQ $32, Y2, Y2
	VPADDQ Y2, Y1, Y1
	VEXTRACTI128 $1, Y1, X2
	VPADDQ X2, X1, X1
	VPSRLDQ $8, X1, X2
	VPADDQ X2, X1, X1
	VEXTRACTI128 $1, Y0, X2
	VPADDQ X2, X0, X0
	VPSRLDQ $8, X0, X2
	VPADDQ X2, X0, X0
	VMOVQ X0, sum+24(FP)
	VMOVQ X1, moment+32(FP)
	VZEROUPPER
	RET
