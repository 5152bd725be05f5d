/* Folders of a tiny BERT and the results of loading them, for the tests of core/model. */
#ifndef TESTS_MODEL_LOADING_H
#define TESTS_MODEL_LOADING_H

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/model/model.h"
#include "tests/support/edit.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"

static inline char *tiny(void) {
    char *parent = test_folder(), *folder = tiny_bert(parent, "tiny-bert", NULL);
    free(parent);
    return folder;
}

/* A tiny model's folder and its tensors to be changed. */
static inline char *tiny_open(struct edit *x) {
    char *folder = tiny();
    edit_open(x, folder);
    return folder;
}

/* Loads the model; its shape, read without values, must be the same. */
static inline struct model *load_ok(const char *folder) {
    struct err e = ERR_INIT;
    struct arch shape;
    struct model *m = model_load(folder, &e);
    if (!m) fail_msg("%s", e.text);
    test_ok(model_shape(m->folder, &shape, &e), &e);
    assert_true(shape.pooler_absent == m->arch.pooler_absent && shape.tied == m->arch.tied);
    assert_int_equal(arch_parameters(&shape), arch_parameters(&m->arch));
    arch_release(&shape);
    return m;
}

static inline void load_refused(const char *folder, int code, const char *part) {
    struct err e = ERR_INIT;
    struct model *m = model_load(folder, &e);
    if (m) fail_msg("loaded, but \"%s\" was expected", part);
    test_refused(e.code, code, &e, part);
}

static inline void assert_said(const struct model *m, const char *part) {
    if (!strstr(buf_text(&m->report), part))
        fail_msg("the report lacks \"%s\":\n%s", part, buf_text(&m->report));
}

static inline char *fingerprint_of(const char *folder) {
    struct model *m = load_ok(folder);
    char *out = xstrdup(m->sha256);
    model_release(m);
    return out;
}

#endif
