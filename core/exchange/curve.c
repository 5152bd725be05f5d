#include "core/exchange/curve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/import.h"

enum { STATE_BYTES = 1 << 28 };
static const char curve_file[] = "trainer_state.json", curve_before[] = "eval_";

/* Only letters, digits and '_', since names become columns. */
static bool is_word(const char *name) {
    return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(name);
}

/* Returns the name of a point in petri, or NULL for entries that are not part of the curve. */
static const char *point_name(const char *key, bool evaluation) {
    static const char *const training[][2] = { { "loss", "loss" },
                                               { "learning_rate", "lr" },
                                               { "grad_norm", "grad_norm" } };
    static const char *const clocks[] = { "runtime", "samples_per_second", "steps_per_second",
                                          "jit_compilation_time" };
    const char *name = evaluation ? key + strlen(curve_before) : NULL;
    for (size_t i = 0; i < COUNT_OF(training) && !evaluation; i++)
        if (!strcmp(key, training[i][0])) return training[i][1];
    for (size_t i = 0; i < COUNT_OF(clocks) && name; i++)
        if (!strcmp(name, clocks[i])) return NULL;
    return name && *name && strlen(name) < CURVE_NAME && is_word(name) ? name : NULL;
}

static void curve_add(struct curve *c, const json_t *told, int64_t step, bool evaluation) {
    struct curve_entry x = { .step = step, .evaluation = evaluation };
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)told, key, v) {
        if (text_starts(key, curve_before) != evaluation || !json_is_number(v) || x.count == CURVE_VALUES)
            continue;
        const char *name = point_name(key, evaluation);
        if (!name) continue;
        snprintf(x.name[x.count], CURVE_NAME, "%s", name);
        x.value[x.count++] = json_number_value(v);
    }
    if (!x.count) return;
    GROW(c->entry, c->room, c->count + 1);
    c->entry[c->count++] = x;
}

void curve_read(const char *folder, struct curve *out, struct notes *read, struct notes *ignored) {
    struct err e = ERR_INIT;
    char *path = file_join(folder, curve_file);
    *out = (struct curve){ 0 };
    json_t *state = file_exists(path) ? json_read(path, STATE_BYTES, &e) : NULL, *told;
    const json_t *list = json_object_get(state, "log_history");
    size_t i;
    if (e.code) notes_add(ignored, "%s: %s", curve_file, e.text);
    else if (state && !json_is_array(list)) notes_add(ignored, "%s: \"log_history\" is not a list",
                                                               curve_file);
    json_array_foreach(list, i, told) {
        const json_t *step = json_object_get(told, "step");
        if (!json_is_integer(step) || json_integer_value(step) < 0) continue;
        curve_add(out, told, json_integer_value(step), false);
        curve_add(out, told, json_integer_value(step), true);
    }
    if (json_is_array(list)) notes_add(read, "%s", curve_file);
    json_decref(state);
    free(path);
}

void curve_release(struct curve *c) {
    free(c->entry);
    *c = (struct curve){ 0 };
}
