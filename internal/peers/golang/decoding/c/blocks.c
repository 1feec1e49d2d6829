// Decodes blocks of GGUF files with plain C loops, and measures the time:
//
//	blocks TYPE BLOCKS CODEBOOKS
//
// For each number on standard input it decodes all blocks that many times and prints the
// nanoseconds. At the end of the input it prints the values, 4 bytes each.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef uint8_t u8;

static uint16_t u16(const u8 *b) {
	uint16_t x;
	memcpy(&x, b, 2);
	return x;
}

static uint32_t u32(const u8 *b) {
	uint32_t x;
	memcpy(&x, b, 4);
	return x;
}

static float half(const u8 *b) {
	_Float16 h;
	memcpy(&h, b, 2);
	return h;
}

// Codebooks.
static int8_t iq2xxs[256 * 8], iq2xs[512 * 8], iq2s[1024 * 8], iq3xxs[256 * 4], iq3s[512 * 4], iq1s[2048 * 8];

static const int8_t iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const int8_t fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static void q4_0(const u8 *b, float *restrict y) {
	float d = half(b);
	for (int i = 0; i < 16; i++) {
		y[i] = d * ((b[2 + i] & 15) - 8);
		y[i + 16] = d * ((b[2 + i] >> 4) - 8);
	}
}

static void q4_1(const u8 *b, float *restrict y) {
	float d = half(b), m = half(b + 2);
	for (int i = 0; i < 16; i++) {
		y[i] = d * (b[4 + i] & 15) + m;
		y[i + 16] = d * (b[4 + i] >> 4) + m;
	}
}

static void q5_0(const u8 *b, float *restrict y) {
	float d = half(b);
	uint32_t high = u32(b + 2);
	for (int i = 0; i < 16; i++) {
		y[i] = d * (int)(((b[6 + i] & 15) | (high >> i & 1) << 4) - 16);
		y[i + 16] = d * (int)(((b[6 + i] >> 4) | (high >> (i + 16) & 1) << 4) - 16);
	}
}

static void q5_1(const u8 *b, float *restrict y) {
	float d = half(b), m = half(b + 2);
	uint32_t high = u32(b + 4);
	for (int i = 0; i < 16; i++) {
		y[i] = d * (int)((b[8 + i] & 15) | (high >> i & 1) << 4) + m;
		y[i + 16] = d * (int)((b[8 + i] >> 4) | (high >> (i + 16) & 1) << 4) + m;
	}
}

static void q8_0(const u8 *b, float *restrict y) {
	float d = half(b);
	for (int i = 0; i < 32; i++)
		y[i] = d * (int8_t)b[2 + i];
}

static void q2_k(const u8 *b, float *restrict y) {
	float d = half(b + 80), dmin = half(b + 82);
	for (int i = 0; i < 16; i++) {
		float scale = d * (b[i] & 15), low = dmin * (b[i] >> 4);
		const u8 *q = b + 16 + i / 8 * 32 + i % 2 * 16;
		for (int l = 0; l < 16; l++)
			y[16 * i + l] = scale * (q[l] >> (i % 8 / 2 * 2) & 3) - low;
	}
}

static void q3_k(const u8 *b, float *restrict y) {
	const u8 *high = b, *packed = b + 96;
	float d = half(b + 108);
	for (int i = 0; i < 16; i++) {
		int s = (packed[i % 8] >> (i / 8 * 4) & 15) | (packed[8 + i % 4] >> (i / 4 * 2) & 3) << 4;
		float scale = d * (s - 32);
		const u8 *q = b + 32 + i / 8 * 32 + i % 2 * 16, *h = high + i % 2 * 16;
		for (int l = 0; l < 16; l++)
			y[16 * i + l] = scale * (((q[l] >> (i % 8 / 2 * 2) & 3) | (h[l] >> (i / 2) & 1) << 2) - 4);
	}
}

static void scale_min(const u8 *p, int i, int *scale, int *low) {
	if (i < 4) {
		*scale = p[i] & 63;
		*low = p[i + 4] & 63;
	} else {
		*scale = (p[i + 4] & 15) | p[i - 4] >> 6 << 4;
		*low = p[i + 4] >> 4 | p[i] >> 6 << 4;
	}
}

static void q4_k(const u8 *b, float *restrict y) {
	float d = half(b), dmin = half(b + 2);
	for (int i = 0; i < 8; i++) {
		int s, m;
		scale_min(b + 4, i, &s, &m);
		float scale = d * s, low = dmin * m;
		const u8 *q = b + 16 + i / 2 * 32;
		for (int l = 0; l < 32; l++)
			y[32 * i + l] = scale * (q[l] >> (i % 2 * 4) & 15) - low;
	}
}

static void q5_k(const u8 *b, float *restrict y) {
	float d = half(b), dmin = half(b + 2);
	for (int i = 0; i < 8; i++) {
		int s, m;
		scale_min(b + 4, i, &s, &m);
		float scale = d * s, low = dmin * m;
		const u8 *high = b + 16, *q = b + 48 + i / 2 * 32;
		for (int l = 0; l < 32; l++)
			y[32 * i + l] = scale * ((q[l] >> (i % 2 * 4) & 15) | (high[l] >> i & 1) << 4) - low;
	}
}

static void q6_k(const u8 *b, float *restrict y) {
	float d = half(b + 208);
	for (int i = 0; i < 16; i++) {
		float scale = d * (int8_t)b[192 + i];
		int quarter = i % 8 / 2;
		const u8 *q = b + i / 8 * 64 + quarter % 2 * 32 + i % 2 * 16, *h = b + 128 + i / 8 * 32 + i % 2 * 16;
		for (int l = 0; l < 16; l++)
			y[16 * i + l] = scale * (((q[l] >> (quarter / 2 * 4) & 15) | (h[l] >> (quarter * 2) & 3) << 4) - 32);
	}
}

static void q1_0(const u8 *b, float *restrict y) {
	float d = half(b);
	for (int i = 0; i < 128; i++)
		y[i] = b[2 + i / 8] >> (i % 8) & 1 ? d : -d;
}

static void q2_0(const u8 *b, float *restrict y) {
	float d = half(b);
	for (int i = 0; i < 64; i++)
		y[i] = ((b[2 + i / 4] >> (i % 4 * 2) & 3) - 1) * d;
}

static float *trits(const u8 *q, int n, int digits, float d, float *restrict y) {
	u8 power = 1;
	for (int k = 0; k < digits; k++, power *= 3)
		for (int i = 0; i < n; i++)
			*y++ = (((u8)(q[i] * power) * 3 >> 8) - 1) * d;
	return y;
}

static void tq1_0(const u8 *b, float *restrict y) {
	float d = half(b + 52);
	y = trits(b, 32, 5, d, y);
	y = trits(b + 32, 16, 5, d, y);
	trits(b + 48, 4, 4, d, y);
}

static void tq2_0(const u8 *b, float *restrict y) {
	float d = half(b + 64);
	for (int i = 0; i < 256; i++)
		y[i] = ((b[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3) - 1) * d;
}

static void four_bits(const u8 *q, int n, const int8_t *values, float d, float *restrict y) {
	for (int i = 0; i < n; i++) {
		y[i] = d * values[q[i] & 15];
		y[i + n] = d * values[q[i] >> 4];
	}
}

static void iq4_nl(const u8 *b, float *restrict y) { four_bits(b + 2, 16, iq4, half(b), y); }

static void iq4_xs(const u8 *b, float *restrict y) {
	float d = half(b);
	uint32_t upper = u16(b + 2), lower = u32(b + 4);
	for (int i = 0; i < 8; i++) {
		int scale = (lower >> (4 * i) & 15) | (upper >> (2 * i) & 3) << 4;
		four_bits(b + 8 + 16 * i, 16, iq4, d * (scale - 32), y + 32 * i);
	}
}

static void mxfp4(const u8 *b, float *restrict y) {
	uint32_t bits = b[0] < 2 ? 0x00200000u << b[0] : (b[0] - 1u) << 23;
	float d;
	memcpy(&d, &bits, 4);
	four_bits(b + 1, 16, fp4, d, y);
}

static void nvfp4(const u8 *b, float *restrict y) {
	for (int i = 0; i < 4; i++) {
		int exp = b[i] >> 3 & 15, frac = b[i] & 7;
		float d = exp == 0 ? ldexpf(frac, -10) : ldexpf(8 + frac, exp - 11);
		if (b[i] == 0x7f)
			d = 0;
		four_bits(b + 4 + 8 * i, 8, fp4, d, y + 16 * i);
	}
}

// even returns the sign byte of 7 bits: the eighth makes the number of set bits even.
static u8 even(uint32_t bits) {
	bits &= 127;
	return bits | __builtin_parity(bits) << 7;
}

static void group(const int8_t *values, int n, float scale, u8 signs, float *restrict y) {
	for (int j = 0; j < n; j++)
		y[j] = signs >> j & 1 ? -(scale * values[j]) : scale * values[j];
}

static void iq2_xxs(const u8 *b, float *restrict y) {
	float d = half(b);
	for (int i = 0; i < 8; i++) {
		const u8 *q = b + 2 + 8 * i;
		uint32_t high = u32(q + 4);
		float scale = d * (0.5f + (high >> 28)) * 0.25f;
		for (int l = 0; l < 4; l++)
			group(iq2xxs + 8 * q[l], 8, scale, even(high >> (7 * l)), y + 32 * i + 8 * l);
	}
}

static void iq2_xs(const u8 *b, float *restrict y) {
	float d = half(b);
	for (int i = 0; i < 32; i++) {
		int q = u16(b + 2 + 2 * i);
		float scale = d * (0.5f + (b[66 + i / 4] >> (i % 4 / 2 * 4) & 15)) * 0.25f;
		group(iq2xs + 8 * (q & 511), 8, scale, even(q >> 9), y + 8 * i);
	}
}

static void iq2_s(const u8 *b, float *restrict y) {
	float d = half(b);
	for (int i = 0; i < 32; i++) {
		int q = b[2 + i] | (b[66 + i / 4] << (8 - i % 4 * 2) & 0x300);
		float scale = d * (0.5f + (b[74 + i / 4] >> (i % 4 / 2 * 4) & 15)) * 0.25f;
		group(iq2s + 8 * q, 8, scale, b[34 + i], y + 8 * i);
	}
}

static void iq3_xxs(const u8 *b, float *restrict y) {
	float d = half(b);
	for (int i = 0; i < 8; i++) {
		uint32_t high = u32(b + 66 + 4 * i);
		float scale = d * (0.5f + (high >> 28)) * 0.5f;
		for (int l = 0; l < 8; l++)
			group(iq3xxs + 4 * b[2 + 8 * i + l], 4, scale, even(high >> (7 * (l / 2))) >> (l % 2 * 4), y + 32 * i + 4 * l);
	}
}

static void iq3_s(const u8 *b, float *restrict y) {
	float d = half(b);
	for (int i = 0; i < 64; i++) {
		int q = b[2 + i] | (b[66 + i / 8] >> (i % 8) & 1) << 8;
		float scale = d * (1 + 2 * (b[106 + i / 16] >> (i / 8 % 2 * 4) & 15));
		group(iq3s + 4 * q, 4, scale, b[74 + i / 2] >> (i % 2 * 4), y + 4 * i);
	}
}

static void shifted(const int8_t *values, float scale, float delta, float *restrict y) {
	for (int j = 0; j < 8; j++)
		y[j] = scale * (values[j] + delta);
}

static void iq1_s(const u8 *b, float *restrict y) {
	float d = half(b);
	for (int i = 0; i < 8; i++) {
		int high = u16(b + 34 + 2 * i);
		float scale = d * (2 * (high >> 12 & 7) + 1), delta = high >> 15 ? -0.125f : 0.125f;
		for (int l = 0; l < 4; l++)
			shifted(iq1s + 8 * (b[2 + 4 * i + l] | (high >> (3 * l) & 7) << 8), scale, delta, y + 32 * i + 8 * l);
	}
}

static void iq1_m(const u8 *b, float *restrict y) {
	uint16_t bits = 0;
	for (int i = 0; i < 4; i++)
		bits |= u16(b + 48 + 2 * i) >> 12 << (4 * i);
	float d = half((u8 *)&bits);
	for (int i = 0; i < 32; i++) {
		int h = b[32 + i / 2] >> (i % 2 * 4) & 15;
		float scale = d * (2 * (u16(b + 48 + i / 8 * 2) >> (i / 4 % 2 * 6 + i / 2 % 2 * 3) & 7) + 1);
		shifted(iq1s + 8 * (b[i] | (h & 7) << 8), scale, h & 8 ? -0.125f : 0.125f, y + 8 * i);
	}
}

// The loops over all blocks, one for each type.
#define TYPES(X) \
	X("Q4_0", q4_0, 32, 18) X("Q4_1", q4_1, 32, 20) X("Q5_0", q5_0, 32, 22) X("Q5_1", q5_1, 32, 24) \
	X("Q8_0", q8_0, 32, 34) X("IQ4_NL", iq4_nl, 32, 18) X("IQ4_XS", iq4_xs, 256, 136) X("MXFP4", mxfp4, 32, 17) \
	X("Q2_K", q2_k, 256, 84) X("Q3_K", q3_k, 256, 110) X("Q4_K", q4_k, 256, 144) X("Q5_K", q5_k, 256, 176) \
	X("Q6_K", q6_k, 256, 210) X("IQ1_S", iq1_s, 256, 50) X("IQ1_M", iq1_m, 256, 56) X("IQ2_XXS", iq2_xxs, 256, 66) \
	X("IQ2_XS", iq2_xs, 256, 74) X("IQ2_S", iq2_s, 256, 82) X("IQ3_XXS", iq3_xxs, 256, 98) X("IQ3_S", iq3_s, 256, 110) \
	X("TQ1_0", tq1_0, 256, 54) X("TQ2_0", tq2_0, 256, 66) X("Q1_0", q1_0, 128, 18) X("Q2_0", q2_0, 64, 18) \
	X("NVFP4", nvfp4, 64, 36)

#define LOOP(name, block, elems, size) \
	static void block##_all(const u8 *b, float *restrict y, long n) { \
		for (long i = 0; i < n; i++) \
			block(b + i * size, y + i * elems); \
	}
TYPES(LOOP)

#define ENTRY(name, block, elems, size) {name, elems, size, block##_all},
static const struct {
	const char *name;
	long elems, size;
	void (*decode)(const u8 *b, float *restrict y, long n);
} types[] = {TYPES(ENTRY)};

static void fail(const char *what) {
	fprintf(stderr, "blocks: %s\n", what);
	exit(1);
}

static u8 *read_all(const char *path, long *size) {
	FILE *f = fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END) || (*size = ftell(f)) < 0)
		fail(path);
	u8 *b = malloc(*size + 1);
	rewind(f);
	if (!b || fread(b, 1, *size, f) != (size_t)*size)
		fail(path);
	fclose(f);
	return b;
}

// unpack writes n groups of numbers from an alphabet, whose indexes are packed in 16 bits.
static const u8 *unpack(const u8 *b, int8_t *out, int n, int size, int width, const int8_t *alphabet) {
	for (int i = 0; i < n; i++, b += 2)
		for (int j = 0; j < size; j++)
			*out++ = alphabet[u16(b) >> (width * j) & ((1 << width) - 1)];
	return b;
}

static void codebooks(const char *path) {
	static const int8_t small[4] = {8, 25, 43}, signs[4] = {-1, 0, 1};
	static const int8_t wide[8] = {4, 12, 20, 28, 36, 44, 52, 62}, odd[8] = {1, 3, 5, 7, 9, 11, 13, 15};
	long size;
	const u8 *b = read_all(path, &size);
	if (size != 2 * (256 + 512 + 1024 + 256 + 512 + 2048))
		fail("codebooks of another size");
	b = unpack(b, iq2xxs, 256, 8, 2, small);
	b = unpack(b, iq2xs, 512, 8, 2, small);
	b = unpack(b, iq2s, 1024, 8, 2, small);
	b = unpack(b, iq3xxs, 256, 4, 3, wide);
	b = unpack(b, iq3s, 512, 4, 3, odd);
	unpack(b, iq1s, 2048, 8, 2, signs);
}

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(int argc, char **argv) {
	if (argc != 4)
		fail("usage: blocks TYPE BLOCKS CODEBOOKS");
	size_t type = 0;
	while (strcmp(types[type].name, argv[1]))
		if (++type == sizeof types / sizeof *types)
			fail("no such type");
	codebooks(argv[3]);
	long size, rounds;
	const u8 *b = read_all(argv[2], &size);
	long n = size / types[type].size;
	float *y = calloc(n * types[type].elems, sizeof *y);
	if (!y)
		fail("no memory");
	while (scanf("%ld", &rounds) == 1) {
		int64_t start = now();
		for (long i = 0; i < rounds; i++)
			types[type].decode(b, y, n);
		printf("%lld\n", (long long)(now() - start));
		fflush(stdout);
	}
	types[type].decode(b, y, n);
	fwrite(y, sizeof *y, n * types[type].elems, stdout);
	return 0;
}
