#include "core/model/generate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

enum {
    GROUP_ROWS = 32,     /* live rows of a group: enough for efficient products, */
    GROUP_SOURCES = 16,  /* few enough that two workers share a small batch */
    GROUP_TOKENS = 4096, /* source tokens of a group */
};

void generated_release(struct generated *g, size_t n) {
    for (size_t i = 0; i < n; i++) {
        free(g[i].ids);
        g[i] = (struct generated){ 0 };
    }
}

const char *generated_end_name(enum generated_end end) {
    static const char *const names[] = { [GENERATED_ENDED] = "token", [GENERATED_LONGEST] = "length",
                                         [GENERATED_STOPPED] = "stop", [GENERATED_FULL] = "context" };
    return names[end];
}

bool generated_text(const struct model *m, const struct generate_options *o, const int32_t *ids, int n,
                    struct buf *out) {
    size_t from = out->size, end;
    tokenizer_decode(m->tokenizer, ids, (size_t)n, true, out);
    end = out->size;
    for (int i = 0; i < o->stops && end > from; i++) {
        const char *at = memmem(out->data + from, end - from, o->stop[i], strlen(o->stop[i]));
        if (at) end = (size_t)(at - out->data);
    }
    bool found = end < out->size;
    out->size = end;
    if (found) out->data[end] = '\0';
    return found;
}

void generation_init(struct generation *g, const struct model *m, const struct generate_options *o,
                     const struct generate_sources *s) {
    *g = (struct generation){ .model = m, .options = o, .sources = s };
    g->first = xcalloc(s->rows + 1, sizeof *g->first);
    size_t most = (size_t)(GROUP_ROWS / o->beams < 1 ? 1 : GROUP_ROWS / o->beams);
    if (most > GROUP_SOURCES) most = GROUP_SOURCES;
    for (size_t i = 0; i < s->rows; i++) {
        size_t from = g->first[g->groups];
        if (i == from || (i - from < most && s->start[i + 1] - s->start[from] <= GROUP_TOKENS))
            continue;
        g->first[++g->groups] = i;
    }
    if (s->rows) g->first[++g->groups] = s->rows;
}

void generation_release(struct generation *g) {
    free(g->first);
    *g = (struct generation){ 0 };
}

/* ---- one group ---- */

struct group {
    const struct generation *g;
    struct generate_memory *memory;
    struct generated *out; /* of all rows */
    struct err *e;
    int rc;
    size_t first;          /* its first row */
    int sources;
    bool started;          /* the first step was computed */
    int known;             /* tokens of the prompt that are stored from before */
    int unnumbered;        /* rows of a prompt that are stored but have no learned position */
    struct search *search; /* sources */
    int *live;             /* the sources whose searches continue, in order */
    int lives;
    int *rows, *parent;    /* for cache_step */
};

/* Returns the source of live search i. */
static size_t live_source(const struct group *x, int i) { return x->first + (size_t)x->live[i]; }

/* The target side of a step of a decoder: the last token of each live row. */
static void pack_tokens(const struct group *x, struct batch *b) {
    struct arena *a = x->memory->arena;
    size_t n = (size_t)cache_rows(x->memory->cache);
    int row = 0;
    b->target_tokens = (int)n;
    b->target_in = arena_keep(a, n * sizeof *b->target_in);
    b->target_positions = arena_keep(a, n * sizeof *b->target_positions);
    b->target_start = arena_keep(a, (n + 1) * sizeof *b->target_start);
    for (int i = 0; i < x->lives; i++) {
        const struct search *s = &x->search[x->live[i]];
        for (int j = 0; j < s->rows; j++, row++) {
            b->target_in[row] = search_token(s, j);
            b->target_positions[row] = cache_length(x->memory->cache, i);
            b->target_start[row] = row;
        }
    }
    b->target_start[row] = row;
}

/* Allocates the tokens of a batch. */
static void take_tokens(const struct group *x, struct batch *b, size_t rows, size_t tokens) {
    struct arena *a = x->memory->arena;
    b->tokens = (int)tokens;
    b->ids = arena_keep(a, tokens * sizeof *b->ids);
    b->types = arena_keep(a, tokens * sizeof *b->types);
    b->positions = arena_keep(a, tokens * sizeof *b->positions);
    b->start = arena_keep(a, (rows + 1) * sizeof *b->start);
    memset(b->types, 0, tokens * sizeof *b->types);
}

/* The sources: the inputs of the encoder, or prompts without the tokens that are known. */
static void pack_sources(const struct group *x, struct batch *b) {
    const struct generate_sources *s = x->g->sources;
    size_t rows = (size_t)x->sources, from = s->start[x->first] + (size_t)x->known;
    take_tokens(x, b, rows, s->start[x->first + rows] - from);
    memcpy(b->ids, s->ids + from, (size_t)b->tokens * sizeof *b->ids);
    for (size_t i = 1; i <= rows; i++) b->start[i] = (int)(s->start[x->first + i] - from);
    b->start[0] = 0;
    for (size_t i = 0; i < rows; i++)
        arch_positions(&x->g->model->arch, b->ids + b->start[i], (size_t)(b->start[i + 1] - b->start[i]),
                       b->positions + b->start[i]);
}

/* The rest of a prompt whose first tokens are known. */
static void pack_rest(const struct group *x, struct batch *b) {
    const struct generate_stored *have = x->memory->stored;
    int *past = arena_keep(x->memory->arena, sizeof *past);
    pack_sources(x, b);
    *past = x->known + have->added;
    b->past = past;
    for (int i = 0; i < b->tokens; i++) b->positions[i] += *past - x->unnumbered;
}

/* Finds the tokens of the only prompt that are stored; its last one is computed again. */
static void generate_know(struct group *x) {
    const struct generate_sources *s = x->g->sources;
    const struct generate_stored *have = x->memory->stored;
    const int32_t *ids = s->ids + s->start[x->first];
    int last = (int)(s->start[x->first + 1] - s->start[x->first]) - 1;
    if (!have || x->sources != 1 || x->g->options->beams != 1 || !x->g->model->arch.causal) return;
    while (x->known < last && x->known < have->count && ids[x->known] == have->ids[x->known]) x->known++;
    if (x->known) cache_keep(x->memory->cache, x->known + have->added);
}

/* Records the tokens of a step, which are now stored. */
static void generate_stored_add(const struct group *x, const struct batch *b) {
    struct generate_stored *have = x->memory->stored;
    if (!have || x->sources != 1 || x->g->options->beams != 1) return;
    if (!x->started) have->count = x->known;
    GROW(have->ids, have->room, (size_t)have->count + (size_t)b->tokens);
    memcpy(have->ids + have->count, b->ids, (size_t)b->tokens * sizeof *b->ids);
    have->count += b->tokens;
}

/* A step of a decoder-only model after the first: the last token of each live row. */
static void pack_continued(const struct group *x, struct batch *b) {
    size_t n = (size_t)cache_rows(x->memory->cache);
    int *past = arena_keep(x->memory->arena, n * sizeof *past), row = 0;
    take_tokens(x, b, n, n);
    b->past = past;
    for (int i = 0; i < x->lives; i++) {
        const struct search *s = &x->search[x->live[i]];
        for (int j = 0; j < s->rows; j++, row++) {
            b->ids[row] = search_token(s, j);
            b->start[row] = row;
            past[row] = cache_length(x->memory->cache, i);
            b->positions[row] = past[row] - x->unnumbered;
        }
    }
    b->start[row] = row;
}

/* Limits the texts of a decoder-only model to its context, which the prompts and the rows of a method take part
 * of.  The last token of a text needs no position. */
static int fit_context(struct group *x, const struct hooks *hooks) {
    const struct arch *a = &x->g->model->arch;
    int context = arch_max_length(a), added = 0;
    if (hooks) added = hooks->moved + (hooks->joined.at_words || !a->positions ? hooks->joined.count : 0);
    if (hooks && !hooks->joined.at_words) x->unnumbered = hooks->joined.count;
    for (int i = 0; i < x->sources; i++) {
        struct search *s = &x->search[i];
        int room = context - added - s->prompted + 1;
        if (room < 1)
            return err_set(x->e, ERR_INPUT,
                           "example %zu: the prompt has %d tokens, more than the context of %s (%d); shorten it",
                           x->first + (size_t)i + 1, s->prompted, x->g->model->name, context - added);
        if (room < s->most) s->most = room;
    }
    return 0;
}

/* The logits of the live rows' next tokens; NULL where a prompt is too long. */
static const real *next_logits(struct group *x) {
    const struct generate_memory *d = x->memory;
    struct batch b = { .examples = cache_rows(d->cache) };
    struct forward f;
    bool first = !x->started, causal = x->g->model->arch.causal;
    tape_reset(d->tape, false, 0, 0);
    tape_few_rows(d->tape);
    const struct hooks *hooks = d->begin ? d->begin(d->self, d->tape) : NULL;
    if (first && causal && fit_context(x, hooks)) return NULL;
    if (x->known && first) pack_rest(x, &b);
    else if (first) pack_sources(x, &b);
    if (!causal) pack_tokens(x, &b);
    else if (!first) pack_continued(x, &b);
    if (first && d->stored && !x->known) d->stored->added = hooks ? hooks->joined.count : 0;
    forward_init(&f, d->tape, x->g->model, &b, hooks);
    f.cache = d->cache;
    node encoded = first || causal ? forward_encode(&f) : NODE_NONE;
    node last = causal ? forward_first(&f, encoded) : forward_decode(&f, encoded);
    generate_stored_add(x, &b);
    x->started = true;
    return tape_value(d->tape, forward_logits(&f, last));
}

/* Ends a search whose text contains a stop text. */
static void stop_at_text(const struct group *x, struct search *s) {
    const struct generate_options *o = x->g->options;
    if (!o->stops || !s->rows) return;
    struct buf text = BUF_INIT;
    if (generated_text(x->g->model, o, s->ids, s->length, &text)) {
        search_end(s);
        s->stopped = true;
    }
    buf_release(&text);
}

static int generate_step(struct group *x, struct err *e) {
    const struct generate_memory *d = x->memory;
    size_t vocabulary = (size_t)x->g->model->arch.vocabulary;
    if (d->stop && d->stop(d->stop_self)) return err_set(e, ERR_INTERRUPTED, "stopped");
    int kept = 0, *parent = x->parent;
    const real *logits = next_logits(x);
    if (!logits) return e->code;
    for (int i = 0; i < x->lives; i++) {
        struct search *s = &x->search[x->live[i]];
        size_t fed = (size_t)s->rows;
        if (!search_step(s, logits, parent))
            return err_set(e, ERR_FAILED, "example %zu: the logits of generated token %d are NaN or infinite",
                           live_source(x, i) + 1, s->length + 1);
        stop_at_text(x, s);
        if (d->token && x->g->options->beams == 1)
            d->token(d->token_self, live_source(x, i), s->ids[s->length - 1], logits);
        logits += fed * vocabulary;
        parent += s->rows;
        x->rows[i] = s->rows;
        if (s->rows) x->live[kept++] = x->live[i];
    }
    cache_step(d->cache, x->rows, x->parent);
    x->lives = kept;
    return 0;
}

static enum generated_end end_of(const struct search *s, const int32_t *ids, int count) {
    if (s->stopped) return GENERATED_STOPPED;
    for (int i = 0; i < s->o->ends && count; i++)
        if (s->o->end[i] == ids[count - 1]) return GENERATED_ENDED;
    return s->most < s->o->max_new ? GENERATED_FULL : GENERATED_LONGEST;
}

static void generate_take_texts(const struct group *x, struct generated *out) {
    for (int i = 0; i < x->sources; i++) {
        struct generated *g = &out[x->first + (size_t)i];
        const int32_t *ids = search_best(&x->search[i], &g->count, &g->score);
        g->end = end_of(&x->search[i], ids, g->count);
        g->ids = xcalloc((size_t)g->count + 1, sizeof *g->ids);
        memcpy(g->ids, ids, (size_t)g->count * sizeof *ids);
    }
}

/* Starts the search of the text for a source. */
static void start_search(const struct group *x, size_t i) {
    const struct generate_options *o = x->g->options;
    const struct generate_sources *s = x->g->sources;
    const struct arch *a = &x->g->model->arch;
    size_t from = s->start[x->first + i];
    bool causal = a->causal;
    search_init(&x->search[i], o, a->vocabulary, causal ? s->ids + from : &o->start,
                causal ? (int)(s->start[x->first + i + 1] - from) : 1, x->first + i);
}

static void generate_group_texts(void *self) {
    struct group *x = self;
    const struct generate_options *o = x->g->options;
    size_t n = (size_t)x->sources;
    x->search = xcalloc(n, sizeof *x->search);
    x->live = xcalloc(n, sizeof *x->live);
    x->rows = xcalloc(n, sizeof *x->rows);
    x->parent = xcalloc(n * (size_t)o->beams, sizeof *x->parent);
    for (size_t i = 0; i < n; i++) {
        start_search(x, i);
        x->live[i] = (int)i;
    }
    generate_know(x);
    if (!x->known) {
        cache_begin(x->memory->cache, (int)n, o->beams);
        if (x->memory->stored) x->memory->stored->count = 0;
    }
    while (!x->rc && x->lives) x->rc = generate_step(x, x->e);
    if (!x->rc) generate_take_texts(x, x->out);
}

int generation_group(const struct generation *g, int group, struct generate_memory *memory,
                     struct generated *out, struct err *e) {
    struct group x = { .g = g, .memory = memory, .first = g->first[group], .out = out, .e = e };
    x.sources = x.lives = (int)(g->first[group + 1] - x.first);
    if ((memory->lacks = mem_guard(generate_group_texts, &x))) {
        arena_drop(memory->arena);
        if (memory->stored) memory->stored->count = 0;
        generated_release(out + x.first, (size_t)x.sources);
        x.rc = err_memory(e, memory->lacks, NULL);
    }
    for (int i = 0; i < x.sources && x.search; i++) search_release(&x.search[i]);
    free(x.search);
    free(x.live);
    free(x.rows);
    free(x.parent);
    return x.rc;
}

/* ---- all groups on a crew ---- */

/* State of a worker, created with its first group. */
struct generate_seat {
    bool open;
    void *opened;
    struct generate_memory memory;
};

struct generate_work {
    const struct generation *g;
    const struct generate_method *method;
    const struct generate_watch *watch;
    struct generated *out;
    struct generate_seat *seat;    /* by worker */
    pthread_mutex_t lock; /* protects the members below */
    int reported;         /* groups whose rows were reported */
    int bad;              /* the first group that failed; groups when none did */
    bool *done;           /* groups */
    struct err e;         /* of the group `bad` */
};

static bool generate_asked_to_stop(void *self) {
    const struct generate_work *w = self;
    return w->watch && w->watch->stop && w->watch->stop(w->watch->self);
}

/* Called with the lock. */
static void generate_report(struct generate_work *w) {
    const struct generation *g = w->g;
    for (; w->reported < g->groups && w->done[w->reported]; w->reported++)
        for (size_t i = g->first[w->reported]; i < g->first[w->reported + 1]; i++)
            if (w->watch && w->watch->row) w->watch->row(w->watch->self, i, &w->out[i]);
}

/* Whether a group failed: the others are then canceled. */
static bool has_failed(struct generate_work *w) {
    pthread_mutex_lock(&w->lock);
    bool failed = w->bad < w->g->groups;
    pthread_mutex_unlock(&w->lock);
    return failed;
}

static void finish_group(struct generate_work *w, int group, int rc, const struct err *e) {
    pthread_mutex_lock(&w->lock);
    if (rc && group < w->bad) {
        w->bad = group;
        w->e = *e;
    }
    w->done[group] = !rc;
    if (!rc) generate_report(w);
    pthread_mutex_unlock(&w->lock);
}

static void generate_open_seat(struct generate_work *w, struct generate_seat *s) {
    const struct generate_method *m = w->method;
    struct arena *arena = arena_new();
    s->open = true;
    s->opened = m && m->open ? m->open(m->self) : NULL;
    s->memory = (struct generate_memory){ .tape = tape_new(arena), .arena = arena,
                                      .cache = cache_new(&w->g->model->arch),
                                      .begin = m ? m->begin : NULL, .self = s->opened,
                                      .stop = generate_asked_to_stop, .stop_self = w };
}

static void close_seat(const struct generate_work *w, struct generate_seat *s) {
    if (!s->open) return;
    cache_free(s->memory.cache);
    tape_free(s->memory.tape);
    arena_free(s->memory.arena);
    if (w->method && w->method->close) w->method->close(s->opened);
}

static void do_group(void *self, int group, int worker) {
    struct generate_work *w = self;
    struct generate_seat *s = &w->seat[worker];
    struct err e = ERR_INIT;
    if (has_failed(w)) return;
    if (!s->open) generate_open_seat(w, s);
    finish_group(w, group, generation_group(w->g, group, &s->memory, w->out, &e), &e);
}

int generate_rows(const struct generation *g, const struct generate_method *method, struct crew *crew,
                  const struct generate_watch *watch, struct generated *out, struct err *e) {
    int workers = crew_width(crew);
    struct generate_work w = { .g = g, .method = method, .watch = watch, .out = out, .bad = g->groups,
                      .e = ERR_INIT };
    w.done = xcalloc((size_t)g->groups + 1, sizeof *w.done);
    w.seat = xcalloc((size_t)workers, sizeof *w.seat);
    memset(out, 0, g->sources->rows * sizeof *out);
    pthread_mutex_init(&w.lock, NULL);
    crew_do(crew, &(struct crew_work){ .self = &w, .units = g->groups, .unit = do_group });
    for (int i = 0; i < workers; i++) close_seat(&w, &w.seat[i]);
    pthread_mutex_destroy(&w.lock);
    free(w.seat);
    free(w.done);
    if (w.bad == g->groups) return 0;
    if (e) *e = w.e;
    return w.e.code;
}
