/* Talk: opening its models and runs, and their answers, which the lane of Talk waits for while the crew computes
 * them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/opened.h"
#include "app/session/session_private.h"
#include "core/base/mem.h"
#include "core/base/text.h"

#define TALK_MODEL "smollm2" /* where the model of Compose is not a decoder-only one */

struct speaker {
    struct opened opened;
    struct talker *talker;
    char *name;
};

struct talking {
    struct talk_page page;
    struct talk_round *round;             /* of the page */
    size_t room;
    char *failed;
    int64_t run;                          /* the only one; 0: another number of them */
    struct speaker speaker[TALK_SIDES];   /* used by the lane while it answers */
    uint64_t seed;                        /* of the next sampled answer */
    _Atomic bool stop;
    pthread_mutex_t lock;                 /* protects the members below */
    struct talk_answer live[TALK_SIDES];  /* the answers so far */
};

static void speaker_release(struct speaker *x) {
    talker_free(x->talker);
    opened_release(&x->opened);
    free(x->name);
    *x = (struct speaker){ 0 };
}

static void round_clear(struct talk_round *r) {
    for (int i = 0; i < TALK_SIDES; i++) {
        talk_answer_release(&r->answer[i]);
        free(r->failed[i]);
        r->failed[i] = NULL;
    }
}

/* Removes all but the first n rounds. */
static void cut_rounds(struct talking *t, int n) {
    while (t->page.rounds > n) {
        struct talk_round *r = &t->round[--t->page.rounds];
        round_clear(r);
        free(r->said);
    }
}

static struct talking *talking_of(struct session *s) {
    struct talking *t = s->talk.now;
    if (t) return t;
    t = s->talk.now = xcalloc(1, sizeof *t);
    t->seed = 1;
    pthread_mutex_init(&t->lock, NULL);
    s->ui.talk.page = &t->page;
    return t;
}

void session__talk_release(struct session *s) {
    struct talking *t = s->talk.now;
    if (!t) return;
    cut_rounds(t, 0);
    for (int i = 0; i < TALK_SIDES; i++) {
        speaker_release(&t->speaker[i]);
        talk_answer_release(&t->live[i]);
    }
    pthread_mutex_destroy(&t->lock);
    free(t->round);
    free(t->failed);
    free(t);
    s->talk.now = NULL;
    s->ui.talk.page = NULL;
}

/* ---- opening ---- */

struct speakers {
    struct speaker of[TALK_SIDES];
    int count;
};

static int open_talker(struct speaker *x, const char *template, struct err *e) {
    const struct opened *o = &x->opened;
    enum precision precision = o->run ? o->config.precision : o->precision;
    x->talker = talker_new(o->model, o->predictor, precision, template, e);
    if (!x->name) x->name = xstrdup(o->title ? o->title : o->model->name);
    return x->talker ? 0 : e->code;
}

/* Opens the model of a config, or the usual one in place of an encoder. */
static int open_model(struct speaker *x, const struct run_config *c, struct err *e) {
    const char *where = c->model;
    struct err ignored = ERR_INIT;
    struct arch a;
    char *folder = model_find(where, &ignored), *usual = NULL;
    if (folder && !model_shape(folder, &a, &ignored)) {
        if (!a.causal) usual = model_find(TALK_MODEL, &ignored);
        arch_release(&a);
    }
    x->opened.model = model_share(usual ? usual : where, e);
    bool usual_opened = usual != NULL;
    free(usual);
    free(folder);
    return x->opened.model ? open_talker(x, usual_opened ? NULL : c->chat_template, e) : e->code;
}

static int open_speakers(struct background_work *w) {
    struct speakers *all = xcalloc(1, sizeof *all);
    const struct backbone_hint hint = { 0 };
    int rc = 0;
    w->made = all;
    for (int i = 0; i < w->runs && i < TALK_SIDES && !rc; i++) {
        struct speaker *x = &all->of[all->count++];
        rc = opened_run(&x->opened, w->store, w->run[i], NULL, &hint, NULL, &w->e);
        if (!rc) rc = open_talker(x, x->opened.config.chat_template, &w->e);
    }
    if (!rc && !w->runs) rc = open_model(&all->of[all->count++], &w->config, &w->e);
    if (!rc && w->runs == 1 && w->flag) {
        struct speaker *base = &all->of[all->count++];
        const struct opened *run = &all->of[0].opened;
        base->opened.model = model_share(run->model->folder, &w->e);
        base->opened.precision = run->config.precision;
        base->name = xprintf("%s, without the run", run->model->name);
        base->talker = base->opened.model ? talker_new(base->opened.model, NULL, run->config.precision,
                                                       run->config.chat_template, &w->e)
                                          : NULL;
        rc = base->talker ? 0 : w->e.code;
    }
    return rc;
}

static void drop_speakers(struct background_work *w) {
    struct speakers *all = w->made;
    for (int i = 0; all && i < TALK_SIDES; i++) speaker_release(&all->of[i]);
    free(all);
}

static void take_speakers(struct session *s, struct background_work *w) {
    struct talking *t = talking_of(s);
    struct speakers *all = w->made;
    int64_t run = w->runs == 1 ? w->run[0] : 0;
    t->page.opening = false;
    free(t->failed);
    t->failed = w->failed ? xstrdup(w->e.text) : NULL;
    t->page.failed = t->failed;
    if (!run || run != t->run) cut_rounds(t, 0);
    t->run = run;
    t->page.sides = w->failed ? 0 : all->count;
    for (int i = 0; i < TALK_SIDES; i++) {
        speaker_release(&t->speaker[i]);
        if (w->failed) continue;
        t->speaker[i] = all->of[i];
        all->of[i] = (struct speaker){ 0 };
        t->page.name[i] = t->speaker[i].name;
        t->page.tokenizer[i] = t->speaker[i].talker ? t->speaker[i].opened.model->tokenizer : NULL;
    }
    w->message[0] = '\0'; /* the reason is on the screen */
}

static void do_open(struct session *s, const struct effect *x) {
    static const struct work_kind kind = { LANE_TALK, open_speakers, take_speakers, .drop = drop_speakers };
    struct talking *t = talking_of(s);
    struct background_work *w;
    if (t->page.busy || t->page.opening) return;
    t->page.opening = true;
    if (!x->runs) t->page.sides = 0;
    w = work_new(&kind, x->run, x->runs, NULL);
    config_copy(&w->config, &s->ui.compose.config);
    w->flag = x->keep;
    background_do(s->background, w);
}

/* ---- answers ---- */

struct talk_request {
    struct talking *t;
    int sides;
    bool sampled;
    uint64_t seed;
    const _Atomic bool *leaving;
    struct talk_side {
        struct talk_request *of;
        int side;
        struct talk_chat chat;
        struct talk_answer answer;
        struct err e;
        int rc;
    } side[TALK_SIDES];
};

static void see_token(void *self, const struct talk_answer *so_far) {
    const struct talk_side *x = self;
    struct talking *t = x->of->t;
    pthread_mutex_lock(&t->lock);
    talk_answer_copy(&t->live[x->side], so_far);
    pthread_mutex_unlock(&t->lock);
    session__wake();
}

static bool talk_is_stopped(void *self) {
    const struct talk_side *x = self;
    return atomic_load(&x->of->t->stop) || atomic_load(x->of->leaving);
}

static void answer_side(void *self, int index, int worker) {
    struct talk_request *q = self;
    struct talk_side *x = &q->side[index];
    struct talker *talker = q->t->speaker[index].talker;
    struct generate_options *o = talker_options(talker);
    const struct talk_watch watch = { x, see_token, talk_is_stopped };
    (void)worker;
    o->sampling.on = q->sampled;
    o->sampling.temperature = 0.8;
    o->sampling.seed = q->seed;
    x->rc = talker_answer(talker, x->chat.turn, x->chat.n, NULL, &watch, &x->answer, &x->e);
}

static int answer_all(struct background_work *w) {
    struct talk_request *q = w->made;
    q->leaving = &w->room->leaving;
    crew_do(jobs_crew(w->room->jobs),
            &(struct crew_work){ .self = q, .units = q->sides, .unit = answer_side });
    return 0;
}

static void drop_answers(struct background_work *w) {
    struct talk_request *q = w->made;
    for (int i = 0; i < TALK_SIDES; i++) {
        talk_chat_release(&q->side[i].chat);
        talk_answer_release(&q->side[i].answer);
    }
    free(q);
}

static void take_answers(struct session *s, struct background_work *w) {
    struct talk_request *q = w->made;
    struct talking *t = q->t;
    struct talk_round *r = &t->round[t->page.rounds - 1];
    (void)s;
    t->page.busy = false;
    for (int i = 0; i < q->sides; i++) {
        struct talk_side *x = &q->side[i];
        talk_answer_release(&r->answer[i]);
        r->answer[i] = x->answer;
        x->answer = (struct talk_answer){ 0 };
        if (x->rc && x->rc != ERR_INTERRUPTED) r->failed[i] = xstrdup(x->e.text);
    }
}

/* The messages that a side has answered, and the last one. */
static void fill_chat(const struct talking *t, int side, struct talk_chat *c) {
    for (int i = 0; i < t->page.rounds; i++) {
        const struct talk_round *r = &t->round[i];
        const struct buf *text = &r->answer[side].text;
        bool last = i == t->page.rounds - 1;
        if (!last && !r->answer[side].tokens) continue;
        talk_chat_add(c, CHAT_USER, r->said, strlen(r->said));
        if (!last) talk_chat_add(c, CHAT_ASSISTANT, buf_text(text), text->size);
    }
}

/* Requests answers to the last message. */
static void answer_last(struct session *s, bool sampled) {
    static const struct work_kind kind = { LANE_TALK, answer_all, take_answers, .drop = drop_answers };
    struct talking *t = s->talk.now;
    struct talk_request *q = xcalloc(1, sizeof *q);
    struct background_work *w = work_new(&kind, NULL, 0, NULL);
    round_clear(&t->round[t->page.rounds - 1]);
    *q = (struct talk_request){ .t = t, .sides = t->page.sides, .sampled = sampled, .seed = t->seed };
    if (sampled) t->seed++;
    for (int i = 0; i < q->sides; i++) {
        q->side[i].of = q;
        q->side[i].side = i;
        fill_chat(t, i, &q->side[i].chat);
        talk_answer_release(&t->live[i]);
    }
    atomic_store(&t->stop, false);
    t->page.busy = true;
    w->made = q;
    background_do(s->background, w);
}

void session__fill_talk(struct session *s) {
    struct talking *t = s->talk.now;
    if (!t || !t->page.busy) return;
    struct talk_round *r = &t->round[t->page.rounds - 1];
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < t->page.sides; i++)
        if (t->live[i].tokens > r->answer[i].tokens) talk_answer_copy(&r->answer[i], &t->live[i]);
    pthread_mutex_unlock(&t->lock);
}

static bool may_answer(const struct session *s) {
    const struct talking *t = s->talk.now;
    return t && t->page.sides && !t->page.busy && !t->page.opening;
}

static void do_say(struct session *s, const struct effect *x) {
    struct talking *t = s->talk.now;
    if (!may_answer(s)) return;
    if (x->keep && t->page.rounds) cut_rounds(t, t->page.rounds - 1);
    GROW(t->round, t->room, (size_t)t->page.rounds + 1);
    t->round[t->page.rounds++] = (struct talk_round){ .said = xstrdup(x->text) };
    t->page.round = t->round;
    answer_last(s, false);
}

static void do_again(struct session *s) {
    if (may_answer(s) && s->talk.now->page.rounds) answer_last(s, true);
}

static void do_stop_talk(struct session *s) {
    if (s->talk.now) atomic_store(&s->talk.now->stop, true);
}

static void do_new(struct session *s) {
    if (may_answer(s)) cut_rounds(s->talk.now, 0);
}

/* ---- writing ---- */

static void do_write(struct session *s) {
    const struct talking *t = s->talk.now;
    struct buf b = BUF_INIT;
    if (!t || !t->page.rounds) return;
    for (int i = 0; i < t->page.rounds; i++) {
        const struct talk_round *r = &t->round[i];
        buf_printf(&b, "%s## Message\n\n%s\n", i ? "\n" : "", r->said);
        for (int side = 0; side < t->page.sides; side++) {
            buf_printf(&b, "\n## %s\n\n", t->page.name[side]);
            buf_add(&b, buf_text(&r->answer[side].text), r->answer[side].text.size);
            buf_putc(&b, '\n');
        }
    }
    session__put(s, ".md", &b);
    buf_release(&b);
}

const struct action talk_actions[] = {
    { EFFECT_TALK, .act = do_open, .verb = "chat" },
    { EFFECT_TALK_SAY, .act = do_say },
    { EFFECT_TALK_AGAIN, .plain = do_again },
    { EFFECT_TALK_STOP, .plain = do_stop_talk },
    { EFFECT_TALK_NEW, .plain = do_new },
    { EFFECT_TALK_WRITE, .plain = do_write, .changes = true },
    { .kind = EFFECT_NONE },
};
