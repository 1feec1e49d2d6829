//go:build !purego

#include "textflag.h"

// func Prefetch(p []byte)
TEXT ·Prefetch(SB), NOSPLIT, $0-24
	MOVQ p_base+0(FP), SI
	MOVQ p_len+8(FP), CX
	ADDQ $63, CX
	SHRQ $6, CX
	JZ done

loop:
	PREFETCHT0 (SI)
	ADDQ $64, SI
	DECQ CX
	JNZ loop

done:
	RET
