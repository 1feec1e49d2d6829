//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// The weights of 32 bytes: 32 for the first, 1 for the last.
DATA weights<>+0(SB)/8, $0x191a1b1c1d1e1f20
DATA weights<>+8(SB)/8, $0x1112131415161718
DATA weights<>+16(SB)/8, $0x090a0b0c0d0e0f10
DATA weights<>+24(SB)/8, $0x0102030405060708
GLOBL weights<>(SB), RODATA|NOPTR, $32

// func adlerBlock(p []byte) (sum, moment uint64)
//
// V20 holds the sum of the bytes in four parts, V21 the sum of what V20 was before
// each 32 bytes, V22 the sum of the bytes times their weights in four parts.
// Within a block a part of V21 stays below 2040*2048*2047/2, which is less than 2^32.
TEXT ·adlerBlock(SB), NOSPLIT, $0-40
	MOVD p_base+0(FP), R0
	MOVD p_len+8(FP), R1
	MOVD $weights<>(SB), R2
	VLD1 (R2), [V16.B16, V17.B16]
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	VEOR V22.B16, V22.B16, V22.B16
	LSR $6, R1
	CBZ R1, done

loop:
	VLD1.P 64(R0), [V0.B16, V1.B16, V2.B16, V3.B16]
	VADD V20.S4, V21.S4, V21.S4
	UADDLP_B16(0, 4)
	UADALP_B16(1, 4)
	UADALP_H8(4, 20)
	VADD V20.S4, V21.S4, V21.S4
	UADDLP_B16(2, 5)
	UADALP_B16(3, 5)
	UADALP_H8(5, 20)
	// Four products of at most 255*32 in each word of V6 and V7.
	UMULL_B8(0, 16, 6)
	UMULL2_B16(0, 16, 7)
	UMLAL_B8(1, 17, 6)
	UMLAL2_B16(1, 17, 7)
	UMLAL_B8(2, 16, 6)
	UMLAL2_B16(2, 16, 7)
	UMLAL_B8(3, 17, 6)
	UMLAL2_B16(3, 17, 7)
	UADALP_H8(6, 22)
	UADALP_H8(7, 22)
	SUB $1, R1
	CBNZ R1, loop

done:
	VUADDLV V20.S4, V0
	VUADDLV V21.S4, V1
	VUADDLV V22.S4, V2
	VMOV V0.D[0], R3
	VMOV V1.D[0], R4
	VMOV V2.D[0], R5
	ADD R4<<5, R5, R5
	MOVD R3, sum+24(FP)
	MOVD R5, moment+32(FP)
	RET
