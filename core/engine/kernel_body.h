/* The loops of kernel.h in vectors of LANES elements, for the processor that the including file selects by
 * pragma.  Everything is static but the table KERNELS.
 *
 * A loop has one body for whole vectors and for the last partial one, so the result of an element does not
 * depend on its position.  Sums have a fixed order.  Errors of the float functions: exp 2.5e-7 relative (0
 * below -87), tanh 1e-6 relative, Φ 3e-7 absolute.  The double build calls libm, lane by lane. */

#include <math.h>
#include <string.h>

#include "core/engine/lanes_body.h"

#if REAL_IS_DOUBLE
typedef int64_t ivec __attribute__((vector_size(LANES * sizeof(real))));
#else
typedef int32_t ivec __attribute__((vector_size(LANES * sizeof(real))));
#endif

/* ---- whole and partial vectors ---- */

INLINE vec choose(ivec mask, vec yes, vec no) { return (vec)(((ivec)yes & mask) | ((ivec)no & ~mask)); }

/* Which lanes come before `left`. */
INLINE ivec lanes_before(size_t left) {
    ivec lane;
    for (int j = 0; j < LANES; j++) lane[j] = j;
    return lane < ((ivec){ 0 } + (int)left);
}

/* Processors with masked loads and stores define these two; `left` is less than LANES, the lanes after it are
 * 0. */
#ifndef TAKE_PART
INLINE vec take_part(const real *p, size_t left) {
    vec v = ALL(0);
    for (size_t j = 0; j < left; j++) v[j] = p[j];
    return v;
}

INLINE void put_part(real *p, size_t left, vec v) {
    for (size_t j = 0; j < left; j++) p[j] = v[j];
}
#define TAKE_PART take_part
#define PUT_PART put_part
#endif

/* LANES elements at p, or `left` of them followed by zeros. */
INLINE vec take(const real *p, size_t left) {
    vec v;
    if (left < (size_t)LANES) return TAKE_PART(p, left);
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void put(real *p, size_t left, vec v) {
    if (left >= (size_t)LANES) memcpy(p, &v, sizeof v);
    else PUT_PART(p, left, v);
}

/* Sets the lanes from `left` on to `fill`. */
INLINE vec first_lanes(vec v, size_t left, real fill) {
    return left >= (size_t)LANES ? v : choose(lanes_before(left), v, ALL(fill));
}

/* The sum of the lanes, by halves, and the largest.  Processors with shuffles of lanes define these two. */
#ifndef TOTAL
INLINE real total(vec v) {
    real part[LANES];
    memcpy(part, &v, sizeof v);
    for (int w = LANES / 2; w; w /= 2)
        for (int j = 0; j < w; j++) part[j] += part[j + w];
    return part[0];
}

INLINE real largest(vec v) {
    real part[LANES];
    memcpy(part, &v, sizeof v);
    for (int w = LANES / 2; w; w /= 2)
        for (int j = 0; j < w; j++) part[j] = part[j + w] > part[j] ? part[j + w] : part[j];
    return part[0];
}
#else
INLINE real total(vec v) { return TOTAL(v); }
INLINE real largest(vec v) { return LARGEST(v); }
#endif

/* ---- functions ---- */

#if REAL_IS_DOUBLE
#define EACH_LANE(name, expression)                                                                \
    INLINE vec name(vec x) {                                                                       \
        vec r;                                                                                     \
        for (int j = 0; j < LANES; j++) {                                                          \
            double v = x[j];                                                                       \
            r[j] = expression;                                                                     \
        }                                                                                          \
        return r;                                                                                  \
    }
EACH_LANE(v_exp, exp(v))
EACH_LANE(v_tanh, tanh(v))
EACH_LANE(v_normal_cdf, 0.5 * erfc(-v * M_SQRT1_2))
EACH_LANE(v_sqrt, sqrt(v))

INLINE vec v_normal(vec x, vec *density) {
    *density = v_exp(x * x * (real)-0.5) * (real)0.3989422804014327;
    return v_normal_cdf(x);
}
#else
/* 2^n · e^r with |r| <= ln2/2: e^r = 1 + r + r²·q(r). */
INLINE vec v_exp(vec x) {
    const vec magic = ALL(0x1.8p23); /* adding it rounds to an integer */
    vec z = fused(x, ALL(0x1.715476p0f), magic), n = z - magic;
    vec r = fused(n, ALL(2.12194440e-4f), fused(n, ALL(-0.693359375f), x));
    vec q = ALL(1.381432047e-3f);
    q = fused(q, r, ALL(8.368851075e-3f));
    q = fused(q, r, ALL(4.166840109e-2f));
    q = fused(q, r, ALL(1.666651952e-1f));
    q = fused(q, r, ALL(4.999999337e-1f));
    vec y = (fused(q * r, r, r) + 1) * 2; /* times 2, and 2^(n-1) below: 2^128 overflows a float */
    ivec scale = ((ivec)z - (ivec)magic + 126) << 23;
    y *= (vec)scale;
    y = choose(x > ALL(88.72283f), ALL(INFINITY), y);
    return choose(x < ALL(-87.0f), ALL(0), y);
}

INLINE vec v_abs(vec x) { return (vec)((ivec)x & 0x7FFFFFFF); }

INLINE vec v_tanh(vec x) {
    vec a = v_abs(x), z = x * x;
    vec q = ALL(-5.905868374e-3f);
    q = fused(q, z, ALL(2.080538456e-2f));
    q = fused(q, z, ALL(-5.378668357e-2f));
    q = fused(q, z, ALL(1.333195824e-1f));
    q = fused(q, z, ALL(-3.333329927e-1f));
    vec small = fused(x, z * q, x);
    vec large = 1 - 2 / (v_exp(a + a) + 1);
    large = (vec)((ivec)large | ((ivec)x & INT32_MIN));
    return choose(a < ALL(0.6f), small, large);
}

/* Φ(x), and φ(x) on the way: Φ(-a) = exp(-a²/2)·t·Q(t) with t = 1/(1 + 0.24a). */
INLINE vec v_normal(vec x, vec *density) {
    vec a = v_abs(x), e = v_exp(a * a * -0.5f), t = 1 / fused(a, ALL(0.24f), ALL(1));
    vec q = ALL(-1.220390368e-1f);
    q = fused(q, t, ALL(5.398604301e-1f));
    q = fused(q, t, ALL(-6.166464520e-1f));
    q = fused(q, t, ALL(5.944074092e-1f));
    q = fused(q, t, ALL(-1.355822741e-1f));
    q = fused(q, t, ALL(1.497205562e-1f));
    q = fused(q, t, ALL(9.027937297e-2f));
    vec below = q * t * e;
    *density = e * 0.3989422804f;
    return choose(x < ALL(0), below, 1 - below);
}

INLINE vec v_sqrt(vec x) {
    vec r;
    for (int j = 0; j < LANES; j++) r[j] = __builtin_sqrtf(x[j]);
    return r;
}
#endif

INLINE vec v_sigmoid(vec x) { return 1 / (v_exp(-x) + 1); }

/* ---- simple loops ---- */

static void body_add(size_t n, const real *a, const real *b, real *y) {
    for (size_t i = 0; i < n; i += LANES) put(y + i, n - i, take(a + i, n - i) + take(b + i, n - i));
}

static void body_add_scaled(size_t n, const real *a, real s, const real *b, real *y) {
    for (size_t i = 0; i < n; i += LANES)
        put(y + i, n - i, fused(ALL(s), take(b + i, n - i), take(a + i, n - i)));
}

static void body_mul(size_t n, const real *a, const real *b, real *y) {
    for (size_t i = 0; i < n; i += LANES) put(y + i, n - i, take(a + i, n - i) * take(b + i, n - i));
}

static void body_mul_to(size_t n, const real *a, const real *b, real *y) {
    for (size_t i = 0; i < n; i += LANES)
        put(y + i, n - i, fused(take(a + i, n - i), take(b + i, n - i), take(y + i, n - i)));
}

static void body_scale(size_t n, real s, const real *a, real *y) {
    for (size_t i = 0; i < n; i += LANES) put(y + i, n - i, s * take(a + i, n - i));
}

/* Products of floats are exact in double; sixteen sums hide the latency of an addition. */
enum { DOT_SUMS = 16 };

/* Not inlined: the compiler would otherwise recompute sum[0], to which the last elements are added. */
static void __attribute__((noinline)) dot_sums(size_t n, const real *a, const real *b, double *sum) {
    double s[DOT_SUMS] = { 0 };
    for (size_t i = 0; i < n; i += DOT_SUMS)
        for (size_t j = 0; j < DOT_SUMS; j++) s[j] = fused_double((double)a[i + j], (double)b[i + j], s[j]);
    memcpy(sum, s, sizeof s);
}

static double body_dot(size_t n, const real *a, const real *b) {
    double sum[DOT_SUMS];
    size_t i = n - n % DOT_SUMS;
    dot_sums(i, a, b, sum);
    for (; i < n; i++) sum[0] = fused_double((double)a[i], (double)b[i], sum[0]);
    double all = 0;
    for (int j = 0; j < DOT_SUMS; j++) all += sum[j];
    return all;
}

/* Blocks of sixteen rows are added in `real`, their sums in double. */
static void body_col_sum(int rows, int cols, real s, const real *x, const real *z, real beta,
                         real *out, double *sums) {
    enum { BLOCK = 16 };
    size_t d = (size_t)cols, n = (size_t)rows;
    for (size_t j = 0; j < d; j++) sums[j] = 0;
    for (size_t from = 0; from < n; from += BLOCK) {
        size_t to = from + BLOCK < n ? from + BLOCK : n;
        for (size_t j = 0; j < d; j += LANES) {
            vec sum = ALL(0);
            for (size_t i = from; i < to; i++) {
                vec v = take(x + i * d + j, d - j);
                sum = z ? fused(v, take(z + i * d + j, d - j), sum) : sum + v;
            }
            for (size_t c = 0; c < (size_t)LANES && c < d - j; c++) sums[j + c] += (double)sum[c];
        }
    }
    for (size_t j = 0; j < d; j++) {
        real sum = (real)((double)s * sums[j]);
        out[j] = beta == 0 ? sum + 0 : fused_one(beta, out[j], sum);
    }
}

/* ---- activations ---- */

/* sigmoid(2u) with u of the tanh form of GELU: 0.5(1 + tanh u). */
INLINE vec gelu_gate(vec x) {
    return v_sigmoid(x * fused(x * x, ALL(0.07135481627159665), ALL(1.5957691216057308)));
}

INLINE vec act_value(enum act act, vec x) {
    vec density;
    switch (act) {
    case ACT_RELU: return choose(x <= ALL(0), ALL(0), x);
    case ACT_GELU: return x * v_normal(x, &density);
    case ACT_GELU_TANH: return x * gelu_gate(x);
    case ACT_SILU: return x * v_sigmoid(x);
    case ACT_TANH: return v_tanh(x);
    case ACT_SIGMOID: return v_sigmoid(x);
    default: return x;
    }
}

INLINE vec act_slope(enum act act, vec x) {
    vec s, density;
    switch (act) {
    case ACT_RELU: return choose(x <= ALL(0), ALL(0), x - x + 1);
    case ACT_GELU: s = v_normal(x, &density); return fused(x, density, s);
    case ACT_GELU_TANH:
        s = gelu_gate(x);
        return fused(x * s * (1 - s), fused(x * x, ALL(0.21406444881479), ALL(1.5957691216057308)), s);
    case ACT_SILU: s = v_sigmoid(x); return s * fused(x, 1 - s, ALL(1));
    case ACT_TANH: s = v_tanh(x); return fused(-s, s, ALL(1));
    case ACT_SIGMOID: s = v_sigmoid(x); return s * (1 - s);
    default: return ALL(1);
    }
}

/* One loop per activation: the switch is outside of it. */
#define FOR_EACH_ACT(DO)                                                                           \
    switch (act) {                                                                                 \
    case ACT_RELU: DO(ACT_RELU); break;                                                            \
    case ACT_GELU: DO(ACT_GELU); break;                                                            \
    case ACT_GELU_TANH: DO(ACT_GELU_TANH); break;                                                  \
    case ACT_SILU: DO(ACT_SILU); break;                                                            \
    case ACT_TANH: DO(ACT_TANH); break;                                                            \
    case ACT_SIGMOID: DO(ACT_SIGMOID); break;                                                      \
    default: DO(ACT_NONE); break;                                                                  \
    }

static void body_act(enum act act, size_t n, const real *x, real *y) {
#define DO(which)                                                                                  \
    for (size_t i = 0; i < n; i += LANES) put(y + i, n - i, act_value(which, take(x + i, n - i)))
    FOR_EACH_ACT(DO)
#undef DO
}

static void body_act_back(enum act act, size_t n, const real *x, const real *dy, real *dx) {
#define DO(which)                                                                                  \
    for (size_t i = 0; i < n; i += LANES)                                                          \
        put(dx + i, n - i, take(dy + i, n - i) * act_slope(which, take(x + i, n - i)))
    FOR_EACH_ACT(DO)
#undef DO
}

static void body_act_slope(enum act act, size_t n, real *x, real *y) {
#define DO(which)                                                                                  \
    for (size_t i = 0; i < n; i += LANES) {                                                        \
        vec v = take(x + i, n - i);                                                                \
        put(y + i, n - i, act_value(which, v));                                                    \
        put(x + i, n - i, act_slope(which, v));                                                    \
    }
    FOR_EACH_ACT(DO)
#undef DO
}

/* ---- norms ---- */

static void body_norm(int rows, int cols, bool center, double eps, const real *x,
                      const real *residual, const real *gamma, const real *beta, real *y,
                      real *normed, real *inverse) {
    size_t d = (size_t)cols;
    for (int i = 0; i < rows; i++) {
        vec sum = ALL(0), square = ALL(0);
        for (size_t j = 0; j < d; j += LANES) {
            vec v = take(x + j, d - j);
            if (residual) v += take(residual + j, d - j);
            sum += v;
            put(y + j, d - j, v);
        }
        real mean = center ? (real)(total(sum) / cols) : 0;
        for (size_t j = 0; j < d; j += LANES) {
            vec v = first_lanes(take(y + j, d - j) - mean, d - j, 0);
            square = fused(v, v, square);
        }
        real inv = (real)(1 / sqrt(total(square) / cols + eps));
        if (inverse) inverse[i] = inv;
        for (size_t j = 0; j < d; j += LANES) {
            vec v = (take(y + j, d - j) - mean) * inv;
            if (normed) put(normed + j, d - j, v);
            vec by = take(gamma + j, d - j);
            put(y + j, d - j, beta ? fused(v, by, take(beta + j, d - j)) : v * by);
        }
        x += d, y += d;
        if (residual) residual += d;
        if (normed) normed += d;
    }
}

static void body_norm_back(int rows, int cols, bool center, const real *gamma, const real *normed,
                           const real *inverse, const real *dy, real *dz) {
    size_t d = (size_t)cols;
    for (int i = 0; i < rows; i++, normed += d, dy += d, dz += d) {
        vec sum = ALL(0), dot = ALL(0);
        for (size_t j = 0; j < d; j += LANES) {
            vec g = take(dy + j, d - j) * take(gamma + j, d - j);
            sum += g;
            dot = fused(g, take(normed + j, d - j), dot);
        }
        real mean = center ? (real)(total(sum) / cols) : 0, along = (real)(total(dot) / cols);
        for (size_t j = 0; j < d; j += LANES) {
            vec g = fused(take(dy + j, d - j), take(gamma + j, d - j), ALL(-mean));
            put(dz + j, d - j, fused(take(normed + j, d - j), ALL(-along), g) * inverse[i]);
        }
    }
}

/* ---- softmax ---- */

static void body_softmax(int rows, int cols, int first, int more, real *s) {
    for (int i = 0; i < rows; i++, s += cols) {
        int live = first + i * more < cols ? first + i * more : cols;
        size_t n = live > 0 ? (size_t)live : 0;
        vec tops = ALL(-INFINITY), sum = ALL(0);
        for (size_t j = 0; j < n; j += LANES) {
            vec v = first_lanes(take(s + j, n - j), n - j, -INFINITY);
            tops = choose(v > tops, v, tops);
        }
        real top = largest(tops);
        for (size_t j = 0; j < n; j += LANES) {
            vec v = v_exp(take(s + j, n - j) - top);
            put(s + j, n - j, v);
            sum += first_lanes(v, n - j, 0);
        }
        real inverse = 1 / total(sum);
        for (size_t j = 0; j < n; j += LANES) put(s + j, n - j, take(s + j, n - j) * inverse);
        for (size_t j = n; j < (size_t)cols; j++) s[j] = 0;
    }
}

static void body_softmax_back(int rows, int cols, const real *p, const real *dp, real *ds) {
    size_t n = (size_t)cols;
    for (int i = 0; i < rows; i++, p += n, dp += n, ds += n) {
        vec sum = ALL(0);
        for (size_t j = 0; j < n; j += LANES) sum = fused(take(p + j, n - j), take(dp + j, n - j), sum);
        real along = total(sum);
        for (size_t j = 0; j < n; j += LANES)
            put(ds + j, n - j, take(p + j, n - j) * (take(dp + j, n - j) - along));
    }
}

#include "core/engine/kernel_few_body.h"
#include "core/engine/kernel_thin_body.h"

static real body_largest(size_t n, const real *x) {
    vec tops = ALL(-INFINITY);
    for (size_t i = 0; i < n; i += LANES) {
        vec v = first_lanes(take(x + i, n - i), n - i, -INFINITY);
        tops = choose(v > tops, v, tops);
    }
    return largest(tops);
}

static real body_log_sum(size_t n, real top, const real *x) {
    enum { PART = 64 * LANES };
    double all = 0;
    for (size_t from = 0; from < n; from += PART) {
        size_t to = from + PART < n ? from + PART : n;
        vec sum = ALL(0);
        for (size_t i = from; i < to; i += LANES)
            sum += first_lanes(v_exp(take(x + i, to - i) - top), to - i, 0);
        all += (double)total(sum);
    }
    return (real)log(all);
}

static double body_exp_sum(size_t n, real top, real *x, double *above) {
    enum { PART = 64 * LANES };
    double all = 0, plain = 0;
    for (size_t from = 0; from < n; from += PART) {
        size_t to = from + PART < n ? from + PART : n;
        vec sum = ALL(0), over = ALL(0);
        for (size_t i = from; i < to; i += LANES) {
            vec v = take(x + i, to - i) - top, e = v_exp(v);
            put(x + i, to - i, e);
            sum += first_lanes(e, to - i, 0);
            over += first_lanes(v, to - i, 0);
        }
        all += (double)total(sum);
        plain += (double)total(over);
    }
    *above = plain;
    return all;
}

static void body_scale_shift(size_t n, real s, real shift, real *x) {
    for (size_t i = 0; i < n; i += LANES) put(x + i, n - i, fused(ALL(s), take(x + i, n - i), ALL(shift)));
}

/* Written for the compiler's own vectors. */
static void body_bf16(size_t n, real s, const real *x, uint16_t *y) {
    for (size_t i = 0; i < n; i++) {
        union {
            float value;
            uint32_t bits;
        } u = { (float)(s * x[i]) };
        uint32_t rounded = (u.bits + 0x7fffu + ((u.bits >> 16) & 1)) >> 16, quiet = u.bits >> 16 | 0x40;
        y[i] = (uint16_t)((u.bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
    }
}

/* ---- optimizer, dropout ---- */

static void body_adam(const struct kernel_adam *k, size_t n, real *p, const real *g, real *m,
                      real *v) {
    for (size_t i = 0; i < n; i += LANES) {
        vec grad = take(g + i, n - i);
        vec first = fused(ALL(k->keep1), take(m + i, n - i), k->take1 * grad);
        vec second = fused(ALL(k->keep2), take(v + i, n - i), k->take2 * (grad * grad));
        put(m + i, n - i, first);
        put(v + i, n - i, second);
        vec step = k->step * first / fused(ALL(k->root), v_sqrt(second), ALL(k->eps));
        put(p + i, n - i, fused(ALL(k->decay), take(p + i, n - i), -step));
    }
}

/* Two rounds of multiply and shift on (channel, 64-bit row key): every bit of the key and
 * of the channel reaches every bit of the result. */
#define CHANNEL_STEP 0x9E3779B1u
/* h: channel · CHANNEL_STEP + key. */
#define CHANNEL_HASH(h, key)                                                                       \
    do {                                                                                           \
        h ^= h >> 16;                                                                              \
        h *= 0x21F0AAADu;                                                                          \
        h ^= (uint32_t)((key) >> 32);                                                              \
        h ^= h >> 15;                                                                              \
        h *= 0xD35A2D97u;                                                                          \
        h ^= h >> 15;                                                                              \
    } while (0)

static void body_dropout(uint64_t key, uint32_t drop, real keep, size_t n, const real *x, real *y) {
#if REAL_IS_DOUBLE
    for (size_t i = 0; i < n; i++) {
        uint32_t h = (uint32_t)i * CHANNEL_STEP + (uint32_t)key;
        CHANNEL_HASH(h, key);
        y[i] = h >> 8 < drop ? 0 : x[i] * keep;
    }
#else
    typedef uint32_t uvec __attribute__((vector_size(LANES * sizeof(uint32_t))));
    uvec next;
    for (uint32_t j = 0; j < LANES; j++) next[j] = j * CHANNEL_STEP + (uint32_t)key;
    for (size_t i = 0; i < n; i += LANES, next += (uint32_t)LANES * CHANNEL_STEP) {
        uvec h = next;
        CHANNEL_HASH(h, key);
        ivec kept = (ivec)(h >> 8) >= (int32_t)drop;
        put(y + i, n - i, (vec)((ivec)(take(x + i, n - i) * keep) & kept));
    }
#endif
}

static void body_exp(size_t n, const real *x, real *y) {
    for (size_t i = 0; i < n; i += LANES) put(y + i, n - i, v_exp(take(x + i, n - i)));
}

static void body_tanh(size_t n, const real *x, real *y) {
    for (size_t i = 0; i < n; i += LANES) put(y + i, n - i, v_tanh(take(x + i, n - i)));
}

static void body_normal(size_t n, const real *x, real *y) {
    vec density;
    for (size_t i = 0; i < n; i += LANES) put(y + i, n - i, v_normal(take(x + i, n - i), &density));
}

const struct kernels KERNELS = {
    body_add,  body_add_scaled, body_mul,       body_mul_to,  body_scale,        body_dot,
    body_col_sum, body_act,     body_act_back,  body_act_slope, body_norm,    body_norm_back,    body_softmax,
    body_softmax_back, body_few_rows, body_thin_add, body_thin_sum,
    body_largest, body_log_sum, body_exp_sum, body_scale_shift, body_bf16,
    body_adam, body_dropout, body_exp, body_tanh, body_normal,
};
