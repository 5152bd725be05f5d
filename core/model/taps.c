#include "core/model/taps.h"

const char *const tap_names[TAP_COUNT] = {
    [TAP_NONE] = "none",
    [TAP_A_RES] = "a.res",
    [TAP_A_IN] = "a.in",
    [TAP_A_Q] = "a.q",
    [TAP_A_K] = "a.k",
    [TAP_A_V] = "a.v",
    [TAP_A_HEAD] = "a.head",
    [TAP_A_CTX] = "a.ctx",
    [TAP_A_OUT] = "a.out",
    [TAP_A_END] = "a.end",
    [TAP_F_RES] = "f.res",
    [TAP_F_IN] = "f.in",
    [TAP_F_PRE] = "f.pre",
    [TAP_F_UP] = "f.up",
    [TAP_F_ACT] = "f.act",
    [TAP_F_OUT] = "f.out",
    [TAP_F_NORM] = "f.norm",
    [TAP_A_NORM] = "a.norm",
    [TAP_F_END] = "f.end",
    [TAP_EMBED] = "embed",
    [TAP_EMBED_WORDS] = "embed.words",
};

const struct hooks *hooks_plain(enum precision precision) {
    static const struct hooks bf16 = { .precision = PRECISION_BF16 };
    return precision == PRECISION_BF16 ? &bf16 : NULL;
}

const char *tap_name(enum tap tap) {
    return (unsigned)tap < TAP_COUNT ? tap_names[tap] : tap_names[TAP_NONE];
}
