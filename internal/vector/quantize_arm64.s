//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// func rangeBlock(src []float32) (lo, hi float32, nan bool)
TEXT ·rangeBlock(SB), NOSPLIT, $0-33
	MOVD src_base+0(FP), R2
	MOVD src_len+8(FP), R1
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V19.B16, V19.B16, V19.B16
	LSR $4, R1
	CBZ R1, done

	// NaNs stay NaNs.
loop:
	VLD1.P 64(R2), [V0.S4, V1.S4, V2.S4, V3.S4]
	FMIN_S4(0, 16, 16)
	FMAX_S4(0, 18, 18)
	FMIN_S4(1, 17, 17)
	FMAX_S4(1, 19, 19)
	FMIN_S4(2, 16, 16)
	FMAX_S4(2, 18, 18)
	FMIN_S4(3, 17, 17)
	FMAX_S4(3, 19, 19)
	SUB $1, R1
	CBNZ R1, loop

done:
	FMIN_S4(16, 17, 16)
	FMAX_S4(18, 19, 18)
	FMINV_S4(16, 16)
	FMAXV_S4(18, 18)
	FMOVS F16, lo+24(FP)
	FMOVS F18, hi+28(FP)
	FCMPS F16, F16
	CSET VS, R0
	MOVB R0, nan+32(FP)
	RET

// BOUNDS widens the range of the columns in registers lo and hi by the numbers in n. Adding
// zero, which V20 holds, turns negative zeros into zero. V21 stays zero as long as all
// numbers are finite.
#define BOUNDS(n, lo, hi) \
	FMIN_S4(n, lo, lo); \
	FADD_S4(lo, 20, lo); \
	FMAX_S4(n, hi, hi); \
	FSUB_S4(n, n, 22); \
	VORR V22.B16, V21.B16, V21.B16

// func rangeRowBlock(src, lo, hi []float32) (finite bool)
TEXT ·rangeRowBlock(SB), NOSPLIT, $0-73
	MOVD src_base+0(FP), R2
	MOVD src_len+8(FP), R1
	MOVD lo_base+24(FP), R3
	MOVD hi_base+48(FP), R4
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	LSR $4, R1
	CBZ R1, done

loop:
	VLD1.P 64(R2), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1 (R3), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1 (R4), [V16.S4, V17.S4, V18.S4, V19.S4]
	BOUNDS(0, 4, 16)
	BOUNDS(1, 5, 17)
	BOUNDS(2, 6, 18)
	BOUNDS(3, 7, 19)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R3)
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R4)
	SUB $1, R1
	CBNZ R1, loop

done:
	UMAXV_S4(21, 21)
	FMOVS F21, R0
	CMPW $0, R0
	CSET EQ, R0
	MOVB R0, finite+72(FP)
	RET

// STEPS quantizes the four float32 in register n to two pairs of int64 in a and b, and narrows
// these to int32 in A.
#define STEPS(n, a, b, A, B) \
	FCVTL_S2(n, a); \
	FCVTL2_S4(n, b); \
	FMUL_D2(a, 20, a); \
	FMUL_D2(b, 20, b); \
	FMIN_D2(a, 22, a); \
	FMIN_D2(b, 22, b); \
	FMAX_D2(a, 21, a); \
	FMAX_D2(b, 21, b); \
	FADD_D2(a, 23, a); \
	FADD_D2(b, 23, b); \
	FSUB_D2(a, 23, a); \
	FSUB_D2(b, 23, b); \
	FCVTNS_D2(a, a); \
	FCVTNS_D2(b, b); \
	VUZP1 B.S4, A.S4, A.S4; \
	VADD V24.S4, A.S4, A.S4

// func quantizeBlock(dst []byte, src []float32, s *Steps)
TEXT ·quantizeBlock(SB), NOSPLIT, $0-56
	MOVD dst_base+0(FP), R0
	MOVD src_base+24(FP), R2
	MOVD src_len+32(FP), R1
	MOVD s+48(FP), R4
	MOVD (R4), R3
	VDUP R3, V20.D2
	MOVD 8(R4), R3
	VDUP R3, V21.D2
	MOVD 16(R4), R3
	VDUP R3, V22.D2
	MOVD $0x4158000000000000, R3 // 3<<21, whose unit in the last place is 2^-30
	VDUP R3, V23.D2
	FMOVD 24(R4), F24
	FCVTZSDW F24, R3
	VDUP R3, V24.S4
	LSR $4, R1
	CBZ R1, done

loop:
	VLD1.P 64(R2), [V0.S4, V1.S4, V2.S4, V3.S4]
	STEPS(0, 4, 5, V4, V5)
	STEPS(1, 6, 7, V6, V7)
	STEPS(2, 16, 17, V16, V17)
	STEPS(3, 18, 19, V18, V19)
	VUZP1 V6.H8, V4.H8, V4.H8
	VUZP1 V18.H8, V16.H8, V16.H8
	VUZP1 V16.B16, V4.B16, V4.B16
	VST1.P [V4.B16], 16(R0)
	SUB $1, R1
	CBNZ R1, loop

done:
	RET

// COLUMNS quantizes the two float64 in register n, which is N, to two int64 with the next two Steps.
#define COLUMNS(n, N) \
	VLD4.P 64(R3), [V24.D2, V25.D2, V26.D2, V27.D2]; \
	FMUL_D2(n, 24, n); \
	FMIN_D2(n, 26, n); \
	FMAX_D2(n, 25, n); \
	FADD_D2(n, 23, n); \
	FSUB_D2(n, 23, n); \
	FCVTNS_D2(n, n); \
	FCVTNS_D2(27, 27); \
	VADD V27.D2, N.D2, N.D2

// func quantizeRowBlock(dst []byte, src []float32, s []Steps)
TEXT ·quantizeRowBlock(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R0
	MOVD src_base+24(FP), R2
	MOVD src_len+32(FP), R1
	MOVD $0x4158000000000000, R3 // 3<<21, whose unit in the last place is 2^-30
	VDUP R3, V23.D2
	MOVD s_base+48(FP), R3
	LSR $4, R1
	CBZ R1, done

loop:
	VLD1.P 64(R2), [V0.S4, V1.S4, V2.S4, V3.S4]
	FCVTL_S2(0, 4)
	FCVTL2_S4(0, 5)
	FCVTL_S2(1, 6)
	FCVTL2_S4(1, 7)
	FCVTL_S2(2, 16)
	FCVTL2_S4(2, 17)
	FCVTL_S2(3, 18)
	FCVTL2_S4(3, 19)
	COLUMNS(4, V4)
	COLUMNS(5, V5)
	COLUMNS(6, V6)
	COLUMNS(7, V7)
	COLUMNS(16, V16)
	COLUMNS(17, V17)
	COLUMNS(18, V18)
	COLUMNS(19, V19)
	VUZP1 V5.S4, V4.S4, V4.S4
	VUZP1 V7.S4, V6.S4, V6.S4
	VUZP1 V17.S4, V16.S4, V16.S4
	VUZP1 V19.S4, V18.S4, V18.S4
	VUZP1 V6.H8, V4.H8, V4.H8
	VUZP1 V18.H8, V16.H8, V16.H8
	VUZP1 V16.B16, V4.B16, V4.B16
	VST1.P [V4.B16], 16(R0)
	SUB $1, R1
	CBNZ R1, loop

done:
	RET

// ZEROS counts the zeros in register n in V12, and those in m alone in V13. V14 stays zero as
// long as all numbers are finite.
#define ZEROS(n, m) \
	FSUB_S4(n, n, 8); \
	VORR V8.B16, V14.B16, V14.B16; \
	FCMEQ0_S4(n, 8); \
	FCMEQ0_S4(m, 9); \
	BIC_B16(9, 8, 9); \
	VSUB V8.S4, V12.S4, V12.S4; \
	VSUB V9.S4, V13.S4, V13.S4

// SUMS adds the errors of the two numbers in register v, whose quantized values are in r.
#define SUMS(v, r, worst, abs, noise, signal) \
	FABD_D2(v, r, r); \
	FMAXNM_D2(r, worst, worst); \
	FADD_D2(r, abs, abs); \
	FMUL_D2(r, r, r); \
	FADD_D2(r, noise, noise); \
	FMUL_D2(v, v, v); \
	FADD_D2(v, signal, signal)

// func errorsBlock(e *Errors, numbers, stand []float32) (ok bool)
TEXT ·errorsBlock(SB), NOSPLIT, $0-57
	MOVD e+0(FP), R0
	MOVD numbers_base+8(FP), R2
	MOVD numbers_len+16(FP), R1
	MOVD stand_base+32(FP), R3
	MOVD R0, R4
	VLD1.P 64(R4), [V16.D2, V17.D2, V18.D2, V19.D2]
	VLD1.P 64(R4), [V20.D2, V21.D2, V22.D2, V23.D2]
	VLD1.P 64(R4), [V24.D2, V25.D2, V26.D2, V27.D2]
	VLD1.P 64(R4), [V28.D2, V29.D2, V30.D2, V31.D2]
	VEOR V12.B16, V12.B16, V12.B16
	VEOR V13.B16, V13.B16, V13.B16
	VEOR V14.B16, V14.B16, V14.B16
	MOVD R1, R5
	LSR $3, R1

loop:
	VLD1.P 32(R2), [V0.S4, V1.S4]
	VLD1.P 32(R3), [V2.S4, V3.S4]
	ZEROS(0, 2)
	ZEROS(1, 3)
	FCVTL_S2(0, 4)
	FCVTL2_S4(0, 5)
	FCVTL_S2(2, 6)
	FCVTL2_S4(2, 7)
	SUMS(4, 6, 16, 20, 24, 28)
	SUMS(5, 7, 17, 21, 25, 29)
	FCVTL_S2(1, 4)
	FCVTL2_S4(1, 5)
	FCVTL_S2(3, 6)
	FCVTL2_S4(3, 7)
	SUMS(4, 6, 18, 22, 26, 30)
	SUMS(5, 7, 19, 23, 27, 31)
	SUB $1, R1
	CBNZ R1, loop

	UMAXV_S4(14, 14)
	FMOVS F14, R6
	CBNZ R6, special
	VST1.P [V16.D2, V17.D2, V18.D2, V19.D2], 64(R0)
	VST1.P [V20.D2, V21.D2, V22.D2, V23.D2], 64(R0)
	VST1.P [V24.D2, V25.D2, V26.D2, V27.D2], 64(R0)
	VST1.P [V28.D2, V29.D2, V30.D2, V31.D2], 64(R0)
	VADDV V12.S4, V12
	VADDV V13.S4, V13
	VMOV V12.S[0], R6
	VMOV V13.S[0], R7
	SUB R6, R5, R6
	MOVD (R0), R8
	ADD R6, R8
	MOVD R8, (R0)
	MOVD 8(R0), R8
	ADD R7, R8
	MOVD R8, 8(R0)
	MOVD $1, R6
	MOVB R6, ok+56(FP)
	RET

special:
	MOVB ZR, ok+56(FP)
	RET
