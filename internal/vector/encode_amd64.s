//go:build !purego

#include "textflag.h"

// func toHalfBlock(dst []byte, src []float32)
TEXT ·toHalfBlock(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ src_len+32(FP), CX
	SHRQ $4, CX
	JZ done

loop:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VCVTPS2PH $0, Y0, X2
	VCVTPS2PH $0, Y1, X3
	VCMPPS $3, Y0, Y1, Y4
	VMOVMSKPS Y4, AX
	TESTL AX, AX
	JNZ nan

store:
	VMOVDQU X2, (DI)
	VMOVDQU X3, 16(DI)
	ADDQ $64, SI
	ADDQ $32, DI
	DECQ CX
	JNZ loop

done:
	VZEROUPPER
	RET

	// VCVTPS2PH sets the top bit of a NaN's payload. It is cleared again where
	// the source lacks it and has another of the upper ten.
nan:
	VINSERTI128 $1, X3, Y2, Y2
	VCMPPS $3, Y0, Y0, Y4
	VCMPPS $3, Y1, Y1, Y5
	VPACKSSDW Y5, Y4, Y4
	VPERMQ $0xd8, Y4, Y4   // which of the sixteen are NaN
	VPSLLD $9, Y0, Y0
	VPSLLD $9, Y1, Y1
	VPSRLD $22, Y0, Y0
	VPSRLD $22, Y1, Y1
	VPACKUSDW Y1, Y0, Y0
	VPERMQ $0xd8, Y0, Y0   // the upper ten bits of their payloads
	VPXOR Y6, Y6, Y6
	VPCMPEQW Y6, Y0, Y5
	VPANDN Y4, Y5, Y4      // which are NaN and have one of these bits
	VPCMPEQW Y6, Y6, Y6
	VPSRLW $15, Y6, Y6
	VPSLLW $9, Y6, Y6      // the top bit
	VPANDN Y6, Y0, Y0
	VPAND Y4, Y0, Y0
	VPXOR Y0, Y2, Y2
	VEXTRACTI128 $1, Y2, X3
	JMP store

// func toBrainBlock(dst []byte, src []float32)
TEXT ·toBrainBlock(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ src_len+32(FP), CX
	VPCMPEQD Y7, Y7, Y7
	VPSRLD $17, Y7, Y6     // just under half a unit
	VPSRLD $31, Y7, Y7     // one
	SHRQ $4, CX
	JZ done

loop:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VPSRLD $16, Y0, Y2
	VPSRLD $16, Y1, Y3
	VCMPPS $3, Y0, Y1, Y8
	VPAND Y7, Y2, Y4
	VPAND Y7, Y3, Y5
	VPADDD Y6, Y4, Y4
	VPADDD Y6, Y5, Y5
	VPADDD Y0, Y4, Y4
	VPADDD Y1, Y5, Y5
	VPSRLD $16, Y4, Y4
	VPSRLD $16, Y5, Y5
	VPACKUSDW Y5, Y4, Y4
	VMOVMSKPS Y8, AX
	TESTL AX, AX
	JNZ nan

store:
	VPERMQ $0xd8, Y4, Y4
	VMOVDQU Y4, (DI)
	ADDQ $64, SI
	ADDQ $32, DI
	DECQ CX
	JNZ loop

done:
	VZEROUPPER
	RET

	// A NaN becomes its upper half, with the top bit of the payload set if that is zero.
nan:
	VCMPPS $3, Y0, Y0, Y8
	VCMPPS $3, Y1, Y1, Y9
	VPACKSSDW Y9, Y8, Y8   // which of the sixteen are NaN
	VPACKUSDW Y3, Y2, Y2
	VPSLLW $9, Y2, Y3
	VPXOR Y9, Y9, Y9
	VPCMPEQW Y9, Y3, Y3    // which have no payload left
	VPSRLW $15, Y3, Y3
	VPSLLW $6, Y3, Y3
	VPOR Y3, Y2, Y2
	VPBLENDVB Y8, Y2, Y4, Y4
	JMP store
