/* Verbs about methods and models: count, methods, models, encode. */
#include "app/verbs/verbs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/outfile.h"
#include "app/files/own_methods.h"
#include "app/files/paths.h"
#include "app/history/fused.h"
#include "app/history/spot.h"
#include "app/verbs/output.h"
#include "core/base/assets.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/room.h"
#include "core/base/text.h"
#include "core/method/attempt.h"
#include "core/method/fusion.h"
#include "core/method/plan.h"
#include "core/model/encode.h"
#include "core/train/use/talk.h"
#include "core/model/model.h"
#include "core/train/config/config.h"
#include "core/train/config/estimate.h"
#include "core/train/config/regime.h"

void verb_tell_own(const char *model, const char *task) {
    static bool told_model, told_task;
    char *said = paths_stand_in(told_model ? NULL : model, told_task ? NULL : task);
    if (said) out_report(said);
    free(said);
    told_model |= model != NULL;
    told_task |= task != NULL;
}

const char *verb_shown_model(const struct args *a) {
    const char *given = a->model;
    return given ? given : paths_model();
}

const char *verb_shown_task(const struct args *a) {
    const char *given = a->task;
    return given ? given : paths_task();
}

const char *verb_model(const struct args *a) {
    const char *model = verb_shown_model(a);
    if (!a->model) verb_tell_own(model, NULL);
    return model;
}

static int print_findings(const struct method *m, const struct arch *arch) {
    struct finding found[32];
    int n = method_check(m, arch, found, COUNT_OF(found));
    for (int i = 0; i < n && i < (int)COUNT_OF(found); i++)
        printf("%s %s: %s\n", (const char *[]){ "note", "warning", "error" }[found[i].level],
               found[i].rule, found[i].text);
    return n;
}

/* Prints "  encoder self   147,456" for each place with trainable parameters. */
static void print_places(const struct plan *p) {
    for (int stack = STACK_ENCODER; p->decoder && stack <= STACK_DECODER; stack++)
        for (int site = SUB_SELF; site <= SUB_EMBED; site++) {
            char shown[32];
            size_t n = 0;
            for (int i = 0; i < p->method.count; i++) n += plan_trained_at(p, i, stack, site);
            text_thousands((int64_t)n, shown);
            if (n) printf("  %s %-6s%12s\n", stack_name(stack), site_name(site), shown);
        }
}

static void print_heads(const struct plan *p, const char *values) {
    if (p->label_width) printf("head layers    %12s\n", values);
    else if (!p->classes) printf("no head: text-to-text model\n");
    else if (p->tasks > 1) printf("%d heads       %12s\n", p->tasks, values);
    else printf("head (%d out)  %12s\n", p->classes, values);
}

static void print_per_task(const struct plan *p) {
    char shared[32], own[32];
    text_thousands((int64_t)(p->trained_method - p->own), shared);
    text_thousands((int64_t)p->own, own);
    printf("%.3f%% per task: %d tasks share %s parameters; %s parameters are task-specific\n",
           100.0 * (double)p->trained_method / p->tasks / (double)p->model, p->tasks, shared, own);
}

static void print_meta(const struct plan *p) {
    char outer[32], inner[32];
    text_thousands((int64_t)p->meta_trained, outer);
    text_thousands((int64_t)p->adapted, inner);
    printf("meta-trained  %12s  with the head layers and %d inner learning rates%s\n", outer,
           p->meta.learned ? p->rates : 0, p->meta.learned ? "" : " (fixed)");
    printf("adapted       %12s  per task, plus %d per class\n", inner, p->label_width);
}

/* Prints and frees `how`. */
static void print_network(const char *name, char *how) {
    if (how) printf("  %-10s %s\n", name, how);
    free(how);
}

/* The estimated peak memory of training on sequences of the maximum length. */
struct verb_space_memory {
    struct run_config c;
    int workers;
    double need, available; /* bytes; need NaN: not estimated (episodes) */
};

static int verb_space_estimate(const struct args *a, const struct plan *p, const struct method *m,
                               const struct arch *arch, struct verb_space_memory *out, struct err *e) {
    enum { SOME = 1000 };
    struct estimate cost;
    *out = (struct verb_space_memory){ .workers = verb_workers(a), .need = NAN,
                                       .available = room_left("", false).bytes };
    config_init(&out->c);
    int rc = args_config(a, &out->c, e);
    out->c.method = *m;
    config_take_length(&out->c, arch);
    const struct estimate_of x = { .c = &out->c, .p = p, .a = arch, .tokens = out->c.max_len,
                                   .targets = arch->decoder_layers ? out->c.max_target : 0,
                                   .train_rows = SOME, .dev_rows = SOME, .workers = out->workers,
                                   .data = 1 /* without the data */ };
    if (!rc && !p->meta.on && estimate_bytes(&x, &cost)) out->need = cost.bytes;
    if (rc) config_release(&out->c);
    return rc;
}

static void print_memory(const struct verb_space_memory *x) {
    if (isnan(x->need)) return;
    printf("memory        %9.0f MB for batch size %d \u00D7 %d tokens and %d worker%s, without the data",
           x->need / 1e6, (int)x->c.batch, (int)x->c.max_len, x->workers, x->workers == 1 ? "" : "s");
    if (isfinite(x->available)) printf("; %.0f MB available", x->available / 1e6);
    puts("");
}

static void print_counts(const struct plan *p, const struct method *m, const struct arch *arch,
                         const struct verb_space_memory *memory) {
    char trained[32], kept[32], head[32], model[32];
    text_thousands((int64_t)p->trained_method, trained);
    text_thousands((int64_t)p->stored_method, kept);
    text_thousands((int64_t)p->head, head);
    text_thousands((int64_t)p->model, model);
    const struct preset *preset = method_preset(m);
    char *text = method_text(m);
    printf("%s%s%s\n", text, preset ? "   " : "", preset ? preset->paper : "");
    free(text);
    for (int i = 0; i < m->count; i++) {
        char *how = plan_arithmetic(p, arch, i);
        printf("  module %d   %s\n", i + 1, how);
        free(how);
    }
    print_network("generator", plan_network_arithmetic(p, "hyper"));
    print_network("", method_generator_formula(&p->method, 0));
    print_network("generator 2", plan_network_arithmetic(p, "hyper2"));
    print_network("", method_generator_formula(&p->method, 1));
    print_network("retriever", plan_network_arithmetic(p, "retriever"));
    print_network("fusion", plan_network_arithmetic(p, "fusion"));
    print_network("", m->fusion.on ? fusion_formula(m) : NULL);
    print_network("attempt", plan_network_arithmetic(p, "attempt"));
    print_network("", m->attempt.on ? attempt_formula(m) : NULL);
    printf("trainable     %12s\n", trained);
    print_places(p);
    printf("stored        %12s\n", kept);
    print_heads(p, head);
    printf("model         %12s\n", model);
    printf("%.3f%% trainable: %s of the %s parameters of the model%s\n",
           100.0 * (double)p->trained_method / (double)p->model, trained, model,
           p->classes ? ", without the head" : "");
    print_memory(memory);
    if (p->tasks > 1) print_per_task(p);
    if (p->meta.on) print_meta(p);
    print_findings(m, arch);
}

/* Reads --classes: "3" for every task, or "2,3", one per task. */
static int verb_space_read_classes(const char *text, int tasks, int *out, struct err *e) {
    char *copy = xstrdup(text), *rest = copy, *part;
    int64_t v = 0;
    int n = 0, rc = 0;
    while (!rc && (part = text_item(&rest))) {
        if (n == tasks)
            rc = err_set(e, ERR_USAGE, "--classes %s: too many values for %d task%s", text, tasks,
                         tasks == 1 ? "" : "s");
        else if (!text_to_int(part, &v) || v < 1 || v > 100000)
            rc = err_set(e, ERR_USAGE, "--classes %s: must be integers between 1 and 100000, found \"%s\"",
                         text, part);
        else out[n++] = (int)v;
    }
    free(copy);
    if (!rc && n != 1 && n != tasks)
        rc = err_set(e, ERR_USAGE,
            "--classes %s: found %d values for %d tasks; give one per task, or one for all",
                     text, n, tasks);
    for (int i = n; !rc && i < tasks; i++) out[i] = out[0];
    return rc;
}

char *verb_method(const struct args *a, const char *text, struct err *e) {
    int says = fused_says(text, e);
    if (says < 0) return NULL;
    if (!says && !spot_says(text)) return xstrdup(text);
    struct store *s;
    if (verb_store(a, STORE_READ, &s, e)) return NULL;
    struct buf said = BUF_INIT;
    char *fused = fused_text(s, text, e), *whole = fused ? spot_text(s, fused, &said, e) : NULL;
    free(fused);
    if (whole && said.size) out_report(buf_text(&said));
    buf_release(&said);
    return verb_close(s, whole ? 0 : e->code, e) ? NULL : whole;
}

int verb_method_of(const struct args *a, const char *text, struct method *out, struct err *e) {
    char *whole = verb_method(a, text, e);
    int rc = whole ? method_parse(whole, out, e) : e->code;
    free(whole);
    return rc;
}

/* The tasks are named 1, 2, …. */
struct plan *verb_plan(const struct method *m, const struct arch *arch, const struct args *a, struct err *e) {
    char names[RUN_TASKS][16];
    const char *name[RUN_TASKS], *classes = a->classes;
    int outputs[RUN_TASKS];
    int64_t tasks = a->tasks;
    for (int i = 0; i < (int)tasks; i++) {
        snprintf(names[i], sizeof names[i], "%d", i + 1);
        name[i] = names[i];
        outputs[i] = arch_generates(arch) ? 0 : arch->labels ? arch->labels : 2;
    }
    if (classes) {
        int given[RUN_TASKS];
        if (verb_space_read_classes(classes, (int)tasks, given, e)) return NULL;
        if (!arch_generates(arch)) memcpy(outputs, given, sizeof given);
    }
    struct regime_given *said = a->regime ? option_parse(&regime_parser, a->regime, e) : NULL;
    if (a->regime && !said) return NULL;
    const struct regime regime = regime_of_method(m, tasks > 1, said);
    free(said);
    if (regime_agrees(&regime, e)) return NULL;
    const struct plan_meta meta = regime_plan(&regime);
    const struct plan_tasks all = { (int)tasks, name, outputs, &meta };
    return plan_new_tasks(m, arch, &all, e);
}

static int count_one(const struct args *a, const struct method *m, const struct arch *arch,
                     const struct stages *s, int k, struct err *e) {
    struct plan *p = verb_plan(m, arch, a, e);
    int rc = p ? s ? stage_narrow(s, k, p, e) : 0 : e->code;
    if (rc) {
        plan_free(p);
        return s ? err_prefix(e, "stage %d", k + 1) : rc;
    }
    struct verb_space_memory memory;
    rc = verb_space_estimate(a, p, m, arch, &memory, e);
    if (!rc && a->json) {
        char *json = plan_counts_json(p, arch);
        struct buf b = BUF_INIT;
        json[strlen(json) - 1] = 0; /* its brace */
        buf_puts(&b, json);
        json_put(&b, ",memory_need:%g,memory_free:%g}", ceil(memory.need), memory.available);
        printf("%s%s", buf_text(&b), s ? "" : "\n");
        buf_release(&b);
        free(json);
    } else if (!rc) {
        print_counts(p, m, arch, &memory);
    }
    if (!rc) config_release(&memory.c);
    plan_free(p);
    return rc;
}

/* Counts each stage as it is trained. */
static int count_stages(const struct args *a, const struct stages *s, const struct arch *arch,
                        struct err *e) {
    bool json = a->json;
    int rc = 0;
    if (json) printf("{\"stages\":[");
    for (int k = 0; !rc && k < s->count; k++) {
        char *text = stages_text_of(s, k);
        if (json && k) printf(",");
        if (!json) printf("%sstage %d of %d: %s\n", k ? "\n" : "", k + 1, s->count, text);
        free(text);
        rc = count_one(a, &s->stage[k].method, arch, s, k, e);
    }
    if (json) printf("]}\n");
    return rc;
}

int verb_count(const struct args *a, struct err *e) {
    struct method m;
    const char *text = a->method;
    struct regime_given *said = a->regime ? option_parse(&regime_parser, a->regime, e) : NULL;
    const struct stages *s = said && said->regime.kind == REGIME_STAGES ? &said->stages : NULL;
    if (e->code) return e->code;
    if (s && text) {
        free(said);
        return err_set(e, ERR_USAGE,
            "--method: cannot be combined with --regime stages, which has a method per stage");
    }
    if (!s && !text)
        return err_set(e, ERR_USAGE, "petri count: requires --method, for example --method 'lora(r=8)'");
    int rc = s ? 0 : verb_method_of(a, text, &m, e);
    if (rc) return rc;
    char *folder = model_find(verb_model(a), e);
    if (!folder) {
        free(said);
        return e->code;
    }
    struct arch arch;
    rc = model_shape(folder, &arch, e);
    free(folder);
    if (!rc) rc = s ? count_stages(a, s, &arch, e) : count_one(a, &m, &arch, NULL, 0, e);
    arch_release(&arch);
    free(said);
    return rc;
}

/* Appends one axis of a method: the values of its modules. */
static void add_axis(struct buf *b, const char *key, const struct method *m,
                     const char *(*value)(const struct module *)) {
    json_open(b, key, '[');
    for (int i = 0; i < m->count; i++) json_member_string(b, NULL, value(&m->module[i]));
    buf_putc(b, ']');
}

static const char *axis_fn(const struct module *m) { return fn_name(m->fn); }
static const char *axis_position(const struct module *m) {
    return m->write == TAP_NONE ? "weight" : tap_name(m->write);
}
static const char *axis_comp(const struct module *m) { return comp_name(m->comp); }
static const char *axis_source(const struct module *m) { return source_name(m->source); }

static const struct report_column METHOD[] = {
    { "name", REPORT_TEXT, .offset = offsetof(struct preset, name) },
    { "sizes", REPORT_TEXT, offsetof(struct preset, sizes), .none = "" },
    { "lr", REPORT_DOUBLE, offsetof(struct preset, lr), .none = "" },
    { "paper", REPORT_TEXT, offsetof(struct preset, paper), .none = "" },
    { 0 },
};

static void methods_table(const struct args *a, const struct own_methods *own) {
    int n = preset_count();
    struct preset *row = xcalloc((size_t)(n + own->count + 1), sizeof *row);
    for (int i = 0; i < n; i++) row[i] = *preset_at(i);
    for (int i = 0; i < own->count; i++)
        row[n + i] = (struct preset){ .name = own->of[i].name, .lr = NAN, .paper = own->of[i].text };
    verb_rows(a, METHOD, row, n + own->count, sizeof *row);
    free(row);
}

static void methods_json(const struct own_methods *own) {
    struct buf b = BUF_INIT;
    buf_putc(&b, '[');
    for (int i = 0; i < preset_count(); i++) {
        const struct preset *p = preset_at(i);
        json_put(&b, "{name:%s,title:%s,axes:{", p->name, p->title);
        add_axis(&b, "function", &p->method, axis_fn);
        add_axis(&b, "position", &p->method, axis_position);
        add_axis(&b, "insertion", &p->method, module_insertion);
        add_axis(&b, "composition", &p->method, axis_comp);
        add_axis(&b, "source", &p->method, axis_source);
        buf_putc(&b, '}');
        char *text = method_text(&p->method), *spelled = method_canonical(&p->method);
        json_put(&b, "paper:%s,sizes:%s,lr:%f,same_as:%s,text:%s,modules:%s,note:%s}", p->paper, p->sizes,
                 p->lr, p->root_alpha ? NULL : p->same_as, text, spelled,
                 p->note); /* another scale is another point */
        free(text);
        free(spelled);
    }
    for (int i = 0; i < own->count; i++) { /* saved methods */
        json_put(&b, "{name:%s,text:%s,own:%i}", own->of[i].name, own->of[i].text, true);
    }
    buf_putc(&b, ']');
    out_line(&b);
}

/* Prints the result as a line or a JSON object. */
static void methods_said(const struct args *a, const char *what, const char *of, int count) {
    struct buf b = BUF_INIT;
    buf_putc(&b, '{');
    json_member_string(&b, what, of);
    if (count >= 0) json_member_int(&b, "methods", count);
    buf_putc(&b, '}');
    if (a->json) out_line(&b);
    else if (count >= 0) printf("%s %s: %d method%s\n", what, of, count, count == 1 ? "" : "s");
    else printf("%s: %s\n", what, of);
    buf_release(&b);
}

static int methods_export(const struct args *a, const char *path, const char *to, struct err *e) {
    struct buf text = BUF_INIT;
    struct outfile_guard g;
    char *database = verb_database(a, e);
    if (!database) return e->code;
    outfile_guard_init(&g, database, false);
    int rc = own_methods_text(path, &text, e);
    if (!rc) rc = outfile_write(&g, to, buf_text(&text), text.size, e);
    outfile_guard_release(&g);
    buf_release(&text);
    free(database);
    return rc;
}

/* Carries out --save, --forget, --export or --import. */
static int methods_change(const struct args *a, const char *path, struct err *e) {
    const char *save = a->methods.save, *forget = a->methods.forget, *to = a->methods.to,
               *from = a->methods.from;
    int rc = 0, count = 0;
    bool replaced = false;
    if (save && !(rc = own_methods_save(path, save, a->method, &replaced, e)))
        methods_said(a, replaced ? "replaced" : "saved", save, -1);
    if (forget && !(rc = own_methods_forget(path, forget, e))) methods_said(a, "forgotten", forget, -1);
    if (to && !(rc = methods_export(a, path, to, e))) methods_said(a, "written", to, -1);
    if (from && !(rc = own_methods_import(path, from, &count, e))) methods_said(a, "imported", from, count);
    return rc;
}

int verb_methods(const struct args *a, struct err *e) {
    struct own_methods own = { 0 };
    struct err ignored = ERR_INIT;
    bool changes = a->methods.save || a->methods.forget || a->methods.to || a->methods.from;
    /* without a home folder only published methods are listed */
    char *path = own_methods_path(changes ? e : &ignored);
    int rc = path ? methods_change(a, path, e) : changes ? e->code : 0;
    if (!rc && !changes) {
        if (path) rc = own_methods_read(path, &own, e);
        if (!rc && a->json) methods_json(&own);
        else if (!rc) methods_table(a, &own);
        own_methods_release(&own);
    }
    free(path);
    return rc;
}

struct model_row {
    char *name, *folder, *refused; /* the last two owned */
    const char *family;
    int64_t layers, width, heads, parameters;
};
static const struct report_column MODEL[] = {
    { "name", REPORT_TEXT, .offset = offsetof(struct model_row, name) },
    { "folder", REPORT_TEXT, .offset = offsetof(struct model_row, folder) },
    { "family", REPORT_TEXT, .offset = offsetof(struct model_row, family) },
    { "layers", REPORT_ID, offsetof(struct model_row, layers), .optional = true },
    { "width", REPORT_ID, offsetof(struct model_row, width), .optional = true },
    { "heads", REPORT_ID, offsetof(struct model_row, heads), .optional = true },
    { "parameters", REPORT_ID, offsetof(struct model_row, parameters), .optional = true },
    { "refused", REPORT_TEXT, offsetof(struct model_row, refused), .none = "" },
    { 0 },
};

/* Reads the shape of a model folder, or the reason why it is refused. */
static struct model_row model_row(char *name, char *folder) {
    struct model_row row = { .name = name, .folder = folder };
    struct err e = ERR_INIT;
    struct arch arch;
    if (model_shape(folder, &arch, &e)) {
        row.refused = xstrdup(e.text);
        return row;
    }
    row.family = family_name(arch.family);
    row.layers = arch.encoder_layers, row.width = arch.width, row.heads = arch.heads;
    row.parameters = (int64_t)arch_parameters(&arch);
    arch_release(&arch);
    return row;
}

int verb_models(const struct args *a, struct err *e) {
    (void)e;
    char **name;
    size_t n = model_names(&name), rows = 0;
    struct model_row *row = xcalloc(n + 1, sizeof *row);
    for (size_t i = 0; i < n; i++) {
        char *folder = model_asset(name[i]);
        if (folder) row[rows++] = model_row(name[i], folder);
    }
    bool text = verb_rows(a, MODEL, row, rows, sizeof *row);
    while (rows) free(row[--rows].folder), free(row[rows].refused);
    free(row);
    assets_free(name, n);
    if (text && n) verb_tell_own(paths_model(), NULL);
    else if (text)
        printf("No models found. Fetch the default model with `%s`, or specify a model folder with "
               "--model DIR.\n",
               paths_fetch());
    return 0;
}

static void add_vector(struct buf *b, const char *key, const real *v, int n) {
    json_open(b, key, '[');
    for (int i = 0; i < n; i++) {
        json_add_key(b, NULL);
        json_add_float(b, (float)v[i]);
    }
    buf_putc(b, ']');
}

static void encode_json(const struct model *m, const struct encoded *x, bool pair, const real *cls,
                        const real *mean) {
    struct buf b = BUF_INIT;
    buf_putc(&b, '{');
    json_open(&b, "ids", '[');
    for (size_t i = 0; i < x->n; i++) json_member_int(&b, NULL, x->ids[i]);
    json_put(&b, "],types:[");
    for (size_t i = 0; i < x->n; i++) json_member_int(&b, NULL, x->types[i]);
    buf_putc(&b, ']');
    json_member_int(&b, "cut", x->cut_a);
    if (pair) json_member_int(&b, "cut_b", x->cut_b);
    if (cls) {
        add_vector(&b, "cls", cls, m->arch.width);
        add_vector(&b, "mean", mean, m->arch.width);
    }
    buf_putc(&b, '}');
    out_line(&b);
}

static void print_tokens(const struct model *m, const struct encoded *x) {
    for (size_t i = 0; i < x->n; i++) {
        printf("%6d  %d  ", x->ids[i], x->types[i]);
        out_text(tokenizer_token(m->tokenizer, x->ids[i]));
        putchar('\n');
    }
}

/* Encodes the text as a message of the user. */
static int encode_chat(const struct args *a, const struct model *m, struct err *e) {
    const char *system = a->encode.system;
    struct chat_turn turn[2] = { { CHAT_SYSTEM, system, system ? strlen(system) : 0 },
                                 { CHAT_USER, a->text, strlen(a->text) } };
    struct chat_template t = { 0 };
    struct chat_ids chat;
    int rc = model_needs_tokenizer(m, e);
    if (!rc) rc = talk_template(m, NULL, a->chat_template, &t, e);
    if (!rc) rc = chat_prompt(m->tokenizer, &t, turn + !system, (size_t)(1 + (system != NULL)), &chat, e);
    if (!rc) {
        struct encoded x = { .ids = chat.ids, .types = xcalloc(chat.n + 1, sizeof *x.types), .n = chat.n };
        struct buf described = BUF_INIT;
        chat_template_describe(&t, &described);
        if (a->json) encode_json(m, &x, false, NULL, NULL);
        else print_tokens(m, &x);
        if (!a->json) {
            printf("%zu tokens; chat template: ", x.n);
            out_text(buf_text(&described));
            putchar('\n');
        }
        buf_release(&described);
        free(x.types);
        chat_ids_release(&chat);
    }
    chat_template_release(&t);
    return rc;
}

int verb_encode(const struct args *a, struct err *e) {
    const char *text = a->text, *second = a->text_b;
    struct model *m = model_load(verb_model(a), e);
    if (!m) return e->code;
    if (a->encode.chat) {
        int rc = encode_chat(a, m, e);
        model_release(m);
        return rc;
    }
    bool json = a->json, vectors = json && !a->encode.tokens;
    int64_t longest = arch_max_length(&m->arch);
    int rc = a->max_len ? args_within("max-length", a->max_len, 2, longest, e) : 0;
    if (a->max_len) longest = a->max_len;
    struct encoded x;
    real *cls = NULL, *mean = NULL;
    if (!rc)
        rc = model_encode_text(m, text, second, (size_t)longest, &x, vectors ? &cls : NULL,
                               vectors ? &mean : NULL, e);
    if (!rc) {
        if (json) encode_json(m, &x, second, cls, mean);
        else {
            print_tokens(m, &x);
            printf("%zu tokens; --json adds the first-token and mean vectors of the last layer\n", x.n);
        }
        size_t lost = x.cut_a + x.cut_b;
        if (lost)
            fprintf(stderr, "petri: truncated to %lld tokens (%zu token%s dropped)\n", (long long)longest,
                    lost, lost == 1 ? "" : "s");
        encoded_release(&x);
    }
    free(cls);
    free(mean);
    model_release(m);
    return rc;
}
