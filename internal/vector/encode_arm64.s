//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// HALVES rounds the eight numbers in registers a and b, which are A and B, to V4. FCVTN
// sets the top bit of a NaN's payload: it is cleared again where the source lacks it and
// has another of the upper ten. V20 has those bits in each lane, V21 the top one.
#define HALVES(a, b, A, B) \
	FCVTN_S4(a, 4); \
	FCVTN2_S4(b, 4); \
	VUSHR $13, A.S4, V5.S4; \
	VUSHR $13, B.S4, V6.S4; \
	VUZP1 V6.H8, V5.H8, V5.H8; \
	FCMEQ_S4(a, a, 6); \
	FCMEQ_S4(b, b, 7); \
	VUZP1 V7.H8, V6.H8, V6.H8; \
	VCMTST V20.H8, V5.H8, V7.H8; \
	BIC_B16(7, 6, 6); \
	VAND V21.B16, V6.B16, V6.B16; \
	BIC_B16(6, 5, 6); \
	BIC_B16(4, 6, 4)

// func toHalfBlock(dst []byte, src []float32)
TEXT ·toHalfBlock(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD src_base+24(FP), R2
	MOVD src_len+32(FP), R1
	MOVD $0x3ff, R3
	VDUP R3, V20.H8
	MOVD $0x200, R3
	VDUP R3, V21.H8
	LSR $4, R1
	CBZ R1, done

loop:
	VLD1.P 64(R2), [V0.S4, V1.S4, V2.S4, V3.S4]
	HALVES(0, 1, V0, V1)
	VST1.P [V4.H8], 16(R0)
	HALVES(2, 3, V2, V3)
	VST1.P [V4.H8], 16(R0)
	SUB $1, R1
	CBNZ R1, loop

done:
	RET

// BRAINS rounds the eight numbers in registers a and b, which are A and B, to V4. A NaN
// becomes its upper half, with the top bit of the payload set if that is zero.
#define BRAINS(a, b, A, B) \
	VUZP2 B.H8, A.H8, V5.H8; \
	VUSHR $16, A.S4, V6.S4; \
	VUSHR $16, B.S4, V7.S4; \
	VAND V20.B16, V6.B16, V6.B16; \
	VAND V20.B16, V7.B16, V7.B16; \
	VADD V21.S4, V6.S4, V6.S4; \
	VADD V21.S4, V7.S4, V7.S4; \
	VADD A.S4, V6.S4, V6.S4; \
	VADD B.S4, V7.S4, V7.S4; \
	VUZP2 V7.H8, V6.H8, V4.H8; \
	FCMEQ_S4(a, a, 6); \
	FCMEQ_S4(b, b, 7); \
	VUZP1 V7.H8, V6.H8, V6.H8; \
	VCMTST V22.H8, V5.H8, V7.H8; \
	BIC_B16(23, 7, 7); \
	VORR V7.B16, V5.B16, V5.B16; \
	VBIF V6.B16, V5.B16, V4.B16

// func toBrainBlock(dst []byte, src []float32)
TEXT ·toBrainBlock(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD src_base+24(FP), R2
	MOVD src_len+32(FP), R1
	MOVD $1, R3
	VDUP R3, V20.S4
	MOVD $0x7fff, R3
	VDUP R3, V21.S4
	MOVD $0x7f, R3
	VDUP R3, V22.H8
	MOVD $0x40, R3
	VDUP R3, V23.H8
	LSR $4, R1
	CBZ R1, done

loop:
	VLD1.P 64(R2), [V0.S4, V1.S4, V2.S4, V3.S4]
	BRAINS(0, 1, V0, V1)
	VST1.P [V4.H8], 16(R0)
	BRAINS(2, 3, V2, V3)
	VST1.P [V4.H8], 16(R0)
	SUB $1, R1
	CBNZ R1, loop

done:
	RET
