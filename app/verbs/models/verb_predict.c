/* petri predict: predictions of a run or a model for texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/verbs/input.h"
#include "app/verbs/open.h"
#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/train/run/score.h"
#include "core/train/use/fill.h"

/* Whether output i is predicted: the most probable one, or, with several labels per text, each with a
 * probability of 0.5 or above. */
static bool is_predicted(const struct opened *o, const double *p, int i) {
    return predictor_is_multilabel(o->predictor) ? p[i] >= 0.5 : i == argmax(p, o->names);
}

static void add_predicted(const struct opened *o, const double *p, struct buf *b) {
    if (!predictor_is_multilabel(o->predictor)) {
        json_member_string(b, "label", o->name[argmax(p, o->names)]);
        return;
    }
    json_open(b, "labels", '[');
    for (int i = 0; i < o->names; i++)
        if (is_predicted(o, p, i)) json_member_string(b, NULL, o->name[i]);
    buf_putc(b, ']');
}

static void print_predicted(const struct opened *o, const double *p) {
    int printed = 0;
    for (int i = 0; i < o->names; i++) {
        if (!is_predicted(o, p, i)) continue;
        if (printed++) putchar(',');
        out_text(o->name[i]);
    }
    if (!printed) putchar('-');
}

static void print_prediction(const struct opened *o, const struct args *a, const struct example *row,
                             const double *p) {
    size_t k = (size_t)predictor_classes(o->predictor);
    if (a->json) {
        struct buf b = BUF_INIT;
        buf_putc(&b, '{');
        if (!o->names) json_member_double(&b, "score", p[0]);
        if (o->names) {
            add_predicted(o, p, &b);
            json_open(&b, "probabilities", '{');
            for (size_t i = 0; i < k; i++) json_member_double(&b, o->name[i], p[i]);
            buf_putc(&b, '}');
        }
        json_member_bytes(&b, "text", row->a, row->a_size);
        buf_putc(&b, '}');
        out_line(&b);
        return;
    }
    if (!o->names) printf("%.6f", p[0]);
    if (o->names) {
        print_predicted(o, p);
        for (size_t i = 0; i < k; i++) {
            printf("\t");
            out_text(o->name[i]);
            printf(" %.4f", p[i]);
        }
    }
    printf("\t");
    out_bytes(row->a, row->a_size);
    putchar('\n');
}

/* Prints the answer of a text-to-text run, parsed where its task has labels. */
static void verb_predict_print_text(const struct opened *o, const struct args *a,
                                    const struct example *row, const char *given, size_t size) {
    bool any = predictor_label_kind(o->predictor) == DATA_TEXT;
    struct parsed p = { .label = -1 };
    if (!any) p = predictor_parse(o->predictor, given, size);
    if (a->json) {
        struct buf b = BUF_INIT;
        buf_putc(&b, '{');
        json_member_bytes(&b, "given", given, size);
        if (!any) json_member_bool(&b, "valid", p.valid);
        if (o->names) json_member_string(&b, "label", p.label >= 0 ? o->name[p.label] : NULL);
        else if (!any && p.valid) json_member_double(&b, "score", p.score);
        json_member_bytes(&b, "text", row->a, row->a_size);
        buf_putc(&b, '}');
        out_line(&b);
        return;
    }
    if (p.label >= 0) out_text(o->name[p.label]);
    else out_bytes(given, size);
    if (!any && !p.valid) printf("\tno valid output");
    printf("\t");
    out_bytes(row->a, row->a_size);
    putchar('\n');
}

static int write_rows(const struct opened *o, const struct args *a, struct dataset *d, struct crew *crew,
                      struct err *e) {
    const char *const column[2] = { o->config.text_column, o->config.text_b_column };
    struct example *row = xmalloc((d->examples + 1) * sizeof *row);
    struct written texts = { 0 };
    int64_t max_len;
    for (size_t i = 0; i < d->examples; i++) row[i] = d->example[i]; /* as given, before the text form */
    int rc = verb_max_len(o, a, &max_len, e);
    if (!rc && predictor_label_kind(o->predictor) != DATA_TEXT)
        rc = predictor_as_text(o->predictor, o->config.task, column, d, e);
    if (!rc) rc = predictor_encode_sources(o->predictor, d, (size_t)max_len, e);
    if (!rc) input_tell_cut(d);
    if (!rc) rc = predictor_answer(o->predictor, d, crew, &texts, e);
    for (size_t i = 0; !rc && i < d->examples; i++)
        verb_predict_print_text(o, a, &row[i], texts.text[i], texts.size[i]);
    written_release(&texts);
    free(row);
    return rc;
}

static int predict_rows(const struct opened *o, const struct args *a, struct dataset *d, struct crew *crew,
                        struct err *e) {
    int64_t max_len;
    int rc = verb_max_len(o, a, &max_len, e);
    if (!rc) rc = dataset_encode(d, o->model->tokenizer, (size_t)max_len, 0, o->model->arch.vocabulary, e);
    if (!rc) input_tell_cut(d);
    size_t k = (size_t)predictor_classes(o->predictor);
    double *p = rc ? NULL : mem_try(d->examples * k, sizeof *p);
    if (!rc && !p)
        rc = err_set(e, ERR_SYSTEM, "out of memory for predictions: %zu examples × %zu outputs", d->examples,
                     k);
    if (!rc) rc = predictor_run(o->predictor, d, crew, p, NULL, e);
    for (size_t i = 0; !rc && i < d->examples; i++) print_prediction(o, a, &d->example[i], p + i * k);
    free(p);
    return rc;
}

/* ---- masked words ---- */

static void fill_print(const struct args *a, const struct model *m, const char *text,
                       const struct filled *f) {
    struct buf b = BUF_INIT;
    bool json = a->json;
    if (json) {
        json_put(&b, "{model:%s,text:%s,masks:[", m->name, text);
    }
    for (int i = 0; i < f->masks; i++) {
        if (i) json ? buf_putc(&b, ',') : (void)putchar('\n');
        if (json) buf_putc(&b, '[');
        for (int k = 0; k < f->words; k++) {
            const struct filled_word *w = &f->word[i * f->words + k];
            const char *word = tokenizer_token(m->tokenizer, w->id);
            if (!json) {
                out_text(word);
                printf("\t%.4f\n", w->probability);
                continue;
            }
            buf_puts(&b, k ? ",{" : "{");
            json_put(&b, "word:%s,probability:%f}", word, w->probability);
        }
        if (json) buf_putc(&b, ']');
    }
    if (json) {
        buf_puts(&b, "]}");
        out_line(&b);
    }
    buf_release(&b);
}

/* --fill: with a masked language modeling run, or the head of a model. */
static int predict_fill(const struct args *a, const char *text, struct err *e) {
    struct opened o = { 0 };
    struct filled f = { 0 };
    struct crew *crew;
    int rc;
    verb_crew(a, &crew);
    if (a->count) {
        rc = verb_open_typed(&o, a, a->positional[0], e);
    } else {
        o.model = model_share_as(verb_model(a), (enum weights_in)a->weights_in, e);
        o.predictor = o.model ? predictor_of_words(o.model, e) : NULL;
        rc = o.predictor ? 0 : e->code;
    }
    if (!rc) rc = verb_precision(&o, a, e);
    if (!rc)
        rc = predictor_fill(o.predictor, text, strlen(text), (int)a->predict.top, crew,
                            &f, e);
    if (!rc) fill_print(a, o.model, text, &f);
    filled_release(&f);
    opened_release(&o);
    crew_free(crew);
    return rc;
}

int verb_predict(const struct args *a, struct err *e) {
    struct opened o;
    struct input in;
    struct crew *crew;
    if (a->predict.fill) return predict_fill(a, a->predict.fill, e);
    verb_crew(a, &crew);
    int rc = verb_open(&o, a, e);
    if (!rc) {
        rc = input_open(&in, a, opened_reader(&o), e);
        if (!rc) {
            rc = (predictor_writes(o.predictor) ? write_rows : predict_rows)(&o, a, &in.data, crew, e);
            input_release(&in);
        }
        opened_release(&o);
    }
    crew_free(crew);
    return rc;
}
