/* The named parts of a loss on Train: which of them the large chart shows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "views/plot_many.h"
#include "views/train.h"
#include "views/ui.h"
#include "views/ui_parts.h"

/* "instance" of "loss.instance". */
static const char *short_name(const struct series_term *t) {
    const char *dot = strchr(t->name, '.');
    return dot ? dot + 1 : t->name;
}

struct plot_data train_term_data(const struct series_term *t) {
    return (struct plot_data){ t->step, t->loss, t->count };
}

const struct series_term *train_term(const struct train_view *v) {
    bool one = !v->shown_task && v->shown_term >= 1 && v->shown_term <= v->series.terms;
    return one ? &v->series.term[v->shown_term - 1] : NULL;
}

bool train_all_terms(const struct train_view *v) {
    return v->series.terms && !v->shown_task && v->shown_term == v->series.terms + 1;
}

void train_next_term(struct train_view *v) {
    /* the first where a task was shown: they are of all tasks together */
    v->shown_term = v->shown_task ? 1 : v->shown_term > v->series.terms ? 0 : v->shown_term + 1;
    v->shown_task = 0;
    v->look.y.set = v->look.metric_y.set = false;
}

const char *train_terms_hint(const struct train_view *v) {
    if (!v->series.terms) return NULL;
    return v->shown_task || v->shown_term < v->series.terms ? "next component"
           : v->shown_term == v->series.terms               ? "all components"
                                                            : "total loss";
}

void train_terms_title(const struct train_view *v, struct buf *out) {
    buf_puts(out, "loss components");
    for (int i = 0; i < v->series.terms; i++)
        buf_printf(out, "  %c %s", (int)plot_mark(i), short_name(&v->series.term[i]));
}

void train_terms_readout(const struct train_view *v, double step, struct buf *out) {
    for (int i = 0; i < v->series.terms; i++) {
        struct plot_data d = train_term_data(&v->series.term[i]);
        char value[32] = "\u2013";
        size_t at = d.count ? plot_nearest(&d, step) : 0;
        if (d.count && d.step[at] == step && isfinite(d.value[at]))
            snprintf(value, sizeof value, "%.4f", d.value[at]);
        buf_printf(out, "   %c %s %s", (int)plot_mark(i), short_name(&v->series.term[i]), value);
    }
}
