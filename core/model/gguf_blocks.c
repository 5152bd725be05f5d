/* Quantized blocks of GGUF files.  In 32-bit arithmetic, in the order of the formats' definition, so that
 * values have the same bits as those of other readers. */
#include <string.h>

#include "core/base/mem.h"
#include "core/model/gguf.h"

/* Reads a half-precision number at *p and moves on. */
static float next_half(const unsigned char **p) {
    uint16_t h;
    memcpy(&h, *p, sizeof h);
    *p += sizeof h;
    return st_from_half(h);
}

/* Q4_0, Q4_1, Q5_0, Q5_1: 32 values, d·n + m; `five`: with 32 fifth bits; `offset`: n is signed by it, or
 * there is a minimum m. */
static void unpack_nibbles(const unsigned char *p, bool five, int offset, float *to) {
    float d = next_half(&p), m = offset ? 0 : next_half(&p);
    uint32_t high = 0;
    if (five) {
        memcpy(&high, p, sizeof high);
        p += sizeof high;
    }
    int n[32];
    for (int i = 0; i < 16; i++) {
        n[i] = p[i] & 15;
        n[i + 16] = p[i] >> 4;
    }
    for (int i = 0; five && i < 32; i++) n[i] |= (int)(high >> i & 1) << 4;
    if (offset)
        for (int i = 0; i < 32; i++) to[i] = d * (float)(n[i] - offset);
    else
        for (int i = 0; i < 32; i++) to[i] = d * (float)n[i] + m;
}

static void unpack_bytes(const unsigned char *p, float *to) {
    float d = next_half(&p);
    for (int i = 0; i < 32; i++) to[i] = d * (float)(signed char)p[i];
}

/* Scale and minimum of sub-block j, 6 bits each in 12 bytes. */
static void sub_scale(const unsigned char *s, int j, int *scale, int *least) {
    if (j < 4) {
        *scale = s[j] & 63;
        *least = s[j + 4] & 63;
    } else {
        *scale = (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
        *least = s[j + 4] >> 4 | (s[j] >> 6) << 4;
    }
}

/* Q4_K and Q5_K: 8 sub-blocks of 32 values. */
static void unpack_sub_blocks(const unsigned char *p, bool five, float *to) {
    float d = next_half(&p), dmin = next_half(&p);
    const unsigned char *s = p, *high = p + 12, *low = five ? high + 32 : high;
    for (int j = 0; j < 8; j++) {
        int scale, least;
        sub_scale(s, j, &scale, &least);
        float by = d * (float)scale, minus = dmin * (float)least;
        for (int i = 0; i < 32; i++) {
            int byte = low[32 * (j / 2) + i], n = j % 2 ? byte >> 4 : byte & 15;
            if (five) n |= (high[i] >> j & 1) << 4;
            to[32 * j + i] = by * (float)n - minus;
        }
    }
}

static void unpack_six(const unsigned char *p, float *to) {
    const unsigned char *low = p, *high = p + 128, *end = p + 208;
    const signed char *scale = (const signed char *)p + 192;
    float d = next_half(&end);
    for (int group = 0; group < 8; group++) { /* of 32 values, with two scales */
        int half = group / 4, k = group % 4, n[32];
        const unsigned char *four = low + 64 * half + 32 * (k % 2), *two = high + 32 * half;
        for (int i = 0; i < 32; i++) n[i] = (four[i] >> (k < 2 ? 0 : 4) & 15) | (two[i] >> 2 * k & 3) << 4;
        for (int j = 0; j < 2; j++) {
            float by = d * (float)scale[2 * group + j];
            for (int i = 0; i < 16; i++) to[32 * group + 16 * j + i] = by * (float)(n[16 * j + i] - 32);
        }
    }
}

bool gguf_is_block(enum st_type type) { return st_block_values(type) > 1; }

void gguf_unpack(enum st_type type, const unsigned char *from, size_t n, real *to) {
    size_t values = st_block_values(type), bytes = st_block_bytes(type);
    float room[256];
    BUG_IF(n % values || values > COUNT_OF(room));
    for (size_t i = 0; i < n; i += values, from += bytes) {
        float *block = REAL_IS_DOUBLE ? room : (float *)(void *)(to + i);
        switch (type) {
        case ST_Q4_0: unpack_nibbles(from, false, 8, block); break;
        case ST_Q4_1: unpack_nibbles(from, false, 0, block); break;
        case ST_Q5_0: unpack_nibbles(from, true, 16, block); break;
        case ST_Q5_1: unpack_nibbles(from, true, 0, block); break;
        case ST_Q8_0: unpack_bytes(from, block); break;
        case ST_Q4_K: unpack_sub_blocks(from, false, block); break;
        case ST_Q5_K: unpack_sub_blocks(from, true, block); break;
        case ST_Q6_K: unpack_six(from, block); break;
        default: BUG("type %d has no blocks", (int)type);
        }
        for (size_t k = 0; REAL_IS_DOUBLE && k < values; k++) to[i + k] = (real)block[k];
    }
}
