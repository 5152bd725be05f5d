/* Texts written by an encoder–decoder model, as it is or with a run's trained method. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/verbs/input.h"
#include "app/verbs/open.h"
#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/attach.h"
#include "core/model/generate.h"

/* ---- the trained method ---- */

/* A run's method on one thread. */
struct method_hooks {
    const struct predictor *p;
    struct attach *attach;
};

static void *open_method(void *self) {
    const struct opened *o = self;
    struct method_hooks *h = xcalloc(1, sizeof *h);
    *h = (struct method_hooks){ o->predictor, attach_new(predictor_plan(o->predictor), o->model) };
    return h;
}

static const struct hooks *begin_method(void *hooks, struct tape *t) {
    const struct method_hooks *h = hooks;
    return attach_begin(h->attach, t, predictor_params(h->p), predictor_made(h->p), NULL);
}

static void close_method(void *hooks) {
    struct method_hooks *h = hooks;
    attach_free(h->attach);
    free(h);
}

/* ---- what is asked for ---- */

/* --model, or a run (by place or by --run), whose backbone --model must then be. */
static int verb_generate_open_writer(struct opened *from, const struct args *a, struct err *e) {
    const char *run = a->run, *where = a->model;
    *from = (struct opened){ 0 };
    if (a->count) run = a->positional[0];
    if (!run && !where)
        return err_set(e, ERR_USAGE, "petri generate needs RUN, or --model DIR");
    if (run) return verb_open_typed(from, a, run, e);
    from->model = model_share(where, e);
    return from->model ? 0 : e->code;
}

/* A token by its name or number. */
static int token_option(const char *name, const char *text, const struct model *m, int32_t *out,
                        struct err *e) {
    int64_t id;
    if (!text) return 0;
    if (!text_to_int(text, &id)) id = tokenizer_id(m->tokenizer, text);
    if (id < 0 || id >= m->arch.vocabulary)
        return err_set(e, ERR_USAGE, "--%s: %s has no token \"%s\"", name, m->name, text);
    *out = (int32_t)id;
    return 0;
}

static int verb_generate_options(const struct args *a, const struct model *m, struct generate_options *o,
                                 struct err *e) {
    const struct generate_given *given = &a->generate;
    struct buf report = BUF_INIT;
    int rc = generate_defaults(m, o, &report, e);
    out_report(buf_text(&report));
    buf_release(&report);
    if (given->beams) o->beams = (int)given->beams;
    if (given->max_new) o->max_new = (int)given->max_new;
    if (given->min_new >= 0) o->min_new = (int)given->min_new;
    else if (o->min_new > o->max_new) o->min_new = o->max_new; /* the folder's own */
    if (!isnan(given->length_penalty)) o->length_penalty = given->length_penalty;
    if (!rc) rc = token_option("start", given->start, m, &o->start, e);
    if (!rc) rc = token_option("first", given->first, m, &o->forced_first, e);
    return rc ? rc : generate_check(m, o, e);
}

/* ---- texts as they come ---- */

struct printer {
    const struct model *model;
    bool json;
};

static void print_row(void *self, size_t row, const struct generated *g) {
    const struct printer *p = self;
    struct buf text = BUF_INIT, line = BUF_INIT;
    (void)row;
    tokenizer_decode(p->model->tokenizer, g->ids, (size_t)g->count, true, &text);
    if (p->json) {
        buf_putc(&line, '{');
        json_member_bytes(&line, "text", buf_text(&text), text.size);
        json_open(&line, "ids", '[');
        for (int i = 0; i < g->count; i++) json_member_int(&line, NULL, g->ids[i]);
        buf_puts(&line, "]}");
        out_line(&line);
    } else {
        char *shown = text_visible(buf_text(&text), text.size);
        puts(shown);
        free(shown);
    }
    fflush(stdout); /* whoever reads a pipe sees it now */
    buf_release(&text);
    buf_release(&line);
}

static bool verb_generate_stop(void *self) {
    (void)self;
    return verb_interrupted();
}

static int generate_texts(struct opened *from, const struct generate_options *o, const struct dataset *d,
                          bool json, struct crew *crew, struct err *e) {
    const struct generate_sources sources = { d->rows, d->start, d->ids };
    const struct generate_method method = { from, open_method, begin_method, close_method };
    struct printer printer = { from->model, json };
    const struct generate_watch watch = { &printer, print_row, verb_generate_stop };
    struct generation g;
    for (size_t i = 0; i < d->rows; i++)
        if (d->start[i] == d->start[i + 1])
            return err_set(e, ERR_INPUT, "%s: line %zu has no tokens to write from", d->path, d->row[i].line);
    struct generated *out = mem_try(d->rows ? d->rows : 1, sizeof *out);
    if (!out) return err_set(e, ERR_SYSTEM, "no memory for %zu rows", d->rows);
    input_tell_cut(d);
    verb_catch_signals();
    generation_init(&g, from->model, o, &sources);
    int rc = generate_rows(&g, from->predictor ? &method : NULL, crew, &watch, out, e);
    generation_release(&g);
    generated_release(out, d->rows);
    free(out);
    return rc;
}

/* Whoever gives a bare text to a run of a labelled task most likely wants it put in the task's form. */
static void note_form(const struct opened *from) {
    if (!from->run || predictor_gold(from->predictor) == DATA_TEXT) return;
    fprintf(
        stderr,
        "petri: run %lld was trained on a labelled task in text form, and generate takes texts as they are: "
        "petri predict %lld puts them in that form\n",
        (long long)from->run, (long long)from->run);
}

int verb_generate(const struct args *a, struct err *e) {
    struct opened from;
    struct input in = { 0 };
    struct generate_options o;
    struct crew *crew;
    verb_crew(a, &crew);
    int rc = verb_generate_open_writer(&from, a, e);
    if (!rc && !from.model->tokenizer)
        rc = err_set(e, ERR_INPUT, "%s: has no tokenizer", from.model->folder);
    if (!rc) rc = verb_generate_options(a, from.model, &o, e);
    int64_t max_len = rc ? 0 : from.run ? predictor_max_len(from.predictor) : arch_longest(&from.model->arch);
    if (a->max_len) max_len = a->max_len;
    if (!rc) rc = args_within("max-length", max_len, 2, arch_longest(&from.model->arch), e);
    if (!rc) rc = input_open(&in, a, opened_reader(&from), e);
    if (!rc)
        rc = dataset_encode(&in.data, from.model->tokenizer, (size_t)max_len, 0, from.model->arch.vocabulary,
                            e);
    if (!rc) note_form(&from);
    if (!rc) rc = generate_texts(&from, &o, &in.data, a->json, crew, e);
    input_release(&in);
    opened_release(&from);
    crew_free(crew);
    return rc;
}
