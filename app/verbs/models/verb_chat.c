/* petri chat: a chat with a decoder-only model or a run, on the terminal or from standard input. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/verbs/generating.h"
#include "app/verbs/open.h"
#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/use/talk.h"

#define DEFAULT_CHAT_MODEL "smollm2"

/* Opens a run by its id, name or "last", otherwise a model. */
static int open_speaker(struct opened *o, const struct args *a, struct err *e) {
    const char *typed = a->count ? a->positional[0] : NULL, *model = typed ? typed : a->model;
    struct err as_run = ERR_INIT, as_model = ERR_INIT;
    *o = (struct opened){ 0 };
    if (typed && !strchr(typed, '/')) {
        int rc = verb_open_typed(o, a, typed, &as_run);
        if (!rc) return 0;
        opened_release(o);
        *o = (struct opened){ 0 };
        if (rc != ERR_NOT_FOUND && rc != ERR_USAGE && rc != ERR_DATABASE) { /* a model needs no database */
            *e = as_run;
            return rc;
        }
    }
    o->model = model_share_as(model ? model : DEFAULT_CHAT_MODEL, (enum weights_in)a->weights_in, &as_model);
    if (o->model) return 0;
    if (!model && as_model.code == ERR_NOT_FOUND)
        return err_set(e, ERR_USAGE,
                       "petri chat: requires RUN or MODEL; petri fetch smollm2 fetches a small model");
    bool run = typed && as_run.code && as_model.code == ERR_NOT_FOUND;
    *e = run ? as_run : as_model;
    if (run && strcmp(typed, "last") != 0 && typed[strspn(typed, "#0123456789")])
        return err_set(e, as_run.code, "%s; no model has the name \"%s\" either", as_run.text, typed);
    return e->code;
}

struct chat_line {
    bool json, terminal;
    size_t printed; /* bytes of the answer */
};

static void print_new(void *self, const struct talk_answer *so_far) {
    struct chat_line *l = self;
    if (l->json || so_far->text.size <= l->printed) return;
    char *shown = text_visible_lines(buf_text(&so_far->text) + l->printed, so_far->text.size - l->printed);
    fputs(shown, stdout);
    fflush(stdout);
    free(shown);
    l->printed = so_far->text.size;
}

static bool chat_interrupted(void *self) {
    (void)self;
    return verb_interrupted();
}

static void print_end(struct chat_line *l, const struct talk_answer *answer, const struct model *m) {
    print_new(l, answer);
    if (l->json) {
        struct buf line = BUF_INIT;
        buf_putc(&line, '{');
        json_member_bytes(&line, "text", buf_text(&answer->text), answer->text.size);
        json_open(&line, "ids", '[');
        for (int i = 0; i < answer->tokens; i++) json_member_int(&line, NULL, answer->token[i].id);
        buf_putc(&line, ']');
        json_member_string(&line, "end", answer->ended ? generated_end_name(answer->end) : "interrupt");
        buf_putc(&line, '}');
        out_line(&line);
        buf_release(&line);
    } else {
        puts(l->terminal ? "\n" : "");
    }
    fflush(stdout);
    if (answer->ended && answer->end == GENERATED_FULL)
        fprintf(stderr, "petri chat: the context of %s (%d tokens) is full\n", m->name,
                arch_max_length(&m->arch));
}

/* Answers one message.  An interrupt ends the answer on a terminal, and the chat elsewhere. */
static int chat_turn_of(struct talker *t, struct talk_chat *chat, const struct opened *from,
                        struct chat_line *l, struct crew *crew, struct err *e) {
    struct talk_answer answer;
    const struct talk_watch watch = { l, print_new, chat_interrupted };
    l->printed = 0;
    int rc = talker_answer(t, chat->turn, chat->n, crew, &watch, &answer, e);
    if (!rc || rc == ERR_INTERRUPTED) print_end(l, &answer, from->model);
    if (rc == ERR_INTERRUPTED && l->terminal && verb_take_interrupt()) rc = 0;
    talk_chat_add(chat, CHAT_ASSISTANT, buf_text(&answer.text), answer.text.size);
    talk_answer_release(&answer);
    return rc;
}

static int chat_lines(struct talker *t, const struct opened *from, const struct args *a, struct crew *crew,
                      struct err *e) {
    FILE *in = a->file && strcmp(a->file, "-") ? fopen(a->file, "r") : stdin;
    struct chat_line l = { .json = a->json, .terminal = in && isatty(fileno(in)) && isatty(STDOUT_FILENO) };
    struct talk_chat chat = { 0 };
    char *line = NULL;
    size_t room = 0;
    int rc = 0;
    const char *system = a->generate.system;
    if (!in) return err_set(e, ERR_NOT_FOUND, "%s: %s", a->file, strerror(errno));
    if (system) talk_chat_add(&chat, CHAT_SYSTEM, system, strlen(system));
    while (!rc) {
        if (l.terminal) fputs("> ", stdout), fflush(stdout);
        errno = 0;
        ssize_t n = getline(&line, &room, in);
        if (n < 0) {
            if (errno && errno != EINTR)
                rc = err_set(e, ERR_SYSTEM, "%s: %s", a->file ? a->file : "standard input", strerror(errno));
            if (verb_interrupted()) rc = err_set(e, ERR_INTERRUPTED, "stopped");
            break;
        }
        while (n && (line[n - 1] == '\n' || line[n - 1] == '\r')) n--;
        if (!n) continue;
        talk_chat_add(&chat, CHAT_USER, line, (size_t)n);
        rc = chat_turn_of(t, &chat, from, &l, crew, e);
    }
    if (l.terminal) putchar('\n');
    if (in != stdin) fclose(in);
    free(line);
    talk_chat_release(&chat);
    return rc;
}

int verb_chat(const struct args *a, struct err *e) {
    struct opened from;
    struct talker *t = NULL;
    struct crew *crew;
    verb_crew(a, &crew);
    int rc = open_speaker(&from, a, e);
    if (!rc) rc = verb_precision(&from, a, e);
    if (!rc) {
        t = talker_new(from.model, from.predictor, from.precision, a->chat_template, e);
        rc = t ? verb_sampling(a, talker_options(t), e) : e->code;
    }
    if (!rc) rc = generate_check(from.model, talker_options(t), e);
    verb_catch_signals();
    if (!rc && !a->file && isatty(STDIN_FILENO))
        fprintf(stderr, "%s, template %s; Ctrl-D ends the chat, Ctrl-C an answer\n",
                from.called ? from.called : from.model->name, chat_template_name(talker_template(t)));
    if (!rc) rc = chat_lines(t, &from, a, crew, e);
    talker_free(t);
    opened_release(&from);
    crew_free(crew);
    return rc;
}
