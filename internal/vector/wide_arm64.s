//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"

// func float64Block(dst []float32, src []byte, stream bool)
TEXT ·float64Block(SB), NOSPLIT, $0-49
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R1
	MOVD src_base+24(FP), R2
	LSR $4, R1
	CBZ R1, done

loop:
	VLD1.P 64(R2), [V0.D2, V1.D2, V2.D2, V3.D2]
	VLD1.P 64(R2), [V4.D2, V5.D2, V6.D2, V7.D2]
	FCVTN_D2(0, 16)
	FCVTN2_D2(1, 16)
	FCVTN_D2(2, 17)
	FCVTN2_D2(3, 17)
	FCVTN_D2(4, 18)
	FCVTN2_D2(5, 18)
	FCVTN_D2(6, 19)
	FCVTN2_D2(7, 19)
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R0)
	SUB $1, R1
	CBNZ R1, loop

done:
	RET

// func int32Block(dst []float32, src []byte, stream bool)
TEXT ·int32Block(SB), NOSPLIT, $0-49
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R1
	MOVD src_base+24(FP), R2
	LSR $4, R1
	CBZ R1, done

loop:
	VLD1.P 64(R2), [V4.S4, V5.S4, V6.S4, V7.S4]
	SCVTF_S4(4, 4)
	SCVTF_S4(5, 5)
	SCVTF_S4(6, 6)
	SCVTF_S4(7, 7)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	SUB $1, R1
	CBNZ R1, loop

done:
	RET

// func linear16Block(dst []float32, src []byte, sign int32, scale float32, zero int32, stream bool)
TEXT ·linear16Block(SB), NOSPLIT, $0-61
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R1
	MOVD src_base+24(FP), R2
	MOVW sign+48(FP), R3
	MOVWU scale+52(FP), R4
	MOVW zero+56(FP), R5
	ADD R3, R5
	VDUP R3, V20.S4
	VDUP R4, V21.S4
	VDUP R5, V22.S4
	LSR $4, R1
	CBZ R1, done

loop:
	VLD1.P 32(R2), [V0.H8, V1.H8]
	VUXTL V0.H4, V4.S4
	VUXTL2 V0.H8, V5.S4
	VUXTL V1.H4, V6.S4
	VUXTL2 V1.H8, V7.S4
	VEOR V20.B16, V4.B16, V4.B16
	VEOR V20.B16, V5.B16, V5.B16
	VEOR V20.B16, V6.B16, V6.B16
	VEOR V20.B16, V7.B16, V7.B16
	VSUB V22.S4, V4.S4, V4.S4
	VSUB V22.S4, V5.S4, V5.S4
	VSUB V22.S4, V6.S4, V6.S4
	VSUB V22.S4, V7.S4, V7.S4
	SCVTF_S4(4, 4)
	SCVTF_S4(5, 5)
	SCVTF_S4(6, 6)
	SCVTF_S4(7, 7)
	FMUL_S4(4, 21, 4)
	FMUL_S4(5, 21, 5)
	FMUL_S4(6, 21, 6)
	FMUL_S4(7, 21, 7)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	SUB $1, R1
	CBNZ R1, loop

done:
	RET
