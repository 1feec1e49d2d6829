// Instructions that Go's assembler has no names for, by the numbers of their
// registers: sources first, the destination last.

#define RR(n, d) ((n)<<5 | (d))
#define RRR(n, m, d) ((m)<<16 | (n)<<5 | (d))

// Sums of neighbors, and added to what the destination holds.
#define UADDLP_B16(n, d) WORD $(0x6e202800 | RR(n, d))
#define UADALP_B16(n, d) WORD $(0x6e206800 | RR(n, d))
#define UADALP_H8(n, d) WORD $(0x6e606800 | RR(n, d))

// Products of bytes as words, of the lower and the upper eight.
#define UMULL_B8(n, m, d) WORD $(0x2e20c000 | RRR(n, m, d))
#define UMULL2_B16(n, m, d) WORD $(0x6e20c000 | RRR(n, m, d))
#define UMLAL_B8(n, m, d) WORD $(0x2e208000 | RRR(n, m, d))
#define UMLAL2_B16(n, m, d) WORD $(0x6e208000 | RRR(n, m, d))

// Four float16 to float32, of the lower and the upper half.
#define FCVTL_H4(n, d) WORD $(0x0e217800 | RR(n, d))
#define FCVTL2_H8(n, d) WORD $(0x4e217800 | RR(n, d))

// Four int32 to float32, and arithmetic on those.
#define SCVTF_S4(n, d) WORD $(0x4e21d800 | RR(n, d))
#define FMUL_S4(n, m, d) WORD $(0x6e20dc00 | RRR(n, m, d))
#define FCMEQ_S4(n, m, d) WORD $(0x4e20e400 | RRR(n, m, d))
#define FADD_S4(n, m, d) WORD $(0x4e20d400 | RRR(n, m, d))
#define FSUB_S4(n, m, d) WORD $(0x4ea0d400 | RRR(n, m, d))

// Two float64 to float32, and four float32 to float16, to the lower and the upper half.
#define FCVTN_D2(n, d) WORD $(0x0e616800 | RR(n, d))
#define FCVTN2_D2(n, d) WORD $(0x4e616800 | RR(n, d))
#define FCVTN_S4(n, d) WORD $(0x0e216800 | RR(n, d))
#define FCVTN2_S4(n, d) WORD $(0x4e216800 | RR(n, d))

// The bits of n that m lacks.
#define BIC_B16(n, m, d) WORD $(0x4e601c00 | RRR(n, m, d))

// Bytes of n shifted left by those of m, or right where those are negative.
#define USHL_B16(n, m, d) WORD $(0x6e204400 | RRR(n, m, d))

// Signed bytes to words, and words to int32, of the lower and the upper half.
#define SXTL_B8(n, d) WORD $(0x0f08a400 | RR(n, d))
#define SXTL2_B16(n, d) WORD $(0x4f08a400 | RR(n, d))
#define SXTL_H4(n, d) WORD $(0x0f10a400 | RR(n, d))
#define SXTL2_H8(n, d) WORD $(0x4f10a400 | RR(n, d))

// FLOATS_B16 makes sixteen signed bytes the float32 in V4 to V7.
#define FLOATS_B16(n) \
	SXTL_B8(n, 5); \
	SXTL2_B16(n, 7); \
	SXTL_H4(5, 4); \
	SXTL2_H8(5, 5); \
	SXTL_H4(7, 6); \
	SXTL2_H8(7, 7); \
	SCVTF_S4(4, 4); \
	SCVTF_S4(5, 5); \
	SCVTF_S4(6, 6); \
	SCVTF_S4(7, 7)

// The smaller and the larger of four float32, and of all four; NaN if one is.
#define FMIN_S4(n, m, d) WORD $(0x4ea0f400 | RRR(n, m, d))
#define FMAX_S4(n, m, d) WORD $(0x4e20f400 | RRR(n, m, d))
#define FMINV_S4(n, d) WORD $(0x6eb0f800 | RR(n, d))
#define FMAXV_S4(n, d) WORD $(0x6e30f800 | RR(n, d))
#define FCMEQ0_S4(n, d) WORD $(0x4ea0d800 | RR(n, d))

// Two float32 to float64, of the lower and the upper half, arithmetic on these, and
// rounded to int64.
#define FCVTL_S2(n, d) WORD $(0x0e617800 | RR(n, d))
#define FCVTL2_S4(n, d) WORD $(0x4e617800 | RR(n, d))
#define FADD_D2(n, m, d) WORD $(0x4e60d400 | RRR(n, m, d))
#define FSUB_D2(n, m, d) WORD $(0x4ee0d400 | RRR(n, m, d))
#define FMUL_D2(n, m, d) WORD $(0x6e60dc00 | RRR(n, m, d))
#define FABD_D2(n, m, d) WORD $(0x6ee0d400 | RRR(n, m, d))
#define FMIN_D2(n, m, d) WORD $(0x4ee0f400 | RRR(n, m, d))
#define FMAX_D2(n, m, d) WORD $(0x4e60f400 | RRR(n, m, d))
#define FMAXNM_D2(n, m, d) WORD $(0x4e60c400 | RRR(n, m, d))
#define FCVTNS_D2(n, d) WORD $(0x4e61a800 | RR(n, d))

// The largest of four uint32, and four float32 to int32, halves away from zero.
#define UMAXV_S4(n, d) WORD $(0x6eb0a800 | RR(n, d))
#define FCVTAS_S4(n, d) WORD $(0x4e21c800 | RR(n, d))
