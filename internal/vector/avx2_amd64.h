// CONVERT ends a routine: it runs step for every sixteen of CX elements, which reads at SI, writes at DI
// and advances both. If stream is not 0, the output bypasses the caches.
#define CONVERT(step, stream) \
	SHRQ $4, CX; \
	JZ done; \
	TESTL stream, stream; \
	JNZ bypass; \
loop: \
	step(VMOVUPS); \
	DECQ CX; \
	JNZ loop; \
	JMP done; \
bypass: \
	PREFETCHT0 1024(SI); \
	step(VMOVNTPS); \
	DECQ CX; \
	JNZ bypass; \
	SFENCE; \
done: \
	VZEROUPPER; \
	RET
