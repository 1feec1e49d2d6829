//go:build !purego

#include "textflag.h"

// func features() (ebx, saved uint32)
TEXT ·features(SB), NOSPLIT, $0-8
	MOVL $0, ebx+0(FP)
	MOVL $0, saved+4(FP)
	XORL AX, AX
	XORL CX, CX
	CPUID
	CMPL AX, $7
	JLT  none
	MOVL $1, AX
	XORL CX, CX
	CPUID
	BTL  $27, CX // XGETBV may be asked
	JCC  none
	XORL CX, CX
	XGETBV
	MOVL AX, saved+4(FP)
	MOVL $7, AX
	XORL CX, CX
	CPUID
	MOVL BX, ebx+0(FP)
none:
	RET

// func f16c() bool
TEXT ·f16c(SB), NOSPLIT, $0-1
	MOVL $1, AX
	XORL CX, CX
	CPUID
	SHRL $29, CX
	ANDL $1, CX
	MOVB CX, ret+0(FP)
	RET
