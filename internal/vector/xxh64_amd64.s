//go:build !purego

#include "textflag.h"

// The first two primes of XXH64.
DATA xxhPrimes<>+0(SB)/8, $0x9e3779b185ebca87
DATA xxhPrimes<>+8(SB)/8, $0xc2b2ae3d27d4eb4f
GLOBL xxhPrimes<>(SB), RODATA|NOPTR, $16

// PRODUCTS multiplies four words of p by the second prime, for ROUND to add.
#define PRODUCTS(from, to) \
	VPMULLQ from(SI), Y0, Y1; \
	VMOVDQU Y1, to(DI)

// LANE adds a product to a lane, turns and multiplies it.
#define LANE(product, lane) \
	ADDQ product(DI), lane; \
	ROLQ $31, lane; \
	IMULQ R12, lane

#define ROUND(a, b, c, d) \
	LANE(a, R8); \
	LANE(b, R9); \
	LANE(c, R10); \
	LANE(d, R11)

// func xxhBlock(w *xxhWork, p []byte)
//
// Half of the multiplications depend on the round before. The others do not, and
// are made four at a time in vectors: a processor multiplies one pair of words a cycle
// otherwise, which is what limits the twin.
TEXT ·xxhBlock(SB), NOSPLIT, $0-32
	MOVQ w+0(FP), DI
	MOVQ p_base+8(FP), SI
	MOVQ p_len+16(FP), CX
	MOVQ 0(DI), R8
	MOVQ 8(DI), R9
	MOVQ 16(DI), R10
	MOVQ 24(DI), R11
	MOVQ xxhPrimes<>+0(SB), R12
	VPBROADCASTQ xxhPrimes<>+8(SB), Y0
	SHRQ $7, CX
	JZ done

loop:
	PRODUCTS(0, 32)
	PRODUCTS(32, 64)
	PRODUCTS(64, 96)
	PRODUCTS(96, 128)
	ROUND(32, 40, 48, 56)
	ROUND(64, 72, 80, 88)
	ROUND(96, 104, 112, 120)
	ROUND(128, 136, 144, 152)
	ADDQ $128, SI
	DECQ CX
	JNZ loop

done:
	MOVQ R8, 0(DI)
	MOVQ R9, 8(DI)
	MOVQ R10, 16(DI)
	MOVQ R11, 24(DI)
	VZEROUPPER
	RET

// func vendor() uint32
TEXT ·vendor(SB), NOSPLIT, $0-4
	XORL AX, AX
	XORL CX, CX
	CPUID
	MOVL BX, ret+0(FP)
	RET

// BOTH does a round of four lanes of each sum.
#define BOTH(products, others) \
	VPADDQ products, Y0, Y0; \
	VPADDQ others, Y1, Y1; \
	VPROLQ $31, Y0, Y0; \
	VPROLQ $31, Y1, Y1; \
	VPMULLQ Y3, Y0, Y0; \
	VPMULLQ Y3, Y1, Y1

// func xxhPair(lanes *[2][4]uint64, p, q []byte)
TEXT ·xxhPair(SB), NOSPLIT, $0-56
	MOVQ lanes+0(FP), DI
	MOVQ p_base+8(FP), SI
	MOVQ p_len+16(FP), CX
	MOVQ q_base+32(FP), DX
	VMOVDQU (DI), Y0
	VMOVDQU 32(DI), Y1
	VPBROADCASTQ xxhPrimes<>+8(SB), Y2
	VPBROADCASTQ xxhPrimes<>+0(SB), Y3
	SHRQ $6, CX
	JZ done

loop:
	VPMULLQ (SI), Y2, Y4
	VPMULLQ (DX), Y2, Y5
	VPMULLQ 32(SI), Y2, Y6
	VPMULLQ 32(DX), Y2, Y7
	BOTH(Y4, Y5)
	BOTH(Y6, Y7)
	ADDQ $64, SI
	ADDQ $64, DX
	DECQ CX
	JNZ loop

done:
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VZEROUPPER
	RET
