# Decodes blocks as their published layouts say, one element after the other, with nothing
# but struct: blocks.py TYPE BLOCKS CODEBOOKS prints the values as float32, little-endian.
import struct, sys

def f(x):  # rounds to float32
    try: return struct.unpack('<f', struct.pack('<f', x))[0]
    except OverflowError: return float('inf') if x > 0 else float('-inf')
def mul(a, b): return f(a * b)
def add(a, b): return f(a + b)
def h(b, at): return struct.unpack_from('<e', b, at)[0]
def u16(b, at): return struct.unpack_from('<H', b, at)[0]
def u32(b, at): return struct.unpack_from('<I', b, at)[0]
def s8(x): return x - 256 if x > 127 else x
def bit(b, i): return b[i // 8] >> (i % 8) & 1

books, raw, at = {}, open(sys.argv[3], 'rb').read(), 0
for name, n, size, alphabet in [('2xxs', 256, 8, (8, 25, 43)), ('2xs', 512, 8, (8, 25, 43)), ('2s', 1024, 8, (8, 25, 43)),
        ('3xxs', 256, 4, (4, 12, 20, 28, 36, 44, 52, 62)), ('3s', 512, 4, (1, 3, 5, 7, 9, 11, 13, 15)), ('1s', 2048, 8, (-1, 0, 1))]:
    width = 2 if len(alphabet) == 3 else 3
    books[name] = [[alphabet[u16(raw, at + 2 * k) >> (width * j) & (1 << width) - 1] for j in range(size)] for k in range(n)]
    at += 2 * n
iq4 = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
fp4 = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
def sign7(x):  # the sign byte of seven bits
    x &= 127
    return x | (bin(x).count('1') & 1) << 7
def sign(byte, j): return -1 if byte >> j & 1 else 1
def nib(b, i): return b[i % 16] >> (i // 16 * 4) & 15

def q1_0(b, i): return h(b, 0) if bit(b[2:], i) else -h(b, 0)
def q2_0(b, i): return mul((b[2 + i // 4] >> i % 4 * 2 & 3) - 1, h(b, 0))
def q4_0(b, i): return mul(h(b, 0), nib(b[2:], i) - 8)
def q4_1(b, i): return add(mul(h(b, 0), nib(b[4:], i)), h(b, 2))
def q5_0(b, i): return mul(h(b, 0), (nib(b[6:], i) | bit(b[2:6], i) << 4) - 16)
def q5_1(b, i): return add(mul(h(b, 0), nib(b[8:], i) | bit(b[4:8], i) << 4), h(b, 2))
def q8_0(b, i): return mul(h(b, 0), s8(b[2 + i]))
def q2_k(b, i):
    q, s = b[16 + i // 128 * 32 + i % 32] >> i % 128 // 32 * 2 & 3, b[i // 16]
    return add(mul(mul(h(b, 80), s & 15), q), -mul(h(b, 82), s >> 4))
def q3_k(b, i):
    q = (b[32 + i // 128 * 32 + i % 32] >> i % 128 // 32 * 2 & 3) - (0 if b[i % 32] >> i // 32 & 1 else 4)
    g = i // 16
    s = (b[96 + g % 8] >> g // 8 * 4 & 15) | (b[104 + g % 4] >> g // 4 * 2 & 3) << 4
    return mul(mul(h(b, 108), s - 32), q)
def six(b, g, low):  # a scale, or a minimum, of 6 bits
    p = b[4:16]
    if g < 4: return p[g + 4 * low] & 63
    return p[g + 4] >> 4 * low & 15 | p[g - 4 + 4 * low] >> 6 << 4
def q4_k(b, i):
    q, g = b[16 + i // 64 * 32 + i % 32] >> i // 32 % 2 * 4 & 15, i // 32
    return add(mul(mul(h(b, 0), six(b, g, 0)), q), -mul(h(b, 2), six(b, g, 1)))
def q5_k(b, i):
    q, g = b[48 + i // 64 * 32 + i % 32] >> i // 32 % 2 * 4 & 15 | (b[16 + i % 32] >> i // 32 & 1) << 4, i // 32
    return add(mul(mul(h(b, 0), six(b, g, 0)), q), -mul(h(b, 2), six(b, g, 1)))
def q6_k(b, i):
    j = i % 128
    q = b[i // 128 * 64 + j % 64] >> j // 64 * 4 & 15 | (b[128 + i // 128 * 32 + j % 32] >> j // 32 * 2 & 3) << 4
    return mul(mul(h(b, 208), s8(b[192 + i // 16])), q - 32)
def tq1_0(b, i):
    if i < 160: at, n = i % 32, i // 32
    elif i < 240: at, n = 32 + (i - 160) % 16, (i - 160) // 16
    else: at, n = 48 + (i - 240) % 4, (i - 240) // 4
    return mul((b[at] * 3 ** n % 256 * 3 >> 8) - 1, h(b, 52))
def tq2_0(b, i): return mul((b[i // 128 * 32 + i % 32] >> i % 128 // 32 * 2 & 3) - 1, h(b, 64))
def iq4_nl(b, i): return mul(h(b, 0), iq4[nib(b[2:], i)])
def iq4_xs(b, i):
    g = i // 32
    s = b[4 + g // 2] >> g % 2 * 4 & 15 | (u16(b, 2) >> 2 * g & 3) << 4
    return mul(mul(h(b, 0), s - 32), iq4[nib(b[8 + 16 * g:], i % 32)])
def mxfp4(b, i): return mul(2.0 ** (b[0] - 128), fp4[nib(b[1:], i)])
def nvfp4(b, i):
    g, j = i // 16, i % 16
    x, q = b[g], b[4 + 8 * g + j % 8] >> j // 8 * 4 & 15
    e, m = x >> 3 & 15, x & 7
    d = 0.0 if x in (0, 127) else (m * 2.0 ** -9 if e == 0 else (1 + m / 8) * 2.0 ** (e - 7)) / 2
    return mul(d, fp4[q])
def iq2_xxs(b, i):
    g, l, j = i // 32, i % 32 // 8, i % 8
    hi = u32(b, 2 + 8 * g + 4)
    d = mul(mul(h(b, 0), 0.5 + (hi >> 28)), 0.25)
    return mul(mul(d, books['2xxs'][b[2 + 8 * g + l]][j]), sign(sign7(hi >> 7 * l), j))
def nibble_scale(b, at, g, l): return mul(mul(h(b, 0), 0.5 + (b[at + g] >> l // 2 * 4 & 15)), 0.25)
def iq2_xs(b, i):
    g, l, j = i // 32, i % 32 // 8, i % 8
    q = u16(b, 2 + 2 * (4 * g + l))
    return mul(mul(nibble_scale(b, 66, g, l), books['2xs'][q & 511][j]), sign(sign7(q >> 9), j))
def iq2_s(b, i):
    g, l, j = i // 32, i % 32 // 8, i % 8
    q = b[2 + 4 * g + l] | b[66 + g] << 8 - 2 * l & 0x300
    return mul(mul(nibble_scale(b, 74, g, l), books['2s'][q][j]), sign(b[34 + 4 * g + l], j))
def iq3_xxs(b, i):
    g, l, j = i // 32, i % 32 // 8, i % 8
    ss = u32(b, 66 + 4 * g)
    d = mul(mul(h(b, 0), 0.5 + (ss >> 28)), 0.5)
    return mul(mul(d, books['3xxs'][b[2 + 8 * g + 2 * l + j // 4]][j % 4]), sign(sign7(ss >> 7 * l), j))
def iq3_s(b, i):
    g, l, j = i // 32, i % 32 // 8, i % 8
    d = mul(h(b, 0), 1 + 2 * (b[106 + g // 2] >> g % 2 * 4 & 15))
    q = b[2 + 8 * g + 2 * l + j // 4] | b[66 + g] << (8 if j < 4 else 7) - 2 * l & 256
    return mul(mul(d, books['3s'][q][j % 4]), sign(b[74 + 4 * g + l], j))
def iq1_s(b, i):
    g, l, j = i // 32, i % 32 // 8, i % 8
    qh = u16(b, 34 + 2 * g)
    d = mul(h(b, 0), 2 * (qh >> 12 & 7) + 1)
    q = b[2 + 4 * g + l] | (qh >> 3 * l & 7) << 8
    return mul(d, add(books['1s'][q][j], -0.125 if qh >> 15 else 0.125))
def iq1_m(b, i):
    g, l, j = i // 32, i % 32 // 8, i % 8
    sc = [u16(b, 48 + 2 * k) for k in range(4)]
    d = struct.unpack('<e', struct.pack('<H', sc[0] >> 12 | sc[1] >> 12 << 4 | sc[2] >> 12 << 8 | sc[3] >> 12 << 12))[0]
    d = mul(d, 2 * (sc[g // 2] >> 6 * (g % 2) + 3 * (l // 2) & 7) + 1)
    x = b[32 + 2 * g + l // 2] >> l % 2 * 4 & 15
    return mul(d, add(books['1s'][b[4 * g + l] | (x & 7) << 8][j], -0.125 if x & 8 else 0.125))

kinds = {'Q1_0': (128, 18), 'Q2_0': (64, 18), 'Q4_0': (32, 18), 'Q4_1': (32, 20), 'Q5_0': (32, 22), 'Q5_1': (32, 24), 'Q8_0': (32, 34), 'Q2_K': (256, 84),
    'Q3_K': (256, 110), 'Q4_K': (256, 144), 'Q5_K': (256, 176), 'Q6_K': (256, 210), 'TQ1_0': (256, 54), 'TQ2_0': (256, 66), 'IQ4_NL': (32, 18), 'IQ4_XS': (256, 136),
    'MXFP4': (32, 17), 'NVFP4': (64, 36), 'IQ2_XXS': (256, 66), 'IQ2_XS': (256, 74), 'IQ2_S': (256, 82), 'IQ3_XXS': (256, 98), 'IQ3_S': (256, 110), 'IQ1_S': (256, 50), 'IQ1_M': (256, 56)}
elems, size = kinds[sys.argv[1]]
element, data, out = globals()[sys.argv[1].lower()], open(sys.argv[2], 'rb').read(), bytearray()
for at in range(0, len(data), size):
    for i in range(elems):
        x = element(data[at:at + size], i)
        out += struct.pack('<f', x)
sys.stdout.buffer.write(bytes(out))
