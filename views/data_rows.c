/* What is chosen on the screen of own data, and the description of rows that it comes to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "views/data_parts.h"

static const char *const data_rows_splits[] = { "10%", "5%", "20%", "30%" };

int data_columns(const struct data_view *v) { return v->look.peek ? v->look.peek->columns : 0; }

/* Where dev rows may come from: files likely by their names, shares held out, other files, none.  The file of
 * a place, or the share, or neither. */
static void dev_at(const struct data_view *v, int i, const char **file, const char **split) {
    int splits = (int)COUNT_OF(data_rows_splits);
    *file = *split = NULL;
    if (v->look.own_dev) return;
    if (i < v->look.likely) *file = v->look.beside[i];
    else if (i < v->look.likely + splits) *split = data_rows_splits[i - v->look.likely];
    else if (i < v->look.besides + splits) *file = v->look.beside[i - splits];
}

static const char *column_with(const struct data_view *v, enum peek_role role) {
    for (int i = 0; i < data_columns(v); i++)
        if (v->role[i] == role) return v->look.peek->column[i].name;
    return NULL;
}

static void data_dev_words(const struct data_view *v, char out[160]) {
    const char *file, *split;
    dev_at(v, v->dev, &file, &split);
    if (v->look.own_dev) snprintf(out, 160, "from the folder");
    else if (split) {
        bool classes = column_with(v, PEEK_LABEL) && v->config.regression <= 0;
        snprintf(out, 160, "%s of the training set%s", split, classes ? ", stratified by class" : "");
    } else if (file) {
        char *name = file_base_name(file);
        snprintf(out, 160, "%.150s", name);
        free(name);
    } else snprintf(out, 160, "none: the run will not be evaluated");
}

/* The config with these rows alone; what was set of header, delimiter and kind stays. */
static void data_apply(struct data_view *v) {
    struct run_config *c = &v->config;
    const struct data_look *k = &v->look;
    const char *file, *split;
    struct err ignored = ERR_INIT;
    if (!k->path || k->list) return;
    xreplace(&c->train_file, k->folder ? NULL : k->path);
    xreplace(&c->dev_file, NULL);
    xreplace(&c->text_column, column_with(v, PEEK_TEXT));
    xreplace(&c->text_b_column, column_with(v, PEEK_TEXT_B));
    xreplace(&c->label_column, column_with(v, PEEK_LABEL));
    xreplace(&c->source_column, column_with(v, PEEK_SOURCE));
    xreplace(&c->target_column, column_with(v, PEEK_TARGET));
    dev_at(v, v->dev, &file, &split);
    xreplace(&c->dev_file, file);
    config_set(c, "split", split ? split : "none", &ignored);
}

void data_looked(struct data_view *v, const struct run_config *base) {
    struct data_look *k = &v->look;
    struct err e = ERR_INIT;
    struct run_config was = v->config;
    v->report_top = 0;
    if (!v->again) v->at = v->first = v->dev = 0;
    config_copy(&v->config, base);
    v->read = (struct data_read){ 0 };
    config_take_task(&v->config, k->path ? k->path : "");
    if (k->list) config_take_tasks(&v->config, k->path, &e); /* reading it says why not */
    if (!k->folder && !k->list) xreplace(&v->config.task, NULL);
    for (int i = 0; i < data_columns(v); i++) v->role[i] = k->peek->column[i].role;
    if (k->peek && k->peek->delimiter) config_set(&v->config, "delimiter", k->peek->delimiter, &e);
    v->config.no_header = k->peek && k->peek->format != DATA_JSONL && !k->peek->header;
    if (v->again) {
        v->config.header = was.header;
        v->config.no_header = was.no_header;
        v->config.regression = was.regression;
    }
    config_release(&was);
    v->again = false;
    data_apply(v);
}

/* A role is one column's; source and target on one side, text and label on the other do not go together. */
void data_give(struct data_view *v, int column, enum peek_role role) {
    bool texts = role == PEEK_SOURCE || role == PEEK_TARGET;
    for (int i = 0; i < data_columns(v) && role != PEEK_NONE; i++) {
        bool of_texts = v->role[i] == PEEK_SOURCE || v->role[i] == PEEK_TARGET;
        if (v->role[i] == role || (v->role[i] != PEEK_NONE && of_texts != texts)) v->role[i] = PEEK_NONE;
    }
    v->role[column] = role;
    data_apply(v);
}

/* ---- the lines below the columns ---- */

enum { ROW_DEV, ROW_KIND, ROW_HEADER, ROW_DELIMITER };

static const char *const data_rows_words[DATA_OPTIONS][8] = {
    [ROW_KIND] = { "auto", "classes", "scores", NULL },
    [ROW_HEADER] = { "auto", "column names", "example", NULL },
    [ROW_DELIMITER] = { "auto", "tab", "comma", "semicolon", "pipe", NULL },
};

/* Which of the lines there are. */
int data_options(const struct data_view *v, int line[DATA_OPTIONS]) {
    int n = 0;
    if (v->look.list || !v->look.path) return 0;
    line[n++] = ROW_DEV;
    if (v->look.peek && !column_with(v, PEEK_TARGET)) line[n++] = ROW_KIND;
    if (v->look.peek && v->look.peek->format != DATA_JSONL) {
        line[n++] = ROW_HEADER;
        line[n++] = ROW_DELIMITER;
    }
    return n;
}

static int word_at(const struct data_view *v, int line) {
    const struct run_config *c = &v->config;
    if (line == ROW_KIND) return c->regression + 1;
    if (line == ROW_HEADER) return c->header ? 1 : c->no_header ? 2 : 0;
    for (int i = 1; c->delimiter && data_rows_words[ROW_DELIMITER][i]; i++)
        if (!strcmp(c->delimiter, data_rows_words[ROW_DELIMITER][i])) return i;
    return 0;
}

void data_option_words(const struct data_view *v, int line, const char **name, char value[160]) {
    static const char *const names[DATA_OPTIONS] = { "validation set", "label type", "first line",
                                                     "delimiter" };
    *name = names[line];
    if (line == ROW_DEV) data_dev_words(v, value);
    else snprintf(value, 160, "%s", data_rows_words[line][word_at(v, line)]);
}

/* The next value of a line; true: the file is to be looked at anew, as its columns may be others. */
bool data_option_step(struct data_view *v, int line, int by) {
    struct run_config *c = &v->config;
    int n = 0, at = word_at(v, line);
    if (line == ROW_DEV) {
        int devs = v->look.own_dev ? 1 : v->look.besides + (int)COUNT_OF(data_rows_splits) + 1;
        v->dev = (v->dev + by + devs) % devs;
        data_apply(v);
        return false;
    }
    while (data_rows_words[line][n]) n++;
    at = (at + by + n) % n;
    if (line == ROW_KIND) c->regression = at - 1;
    if (line == ROW_HEADER) {
        c->header = at == 1;
        c->no_header = at == 2;
    }
    if (line == ROW_DELIMITER) xreplace(&c->delimiter, at ? data_rows_words[line][at] : NULL);
    return line != ROW_KIND;
}
