/* The command line of a config (config.h), from the table of options. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/facts.h"
#include "core/train/config/option.h"

/* Returns the text to print for a member: a completed config names folders, and files only where there is no
 * folder. */
static const char *standing(const struct run_config *c, const struct option *o) {
    const char *s = option_text(c, o);
    if (o->offset == offsetof(struct run_config, model))
        return s && strchr(s, '/') && c->model_folder ? c->model_folder : s;
    if (o->offset == offsetof(struct run_config, task) && !config_task_count(c)) return NULL;
    if (o->offset == offsetof(struct run_config, task))
        return c->task_folder ? c->task_folder : c->train_file || c->dev_file ? NULL : s;
    bool file = o->offset == offsetof(struct run_config, train_file) ||
                o->offset == offsetof(struct run_config, dev_file);
    return file && c->task_folder ? NULL : s;
}

/* Returns the value of --tasks, valid in any working directory: folders where their names are those of the
 * tasks, else the value as given. Caller frees. */
static char *tasks_said(const struct run_config *c) {
    struct buf b = BUF_INIT;
    bool list = text_ends(c->tasks_given, ".json"), folders = !list;
    for (int i = 0; i < c->tasks && folders; i++) {
        const char *folder = c->of[i].task_folder, *last = folder ? strrchr(folder, '/') : NULL;
        folders = last && !strcmp(last + 1, c->of[i].task_name) && !strchr(folder, ',');
        buf_printf(&b, "%s%s", i ? "," : "", folder ? folder : "");
    }
    if (folders) return buf_take(&b);
    buf_release(&b);
    return xstrdup(c->tasks_given);
}

char *config_command(const struct run_config *c) {
    struct buf b = BUF_INIT;
    struct run_config usual;
    config_init(&usual);
    if (c->model_facts && facts_are_causal(c->model_facts)) usual.max_len = 0; /* another default */
    buf_puts(&b, "petri train");
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        if (!o->name || (c->tasks && option_of_one_task(o)) ||
            (!(o->is & OPTION_SHOWN) && option_same(c, &usual, o)))
            continue;
        /* the number of steps follows from the epochs */
        if (o->offset == offsetof(struct run_config, steps) && c->epochs > 0) continue;
        if (o->has_unset && !o->unset_word && option_number(c, o) == o->unset) continue;
        const char *text = o->kind == OPTION_TEXT ? standing(c, o) : "";
        if (!text) continue;
        buf_printf(&b, " --%s", o->name);
        if (o->kind == OPTION_FLAG) continue;
        bool tasks = c->tasks && o->offset == offsetof(struct run_config, tasks_given);
        char *value = tasks ? tasks_said(c) : o->kind == OPTION_TEXT ? NULL : option_print(c, o);
        buf_putc(&b, ' ');
        text_shell_word(&b, value ? value : text);
        free(value);
    }
    config_release(&usual);
    return buf_take(&b);
}
