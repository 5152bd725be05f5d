/* Generation settings of a model folder. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/generate.h"

enum { FILE_LIMIT = 1 << 20, LIBRARY_MOST = 20, CAUSAL_MOST = 256, LIBRARY_TOP_K = 50 };

/* The file being read; the first error stays in *e. */
struct options_reading {
    const char *file;
    const json_t *object;
    bool own;              /* generation_config.json, not config.json */
    const struct arch *arch;
    struct buf *report;
    struct err *e;
};

static int int_of(struct options_reading *r, const char *key, int fallback, int lo, int hi) {
    json_int_t v = fallback;
    if (r->e->code || !json_get_int(r->object, r->file, key, &v, r->e)) return fallback;
    if (v >= lo && v <= hi) return (int)v;
    err_set(r->e, ERR_INPUT, "%s: \"%s\": %lld is not between %d and %d", r->file, key, (long long)v,
            lo, hi);
    return fallback;
}

static int32_t token_of(struct options_reading *r, const char *key, int32_t fallback) {
    return int_of(r, key, fallback, 0, r->arch->vocabulary - 1);
}

/* A forced token: none for null, and none if a generation_config.json omits it; the default of the family if
 * config.json does. */
static int32_t forced_of(struct options_reading *r, const char *key, int32_t habit) {
    bool null = json_is_null(json_object_get(r->object, key));
    return token_of(r, key, null || r->own ? -1 : habit);
}

static void add_end(struct options_reading *r, struct generate_options *o, const json_t *id) {
    json_int_t v = json_is_integer(id) ? json_integer_value(id) : -1;
    if (v < 0 || v >= r->arch->vocabulary)
        err_set(r->e, ERR_INPUT, "%s: \"eos_token_id\": must be a token id from 0 to %d", r->file,
                r->arch->vocabulary - 1);
    else if (o->ends == END_TOKENS)
        err_set(r->e, ERR_INPUT, "%s: \"eos_token_id\": at most %d token ids are supported", r->file,
                END_TOKENS);
    else
        o->end[o->ends++] = (int32_t)v;
}

/* One id, or a list. */
static void read_ends(struct options_reading *r, struct generate_options *o) {
    const json_t *v = json_object_get(r->object, "eos_token_id");
    if (r->e->code) return;
    if (!v || json_is_null(v)) {
        o->ends = r->arch->ends;
        memcpy(o->end, r->arch->end, sizeof o->end);
        return;
    }
    if (!json_is_array(v)) {
        add_end(r, o, v);
        return;
    }
    size_t i;
    const json_t *id;
    json_array_foreach(v, i, id) if (!r->e->code) add_end(r, o, id);
}

static void read_early(struct options_reading *r, struct generate_options *o) {
    const json_t *v = json_object_get(r->object, "early_stopping");
    const char *word = json_string_value(v);
    if (r->e->code || !v || json_is_null(v)) return;
    if (json_is_boolean(v)) o->early = json_is_true(v) ? EARLY_FULL : EARLY_HEURISTIC;
    else if (word && !strcmp(word, "never")) o->early = EARLY_NEVER;
    else err_set(r->e, ERR_INPUT, "%s: \"early_stopping\": must be true, false or \"never\"", r->file);
}

/* Lengths in the files include the start token, or the prompt, unless they are called "new". */
static void read_lengths(struct options_reading *r, struct generate_options *o) {
    int longest = arch_max_length(r->arch);
    bool causal = r->arch->causal;
    int most = causal ? 0 : int_of(r, "max_length", 0, 0, INT32_MAX);
    o->max_new = causal ? CAUSAL_MOST : most ? most - 1 : LIBRARY_MOST;
    o->max_new = int_of(r, "max_new_tokens", o->max_new, 1, INT32_MAX);
    if (o->max_new < 1) o->max_new = 1;
    if (o->max_new > longest) o->max_new = longest;
    o->min_new = causal ? 0 : int_of(r, "min_length", 0, 0, INT32_MAX) - 1;
    o->min_new = int_of(r, "min_new_tokens", o->min_new, 0, INT32_MAX);
    if (o->min_new < 0) o->min_new = 0;
    if (o->min_new > o->max_new) o->min_new = o->max_new;
}

/* Settings that would change the text and are not supported. */
static void report_unsupported(const struct options_reading *r) {
    static const struct {
        const char *key;
        double plain; /* the value without effect */
    } known[] = {
        { "num_beam_groups", 1 }, { "diversity_penalty", 0 }, { "encoder_repetition_penalty", 1 },
        { "encoder_no_repeat_ngram_size", 0 }, { "bad_words_ids", NAN },
        { "force_words_ids", NAN }, { "suppress_tokens", NAN }, { "begin_suppress_tokens", NAN },
        { "sequence_bias", NAN }, { "exponential_decay_length_penalty", NAN },
        { "renormalize_logits", 0 }, { "penalty_alpha", NAN }, { "guidance_scale", 1 },
        { "stop_strings", NAN }, { "watermarking_config", NAN }, { "typical_p", 1 }, { "top_h", NAN },
        { "epsilon_cutoff", 0 }, { "eta_cutoff", 0 },
    };
    for (size_t i = 0; r->report && i < COUNT_OF(known); i++) {
        const json_t *v = json_object_get(r->object, known[i].key);
        double number = json_is_true(v) ? 1 : json_is_false(v) ? 0 : json_number_value(v);
        bool plain = !v || json_is_null(v) || (!json_is_array(v) && !json_is_object(v) &&
                                               !json_is_string(v) && number == known[i].plain);
        if (!plain) text_line(r->report, "%s: \"%s\" is not supported and is ignored", r->file, known[i].key);
    }
}

static double number_of(struct options_reading *r, const char *key, double fallback, double lo, double hi) {
    double v = fallback;
    if (r->e->code || !json_get_double(r->object, r->file, key, &v, r->e)) return fallback;
    if (v >= lo && v <= hi) return v;
    err_set(r->e, ERR_INPUT, "%s: \"%s\": %g is not between %g and %g", r->file, key, v, lo, hi);
    return fallback;
}

/* The settings of sampling, which only an option turns on. */
static void read_sampling(struct options_reading *r, struct generate_options *o) {
    o->repetition = number_of(r, "repetition_penalty", 1, SAMPLE_LEAST, SAMPLE_MOST);
    o->sampling.temperature = number_of(r, "temperature", 1, 0, SAMPLE_MOST);
    if (o->sampling.temperature < SAMPLE_LEAST) o->sampling.temperature = 1; /* 0: greedy decoding */
    o->sampling.top_k = int_of(r, "top_k", LIBRARY_TOP_K, 0, INT32_MAX);
    o->sampling.top_p = number_of(r, "top_p", 1, 0, 1);
    o->sampling.min_p = number_of(r, "min_p", 0, 0, 1);
    if (json_is_true(json_object_get(r->object, "do_sample")) && r->report)
        text_line(r->report,
                  "%s: \"do_sample\" is ignored: decoding is greedy unless a sampling option is given",
                  r->file);
}

static void generate_options_read_all(struct options_reading *r, struct generate_options *o) {
    const struct arch *a = r->arch;
    o->beams = int_of(r, "num_beams", 1, 1, BEAMS_MOST);
    read_lengths(r, o);
    if (!r->e->code) json_get_double(r->object, r->file, "length_penalty", &o->length_penalty, r->e);
    read_early(r, o);
    o->no_repeat = int_of(r, "no_repeat_ngram_size", 0, 0, GENERATE_MOST);
    o->start = token_of(r, "decoder_start_token_id", a->decoder_start);
    read_ends(r, o);
    o->forced_first = forced_of(r, "forced_bos_token_id", a->forced_bos);
    o->forced_last = forced_of(r, "forced_eos_token_id", a->forced_eos);
    read_sampling(r, o);
    report_unsupported(r);
}

static int no_decoder(const struct model *m, struct err *e) {
    return err_set(e, ERR_USAGE,
                   "%s: an encoder-only model (%s) cannot generate text; use petri predict or petri embed",
                   m->folder, family_name(m->arch.family));
}

static bool writes_text(const struct model *m) { return m->arch.causal || arch_generates(&m->arch); }

/* Takes ownership of `object`; NULL when it could not be read, for the reason in *first. */
static int read_object(const struct arch *a, const char *file, json_t *object, bool own,
                       struct generate_options *out, struct buf *report, struct err *first,
                       struct err *e) {
    *out = (struct generate_options){ .length_penalty = 1, .repetition = 1 };
    if (object && !json_is_object(object)) err_set(first, ERR_INPUT, "%s: must be a JSON object", file);
    struct options_reading r = { file, object, own, a, report, first };
    if (!first->code) generate_options_read_all(&r, out);
    json_decref(object);
    if (first->code && e) *e = *first;
    return first->code;
}

int generate_parse(const struct arch *a, const char *name, const char *bytes, size_t n,
                   struct generate_options *out, struct buf *report, struct err *e) {
    struct err first = ERR_INIT;
    json_t *object = json_parse(name, bytes, n, &first);
    return read_object(a, name, object, true, out, report, &first, e);
}

/* Control tokens that are spelled like the end of a text or a turn end one, as in llama.cpp: files often name only one
 * of several. */
static void add_spelled_ends(const struct model *m, struct generate_options *o) {
    static const char *const names[] = { "<|endoftext|>", "<|end_of_text|>", "</s>", "<|im_end|>",
                                         "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        int32_t id = tokenizer_id(m->tokenizer, names[i]);
        bool end = id >= 0 && id < m->arch.vocabulary && !tokenizer_is_word(m->tokenizer, id);
        for (int k = 0; k < o->ends; k++) end &= o->end[k] != id;
        if (end && o->ends < END_TOKENS) o->end[o->ends++] = id;
    }
}

int generate_defaults(const struct model *m, struct generate_options *out, struct buf *report,
                      struct err *e) {
    struct err first = ERR_INIT;
    if (!writes_text(m)) return no_decoder(m, e);
    bool folder = file_is_folder(m->folder); /* otherwise a GGUF file, without such settings */
    char *file = folder ? file_join(m->folder, "generation_config.json") : xstrdup(m->folder);
    bool own = !folder || file_exists(file);
    if (!own) {
        free(file);
        file = file_join(m->folder, "config.json");
    }
    json_t *object = folder ? json_read(file, FILE_LIMIT, &first) : json_object();
    int rc = read_object(&m->arch, file, object, own, out, report, &first, e);
    if (m->tokenizer) out->words = tokenizer_size(m->tokenizer);
    if (m->tokenizer && m->arch.causal) add_spelled_ends(m, out);
    free(file);
    return rc;
}

int generate_check(const struct model *m, const struct generate_options *o, struct err *e) {
    int longest = arch_max_length(&m->arch);
    if (!writes_text(m)) return no_decoder(m, e);
    if (o->beams < 1 || o->beams > BEAMS_MOST || 2 * o->beams > m->arch.vocabulary)
        return err_set(e, ERR_USAGE, "the number of beams must be between 1 and %d, and at most half of "
                                     "the vocabulary size",
                       BEAMS_MOST);
    if (o->max_new < 1 || o->max_new > longest)
        return err_set(e, ERR_USAGE, "%s can generate 1 to %d tokens, not %d", m->name, longest, o->max_new);
    if (o->min_new < 0) return err_set(e, ERR_USAGE, "--min-new %d: must be at least 0", o->min_new);
    if (o->min_new > o->max_new)
        return err_set(e, ERR_USAGE, "--min-new %d: exceeds the maximum of %d new tokens; use a higher "
                                     "--max-new or a lower --min-new", o->min_new, o->max_new);
    if (o->beams > 1 && (o->sampling.on || o->stops))
        return err_set(e, ERR_USAGE, "%s with %d beams is not supported: use --beams 1",
                       o->sampling.on ? "sampling" : "a stop text", o->beams);
    if (!isfinite(o->length_penalty))
        return err_set(e, ERR_USAGE, "the length penalty is NaN or infinite");
    if (!m->arch.causal && (o->start < 0 || o->start >= m->arch.vocabulary))
        return err_set(
            e, ERR_USAGE,
            "%s: decoder_start_token_id is missing; use --start TOKEN (mBART: a language), or add it to "
            "generation_config.json",
            m->folder);
    return 0;
}

void generate_end_with(struct generate_options *o, int32_t id) {
    for (int i = 0; i < o->ends; i++)
        if (o->end[i] == id) return;
    if (id >= 0 && o->ends < END_TOKENS) o->end[o->ends++] = id;
}
