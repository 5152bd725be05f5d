/* P: l learned rows that join every sequence of the encoder, as if they were tokens. */
#include <stdio.h>

#include "core/method/check.h"
#include "core/method/count.h"
#include "core/method/fn.h"
#include "core/method/prompt_rows.h"

static bool fit(const struct module *m, const struct arch *a, struct slot_shape *out) {
    out->rows = prompt_rows_kept(m, a);
    return true;
}

static const struct function_slot slots[] = {
    { SLOT_OWN, "P", START_DRAWN, .rows = DIM_SIZE, .cols = DIM_WRITE, .fit = fit },
    { 0 },
};

/* ---- rules, counts, texts ---- */

static bool check(struct check *c, const struct module *m) {
    if (m->comp != COMP_CONCAT) {
        ERROR(c, "V13", "rows of a prompt join the sequence: leave comp= out");
        return false;
    }
    return true;
}

static void advise(struct check *c, const struct module *m) {
    int longest = c->a->positions ? arch_longest(c->a) : m->size + 3;
    if (m->stack == STACK_DECODER)
        ERROR(c, "V14",
              "rows of a prompt in the decoder would move its targets, which is not built: they join the "
              "encoder (stack=encoder)");
    if (m->write == TAP_EMBED_WORDS && m->size + 3 > longest)
        ERROR(c, "V19",
              "l = %d rows take positions of their own and the model has %d: no text fits behind them",
              m->size, longest);
    if (m->pool == POOL_ROW0 && !c->a->decoder_layers)
        WARN(c, "V31",
             "the classifier reads row 0, which is a row of the prompt: pool=cls reads the text's first "
             "token, as the model was trained to");
    if (source_width(m->source) && (m->source == SOURCE_MLP || m->source == SOURCE_LSTM))
        INFO(c, "V35",
             "P-tuning without a template and a verbaliser: a prompt in front of the text whose rows a "
             "network makes while it is trained");
}

static void terms(struct terms *t, const struct module *m, const struct arch *a) {
    bool twice = prompt_rows_kept(m, a) > m->size;
    if (twice) terms_add(t, "2·l·d", "2·%d·%d", m->size, a->width);
    else terms_add(t, "l·d", "%d·%d", m->size, a->width);
}

static void formula(const struct module *m, const struct formula_words *w, char out[160]) {
    static const char *const made[SOURCE_COUNT] = { [SOURCE_MLP] = " = MLP(E)",
                                                    [SOURCE_LSTM] = " = MLP(LSTM(E))",
                                                    [SOURCE_PRODUCT] = " = P \u2299 (u_\u03C4 v_\u03C4)" };
    snprintf(out, 160, "P%s%s, %d rows", w->sub, made[m->source] ? made[m->source] : "", m->size);
}

static void label(const struct module *m, const struct arch *a, char out[64]) {
    if (a) snprintf(out, 64, "P %d\u00D7%d", m->size, a->width);
    else snprintf(out, 64, "P l %d", m->size);
}

const struct function function_prompt = {
    .name = "prompt",
    .title = "prompt rows",
    .says = "l learned rows that join the sequence of the encoder as if they were tokens: [P; X]. What "
            "prompt tuning trains.",
    .sign = "P",
    .form = FORM_ROWS,
    .keys = TAKES_PLACE | TAKES_L | TAKES_MLP | TAKES_SOURCE | TAKES_INIT | TAKES_ROWS,
    .comps = COMPS_CONCAT,
    .usual = { .size = 20,
               .write = TAP_EMBED_WORDS,
               .comp = COMP_CONCAT,
               .init = INIT_VOCABULARY,
               .stack = STACK_ENCODER },
    .made_init = INIT_NORMAL,
    .slots = slots,
    .check = check,
    .advise = advise,
    .terms = terms,
    .formula = formula,
    .label = label,
    .unmerged = "rows of a prompt stand beside the tokens: no weight of the model does the same",
};
