/* Sweeps from Compose: the marked methods and values of options become the lists of the sweep. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/complete.h"
#include "core/train/config/option.h"
#include "views/compose_edit.h"
#include "views/ui.h"
#include "views/ui_parts.h"

static const char method_key[] = "method=";

static int find(const struct compose_view *v, const char *text) {
    for (int i = 0; i < v->swepts; i++)
        if (!strcmp(v->swept[i], text)) return i;
    return -1;
}

/* Returns the item under the cursor: the current method, or an option with its value. */
static char *compose_sweep_here(const struct compose_view *v) {
    if (!compose_on_run(v)) return xprintf("%s%s", method_key, v->facts.text);
    const char *name = compose_option_name(v, v->option);
    char *value = config_get(&v->config, name), *both = xprintf("%s=%s", name, value ? value : "");
    free(value);
    return both;
}

static int marked_of(const struct compose_view *v, const char *key, size_t n) {
    int count = 0;
    for (int i = 0; i < v->swepts; i++) count += !strncmp(v->swept[i], key, n);
    return count;
}

void compose_mark(struct ui *ui) {
    struct compose_view *v = &ui->compose;
    char *text = compose_sweep_here(v);
    int at = find(v, text);
    if (at >= 0) {
        free(v->swept[at]);
        free(text);
        for (v->swepts--; at < v->swepts; at++) v->swept[at] = v->swept[at + 1];
    } else if (v->swepts == COMPOSE_SWEPT) {
        free(text);
        ui_say(ui, SAY_WARNING, "at most %d values can be marked", COMPOSE_SWEPT);
        return;
    } else {
        v->swept[v->swepts++] = text;
    }
    int methods = marked_of(v, method_key, sizeof method_key - 1);
    ui_say(ui, SAY_INFO, "marked for a sweep: %d method%s, %d option value%s; A starts it", methods,
           methods == 1 ? "" : "s", v->swepts - methods, v->swepts - methods == 1 ? "" : "s");
}

bool compose_is_marked(const struct compose_view *v, const struct choice *k) {
    if (!v->swepts || v->part >= v->config.method.count) return false;
    struct method m;
    compose_choose(v, k, &m);
    char *text = method_text(&m), *key = xprintf("%s%s", method_key, text);
    bool marked = find(v, key) >= 0;
    free(text);
    free(key);
    return marked;
}

/* Appends all marked values of the key of entry `at`, once per key: "--lr '{0.001,0.003}'". */
static void add_list(const struct compose_view *v, int at, struct buf *out) {
    size_t n = strcspn(v->swept[at], "=") + 1;
    struct buf list = BUF_INIT;
    for (int i = 0; i < at; i++)
        if (!strncmp(v->swept[i], v->swept[at], n)) return;
    int count = marked_of(v, v->swept[at], n);
    for (int i = at; i < v->swepts; i++)
        if (!strncmp(v->swept[i], v->swept[at], n))
            buf_printf(&list, "%s%s", list.size ? "," : count > 1 ? "{" : "", v->swept[i] + n);
    if (count > 1) buf_putc(&list, '}');
    buf_printf(out, " --%.*s ", (int)n - 1, v->swept[at]);
    text_shell_word(out, buf_text(&list));
    buf_release(&list);
}

static bool has_value(const char *name) {
    const struct option *o = option_find(name);
    return !o || o->values;
}

/* Returns whether the option applies to a single run only. */
static bool compose_sweep_is_of_one_run(const char *option) {
    static const char *const names[] = { "seed", "seeds", "name" };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!strcmp(option, names[i])) return true;
    return false;
}

/* Options of a line of `petri train`, without those that are marked, of one run, and a rate that is each
 * method's own. */
static void add_options(const struct compose_view *v, const char *command, bool own_rate, struct buf *out) {
    char *word;
    while ((word = text_word(&command))) {
        const char *name = word + 2;
        char *value = word[0] == '-' && has_value(name) ? text_word(&command) : NULL,
             *key = xprintf("%s=", name);
        bool skip = word[0] != '-' || compose_sweep_is_of_one_run(name) ||
                    (own_rate && !strcmp(name, "lr")) || marked_of(v, key, strlen(key));
        if (!skip) buf_printf(out, " %s", word);
        if (!skip && value) buf_putc(out, ' '), text_shell_word(out, value);
        free(word), free(value), free(key);
    }
}

char *compose_sweep_line(const struct compose_view *v) {
    struct buf b = BUF_INIT;
    bool methods = marked_of(v, method_key, sizeof method_key - 1) > 0;
    char *command = compose_command(v);
    if (v->seeds > 1) compose_put_seeds(v, &b);
    else buf_puts(&b, "--seeds 1,2,3");
    for (int i = 0; i < v->swepts; i++) add_list(v, i, &b);
    add_options(v, command, methods || v->config.lr == config_default_lr(&v->config.method, NULL), &b);
    free(command);
    return buf_take(&b);
}
