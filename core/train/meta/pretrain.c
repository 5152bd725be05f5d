#include "core/train/meta/pretrain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/dataset.h"
#include "core/data/encoding.h"
#include "core/text/vocab_train.h"

/* Names of the data files in the folder of the run. */
static const char texts_name[] = "texts.txt", dev_name[] = "dev.txt";

void pretrain_defaults(struct run_config *c) {
    static const char *const usual[][2] = {
        { "method", "full" }, { "form", "masked" },       { "lr", "0.001" },  { "warmup", "0.05" },
        { "batch", "64" },    { "weight-decay", "0.01" }, { "dropout", "0" }, { "eval-rows", "1000" },
    };
    struct err e = ERR_INIT;
    for (size_t i = 0; i < COUNT_OF(usual); i++)
        if (config_set(c, usual[i][0], usual[i][1], &e)) BUG("%s", e.text);
}

/* ---- texts ---- */

/* Appends the lines of a file. */
static int add_text(const char *path, struct buf *all, struct err *e) {
    struct buf file = BUF_INIT;
    int rc = file_read(path, DATASET_FILE, &file, e);
    if (!rc) rc = encoding_check(path, buf_text(&file), file.size, e);
    size_t bom = !rc && text_starts(buf_text(&file), "\xEF\xBB\xBF") ? 3 : 0;
    if (!rc && file.size == bom) rc = err_set(e, ERR_INPUT, "%s: empty file", path);
    if (!rc && all->size + file.size > DATASET_FILE)
        rc = err_set(e, ERR_INPUT, "%s: too large: all texts together exceed %zu GB", path,
                     DATASET_FILE >> 30);
    if (!rc) buf_add(all, file.data + bom, file.size - bom);
    if (!rc && all->data[all->size - 1] != '\n') buf_putc(all, '\n');
    buf_release(&file);
    return rc;
}

/* Appends all files, and warns of lines with more than a hundredth of the text and ten times the average of
 * the others: such lines, often encoded data, would dominate the vocabulary. */
static int add_texts(const struct pretrain *p, struct buf *all, struct buf *report, struct err *e) {
    enum { SHARE = 100, TIMES = 10 };
    size_t *start = xcalloc((size_t)p->texts + 1, sizeof *start), line = 0, lines = 0;
    int rc = 0;
    for (int i = 0; i < p->texts && !rc; i++) {
        rc = add_text(p->text[i], all, e);
        start[i + 1] = all->size;
    }
    for (size_t i = 0; i < all->size; i++) lines += all->data[i] == '\n';
    int file = 0, named = 0;
    for (size_t at = 0; at < all->size && !rc; at++) {
        const char *end = memchr(all->data + at, '\n', all->size - at); /* terminate the last line */
        size_t n = (size_t)(end - all->data) - at;
        while (at >= start[file + 1]) file++, line = 0;
        line++;
        if (SHARE * n > all->size && n * (lines - 1) > TIMES * (all->size - n) && named++ < REPORT_FIRST)
            text_line(report,
                      "warning: %s:%zu: this line is %.0f%% of the text (%zu of %zu bytes), and the "
                      "vocabulary is trained on the whole text; remove the line if it is not text",
                      p->text[file], line, 100.0 * (double)n / (double)all->size, n, all->size);
        at += n;
    }
    if (named > REPORT_FIRST)
        text_line(report, "warning: each of %d more lines is more than 1%% of the text",
                  named - REPORT_FIRST);
    free(start);
    return rc;
}

static int train_vocabulary(const struct pretrain *p, const struct buf *texts, struct buf *vocab,
                            struct buf *report, struct err *e) {
    struct vocab_trainer *t = vocab_trainer_new();
    int rc = 0;
    for (size_t at = 0; at < texts->size && !rc;) {
        const char *s = texts->data + at, *end = memchr(s, '\n', texts->size - at);
        size_t n = (size_t)(end - s); /* terminate the last line */
        rc = vocab_trainer_add(t, s, n, e);
        at += n + 1;
    }
    if (!rc) rc = vocab_trainer_run(t, p->vocabulary, vocab, report, e);
    vocab_trainer_free(t);
    return rc && e->code == ERR_INPUT ? err_prefix(e, "%s", p->text[0]) : rc;
}

/* ---- the folder ---- */

/* Returns a key of everything that determines the content of the folder; caller frees. */
static char *pretrain_key(const struct pretrain *p, const struct buf *texts, const struct buf *dev) {
    char hash[2][65], all[65];
    sha256_hex(texts->data, texts->size, hash[0]);
    sha256_hex(buf_text(dev), dev->size, hash[1]);
    char *text = xprintf("%s %s %d %d %d %d %d %d %llu", hash[0], p->dev ? hash[1] : "none", p->model.layers,
                         p->model.width, p->model.heads, p->model.inner, p->model.positions, p->vocabulary,
                         (unsigned long long)p->model.seed);
    sha256_hex(text, strlen(text), all);
    free(text);
    return xstrndup(all, 12);
}

/* Writes the data files to the folder, each atomically. */
static int pretrain_files(const char *folder, const struct buf *texts, const struct buf *dev, struct err *e) {
    char *path = file_join(folder, texts_name), *other = file_join(folder, dev_name);
    int rc = file_exists(path) ? 0 : file_write(path, texts->data, texts->size, e);
    if (!rc && dev->size && !file_exists(other)) rc = file_write(other, dev->data, dev->size, e);
    free(path);
    free(other);
    return rc;
}

/* Returns the number of texts that are not blank. */
static size_t pretrain_rows(const struct buf *texts) {
    size_t rows = 0;
    bool any = false;
    for (size_t i = 0; i < texts->size; i++) {
        if (texts->data[i] == '\n') any = false;
        else if (!any && !strchr(" \t\r\f\v", texts->data[i])) rows += any = true;
    }
    return rows;
}

/* Sets the default share held out for validation. */
static int default_split(const struct buf *texts, double *split, struct err *e) {
    const double part = 0.02;
    size_t rows = pretrain_rows(texts);
    if (!rows) return err_set(e, ERR_INPUT, "the text contains no words");
    if (rows < 2)
        return err_set(
            e, ERR_INPUT,
            "only one line, and at least one is held out for validation; use at least two lines, or --dev");
    *split = part * (double)rows < 1 ? 1 / (double)rows : part;
    return 0;
}

static void pretrain_describe(const struct pretrain *p, const char *folder, struct run_config *c) {
    char *path = file_join(folder, texts_name), *other = file_join(folder, dev_name);
    config_take_model(c, folder);
    c->form = FORM_MASKED;
    xreplace(&c->train_file, path);
    xreplace(&c->dev_file, p->dev ? other : NULL);
    free(path);
    free(other);
}

static int pretrain_make(const struct pretrain *p, const char *folder, const struct buf *texts,
                         const struct buf *dev, struct buf *report, struct err *e) {
    struct buf vocab = BUF_INIT;
    int rc = train_vocabulary(p, texts, &vocab, report, e);
    if (!rc) rc = fresh_write(&p->model, vocab.data, vocab.size, folder, e);
    if (!rc && pretrain_files(folder, texts, dev, e)) {
        fresh_remove(folder);
        rc = e->code;
    }
    buf_release(&vocab);
    return rc;
}

void pretrain_undo(const struct run_config *c) {
    const char *const files[] = { texts_name, dev_name };
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char *path = file_join(c->model, files[i]);
        remove(path);
        free(path);
    }
    fresh_remove(c->model);
}

int pretrain_begin(const struct pretrain *p, const char *parent, const char *name, struct run_config *c,
                   bool *made, struct buf *report, struct err *e) {
    struct buf texts = BUF_INIT, dev = BUF_INIT;
    *made = false;
    int rc = fresh_check(&p->model, e);
    if (!rc && p->dev && c->split > 0)
        rc = err_set(e, ERR_USAGE, "--split: not available with --dev %s; omit one of them", p->dev);
    if (!rc) rc = add_texts(p, &texts, report, e);
    if (!rc && p->dev) rc = add_text(p->dev, &dev, e);
    if (!rc && !p->dev && !(c->split > 0))
        rc = default_split(&texts, &c->split, e) ? err_prefix(e, "%s", p->text[0]) : 0;
    if (!rc) {
        char *key = pretrain_key(p, &texts, &dev), *folder = xprintf("%s/%s-%s", parent, name, key);
        bool before = file_is_folder(folder);
        if (before) text_line(report, "%s: reused; it was created from the same text, architecture and seed",
                              folder);
        rc = before ? pretrain_files(folder, &texts, &dev, e)
                    : pretrain_make(p, folder, &texts, &dev, report, e);
        if (!rc) pretrain_describe(p, folder, c);
        *made = !rc && !before;
        free(folder);
        free(key);
    }
    buf_release(&texts);
    buf_release(&dev);
    return rc;
}
