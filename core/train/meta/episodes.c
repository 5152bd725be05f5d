#include "core/train/meta/episodes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/task.h"
#include "core/train/config/complete.h"

/* The examples of a split by class. */
struct class_list {
    const struct dataset *data;
    int classes;
    uint32_t *row, *start; /* class k: row[start[k]] … row[start[k+1]-1] */
};

struct episodes {
    struct regime regime;
    uint64_t seed;
    int tasks;
    struct class_list *list[2]; /* training, held-out */
    double *share;              /* running sums over the tasks */
    struct corpus *corpus;
    double mix;                 /* share of labeled episodes */
    struct buf report;
};

static const char episodes_of_words[] = "smlmt:";

static int check_episodes(const char *text, void *value, struct err *e) {
    (void)value;
    if (text_starts(text, episodes_of_words) && text[strlen(episodes_of_words)]) return 0;
    return err_set(e, ERR_USAGE, "--episodes %s: must be smlmt:FILE, a file with one sentence per line",
                   text);
}
const struct option_parser episodes_parser = { 0, check_episodes };
const char *episodes_file(const struct run_config *c) { return c->episodes + strlen(episodes_of_words); }

/* ---- labeled tasks ---- */

static void list_classes(struct class_list *l, const struct dataset *d, int classes) {
    l->data = d;
    l->classes = classes;
    l->row = xcalloc(d->examples + 1, sizeof *l->row);
    l->start = xcalloc((size_t)classes + 1, sizeof *l->start);
    uint32_t at = 0;
    for (int k = 0; k < classes; k++) {
        l->start[k] = at;
        for (size_t i = 0; i < d->examples; i++)
            if (d->example[i].label == k) l->row[at++] = (uint32_t)i;
    }
    l->start[classes] = at;
}

/* The split with the fewest labeled examples, and the maximum number of classes of a task. */
struct fewest {
    const struct split_facts *split;
    int classes;
};

/* Refuses a split with too few examples for an episode, and suggests a support and query that all splits
 * allow. */
static int check_fewest(const struct regime *r, const struct fewest *f, struct err *e) {
    if (!f->split || f->split->examples >= r->support + r->query) return 0;
    int batches = regime_batches(r), rows = f->split->examples;
    int batch = (int)((double)rows * r->support / (r->support + r->query) / batches),
        left = rows - batch * batches;
    char hint[120] = "use a task with more examples";
    if (batch >= f->classes && left > 0)
        snprintf(hint, sizeof hint, "use smaller episodes, for example --regime 'meta(support=%d, query=%d)'",
                 batch * batches, left < r->query ? left : r->query);
    return err_set(
        e, ERR_INPUT,
        "%s: too few labeled examples for an episode: found %d, and support and query need %d + %d; %s",
        f->split->path, rows, r->support, r->query, hint);
}

static int check_split(const struct regime *r, int classes, const struct split_facts *x, struct err *e) {
    int batch = r->support / regime_batches(r);
    if (x->empty) {
        char *name = text_visible(x->empty, strlen(x->empty));
        err_set(e, ERR_INPUT, "%s: class \"%.80s\" has no examples, and an episode needs examples of each "
                              "class", x->path,
                name);
        free(name);
        return e->code;
    }
    if (classes > batch)
        return err_set(
            e, ERR_INPUT,
            "%s: too many classes for an episode: found %d, but the first support batch has %d examples "
            "(%d in %d batches) and needs one per class; use a larger support or fewer inner "
            "steps",
            x->path, classes, batch, r->support, regime_batches(r));
    return 0;
}

static int check_task(const struct regime *r, const struct config_data_facts *t, struct fewest *f,
                      struct err *e) {
    if (t->label_kind != DATA_CLASSES)
        return err_set(e, ERR_USAGE, "%s: episodes need a classification task, and this task has %s", t->name,
                       task_kind_name(t->label_kind));
    if (t->classes == 1)
        return err_set(e, ERR_INPUT, "%s: the task has only one class", t->name);
    if (!t->dev)
        return err_set(
            e, ERR_USAGE,
            "%s: the task has no validation set, which held-out episodes need; use --split 20%%", t->name);
    if (t->classes > f->classes) f->classes = t->classes;
    for (int held = 0; held < 2 && t->classes; held++) {
        const struct split_facts *x = &t->split[held];
        if (check_split(r, t->classes, x, e)) return e->code;
        if (!f->split || x->examples < f->split->examples) f->split = x;
    }
    return 0;
}

/* Reads the options of corpus episodes. */
static int read_how(const struct run_config *c, const struct regime *r, struct corpus_how *how,
                    struct err *e) {
    int batch = r->support / regime_batches(r);
    *how = (struct corpus_how){
        .rule = c->words ? c->words->rule : CORPUS_UNIFORM,
        .clusters = c->words ? c->words->clusters : 0,
        .least = c->ways ? c->ways->least : 2, .most = c->ways ? c->ways->most : 5,
        .support = r->support, .query = r->query, .max_len = c->max_len, .seed = c->seed
    };
    if (how->most > batch)
        return err_set(e, ERR_USAGE,
                       "--ways %s: the first support batch has %d examples and needs one for each of %d "
                       "words; use a larger support or fewer inner steps",
                       c->ways ? c->ways->text : "2-5", batch, how->most);
    return 0;
}

int episodes_fit(const struct run_config *c, const struct regime *r, const struct config_data_facts *of,
                 int tasks, struct err *e) {
    struct fewest fewest = { 0 };
    struct corpus_how how;
    for (int i = 0; i < tasks; i++)
        if (check_task(r, &of[i], &fewest, e)) return e->code;
    if (check_fewest(r, &fewest, e)) return e->code;
    return c->episodes ? read_how(c, r, &how, e) : 0;
}

static void add_task(struct episodes *s, int i, const struct task *t) {
    for (int held = 0; held < 2; held++)
        list_classes(&s->list[held][i], held ? &t->dev[0] : &t->train, t->classes);
    s->share[i] = (i ? s->share[i - 1] : 0) + sqrt((double)t->train.examples);
    buf_printf(&s->report, "%s: episodes with %d classes, %zu training examples, %zu held out\n", t->name,
               t->classes, t->train.examples, t->dev[0].examples);
}

static int open_corpus(struct episodes *s, const struct run_config *c, const struct model *m, struct err *e) {
    struct corpus_how how;
    if (read_how(c, &s->regime, &how, e)) return e->code;
    s->corpus = corpus_open(episodes_file(c), &how, m, e);
    if (!s->corpus) return e->code;
    buf_printf(&s->report, "%s\n", corpus_report(s->corpus));
    return 0;
}

struct episodes *episodes_open(const struct run_config *c, const struct regime *r, const struct model *m,
                               const struct run_tasks *tasks, struct err *e) {
    struct episodes *s = xcalloc(1, sizeof *s);
    struct config_data_facts of[RUN_TASKS];
    s->regime = *r;
    s->seed = c->seed;
    s->tasks = tasks->count;
    s->mix = !c->episodes ? 1 : tasks->count ? c->mix : 0;
    s->share = xcalloc((size_t)s->tasks + 1, sizeof *s->share);
    for (int held = 0; held < 2; held++) s->list[held] = xcalloc((size_t)s->tasks + 1, sizeof *s->list[held]);
    for (int i = 0; i < s->tasks; i++) of[i] = config_data_known(tasks->task[i]->name, tasks->task[i]);
    int rc = episodes_fit(c, r, of, s->tasks, e);
    for (int i = 0; i < s->tasks && !rc; i++) add_task(s, i, tasks->task[i]);
    if (!rc && c->episodes) rc = open_corpus(s, c, m, e);
    if (rc) {
        episodes_free(s);
        return NULL;
    }
    return s;
}

void episodes_free(struct episodes *s) {
    if (!s) return;
    for (int held = 0; held < 2; held++) {
        for (int i = 0; i < s->tasks; i++) {
            free(s->list[held][i].row);
            free(s->list[held][i].start);
        }
        free(s->list[held]);
    }
    free(s->share);
    corpus_free(s->corpus);
    buf_release(&s->report);
    free(s);
}

const char *episodes_report(const struct episodes *s) { return buf_text(&s->report); }

/* ---- sampling ---- */

void episodes_room_release(struct episodes_room *r) {
    free(r->episode.start);
    free(r->episode.example);
    free(r->drawn.example);
    free(r->drawn.start);
    free(r->drawn.ids);
    free(r->drawn.types);
    free(r->example);
    free(r->pick);
    free(r->count);
    *r = (struct episodes_room){ 0 };
}

static void episodes_make_room(const struct episodes *s, struct episodes_room *m) {
    size_t rows = (size_t)s->regime.support + (size_t)s->regime.query,
           batches = (size_t)regime_batches(&s->regime);
    if (m->examples) return;
    m->examples = rows;
    m->episode.start = xcalloc(batches + 2, sizeof *m->episode.start);
    m->episode.example = xcalloc(rows, sizeof *m->episode.example);
    m->drawn.example = xcalloc(rows, sizeof *m->drawn.example);
    m->drawn.start = xcalloc(rows + 1, sizeof *m->drawn.start);
    m->example = xcalloc(rows, sizeof *m->example);
}

/* Divides the support into batches of nearly equal size. */
static void episodes_cut(const struct episodes *s, struct episode *e, int classes) {
    e->classes = classes;
    e->batches = regime_batches(&s->regime);
    for (int b = 0; b <= e->batches; b++) e->start[b] = (int)((int64_t)s->regime.support * b / e->batches);
    e->start[e->batches + 1] = s->regime.support + s->regime.query;
}

/* Distributes `rows` as evenly as left[] allows, and subtracts them. */
static void share_out(int rows, int classes, int *left, int *count) {
    memset(count, 0, (size_t)classes * sizeof *count);
    for (int given = 0; given < rows;)
        for (int k = 0; k < classes && given < rows; k++) {
            if (!left[k]) continue;
            left[k]--;
            count[k]++;
            given++;
        }
}

/* Samples n distinct examples of a class, in random order (Floyd). */
static void pick(const struct class_list *l, int class, int n, struct rng_key key, uint32_t *out) {
    uint32_t all = l->start[class + 1] - l->start[class];
    for (int i = 0; i < n; i++) {
        uint32_t last = all - (uint32_t)(n - i), at = (uint32_t)rng_below(key, (uint64_t)i, last + 1);
        for (int j = 0; j < i; j++)
            if (out[j] == at) {
                at = last;
                break;
            }
        out[i] = at;
    }
    for (int i = n - 1; i > 0; i--) {
        int j = (int)rng_below(key, (uint64_t)n + (uint64_t)i, (uint64_t)i + 1);
        uint32_t t = out[i];
        out[i] = out[j];
        out[j] = t;
    }
    for (int i = 0; i < n; i++) out[i] = l->row[l->start[class] + out[i]];
}

static void draw_labeled(const struct episodes *s, const struct class_list *l, uint64_t number,
                          struct episodes_room *m) {
    int classes = l->classes, most = s->regime.support + s->regime.query;
    struct episode_example *row = m->episode.example;
    GROW(m->count, m->counts, 4 * classes);
    GROW(m->pick, m->picks, classes * most);
    int *left = m->count, *support = left + classes, *query = support + classes, *taken = query + classes,
        at = 0;
    for (int k = 0; k < classes; k++) left[k] = (int)(l->start[k + 1] - l->start[k]);
    share_out(s->regime.support, classes, left, support);
    share_out(s->regime.query, classes, left, query);
    for (int k = 0; k < classes; k++)
        pick(l, k, support[k] + query[k], rng_key(s->seed, RNG_DRAW, number, rng_site("rows") + (uint64_t)k),
             m->pick + (size_t)k * (size_t)most);
    memset(taken, 0, (size_t)classes * sizeof *taken);
    for (int of_query = 0; of_query < 2; of_query++)
        for (int end = of_query ? most : s->regime.support; at < end;)
            for (int k = 0; k < classes && at < end; k++) {
                if (taken[k] == support[k] + (of_query ? query[k] : 0)) continue;
                row[at++] = (struct episode_example){ l->data,
                                                  m->pick[(size_t)k * (size_t)most + (size_t)taken[k]++], k };
            }
    episodes_cut(s, &m->episode, classes);
}

static void draw_corpus(const struct episodes *s, bool held, uint64_t number, struct episodes_room *m) {
    struct dataset *d = &m->drawn;
    size_t at = 0;
    int classes =
        corpus_draw(s->corpus, held, rng_key(s->seed, RNG_DRAW, number, rng_site("words")), m->example);
    d->examples = m->examples;
    for (size_t i = 0; i < m->examples; i++) {
        struct encoded *x = &m->example[i].tokens;
        if (at + x->n > m->ids) {
            m->ids = 2 * (at + x->n);
            d->ids = xrealloc(d->ids, m->ids, sizeof *d->ids);
            d->types = xrealloc(d->types, m->ids, sizeof *d->types);
        }
        d->start[i] = at;
        d->example[i] = (struct example){ .id = m->example[i].sentence, .label = m->example[i].label };
        for (size_t k = 0; k < x->n; k++, at++) {
            d->ids[at] = x->ids[k];
            d->types[at] = (uint8_t)x->types[k];
        }
        encoded_release(x);
        m->episode.example[i] = (struct episode_example){ d, (uint32_t)i, m->example[i].label };
    }
    d->start[m->examples] = at;
    episodes_cut(s, &m->episode, classes);
}

const struct episode *episodes_draw(const struct episodes *s, bool held, uint64_t number,
                                    struct episodes_room *room) {
    uint64_t n = 2 * number + held; /* held-out episodes have separate numbers */
    struct rng_key key = rng_key(s->seed, RNG_DRAW, n, rng_site("episode"));
    episodes_make_room(s, room);
    if (rng_uniform(key, 0) >= s->mix) {
        draw_corpus(s, held, n, room);
        return &room->episode;
    }
    double u = rng_uniform(key, 1) * s->share[s->tasks - 1];
    int t = 0;
    while (t < s->tasks - 1 && u >= s->share[t]) t++;
    draw_labeled(s, &s->list[held][t], n, room);
    return &room->episode;
}
