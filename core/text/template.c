#include <string.h>

#include "core/base/text.h"
#include "core/text/parts.h"

void template_cut(size_t room, size_t *a, size_t *b) {
    if (*a + *b <= room) return;
    bool swapped = *a > *b;
    size_t shorter = swapped ? *b : *a, longer;
    longer = shorter > room ? shorter : room - shorter > shorter ? room - shorter : shorter;
    if (shorter + longer > room) {
        shorter = room / 2;
        longer = room - shorter;
    }
    *a = swapped ? longer : shorter;
    *b = swapped ? shorter : longer;
}

/* ---- forms of the model families ---- */

/* Returns the ids of two special tokens. */
static int template_find(const struct tokenizer *t, const char *file, const char *cls, const char *sep,
                         int32_t *c, int32_t *s, struct err *e) {
    *c = vocab_find(&t->vocab, cls, strlen(cls));
    *s = vocab_find(&t->vocab, sep, strlen(sep));
    if (*c >= 0 && *s >= 0) return 0;
    return err_set(e, ERR_INPUT, "%s: the special token \"%s\" is not in the vocabulary", file,
                   *c < 0 ? cls : sep);
}

int tokenizer_bert_templates(struct tokenizer *t, const char *file, const char *cls,
                             const char *sep, struct err *e) {
    int32_t c, s;
    if (template_find(t, file, cls, sep, &c, &s, e)) return e->code;
    t->single = (struct template){ 3, 2, { { -1, c, 0 }, { 0, -1, 0 }, { -1, s, 0 } } };
    t->pair =
        (struct template){ 5, 3, { { -1, c, 0 }, { 0, -1, 0 }, { -1, s, 0 }, { 1, -1, 1 }, { -1, s, 1 } } };
    return 0;
}

int tokenizer_roberta_templates(struct tokenizer *t, const char *file, const char *cls,
                                const char *sep, struct err *e) {
    int32_t c, s;
    if (template_find(t, file, cls, sep, &c, &s, e)) return e->code;
    t->single = (struct template){ 3, 2, { { -1, c, 0 }, { 0, -1, 0 }, { -1, s, 0 } } };
    t->pair = (struct template){ 6, 4, { { -1, c, 0 }, { 0, -1, 0 }, { -1, s, 0 }, { -1, s, 0 }, { 1, -1, 0 },
                                       { -1, s, 0 } } };
    return 0;
}

void tokenizer_plain_templates(struct tokenizer *t) {
    t->single = (struct template){ 1, 0, { { 0, -1, 0 } } };
    t->pair = (struct template){ 2, 0, { { 0, -1, 0 }, { 1, -1, 1 } } };
}

static bool add_piece(struct template *f, int text, int32_t id, json_int_t type) {
    if (f->pieces == TEMPLATE_PIECES || type < 0 || type > 255) return false;
    f->piece[f->pieces++] = (struct template_piece){ text, id, (uint8_t)type };
    f->tokens += text < 0;
    return true;
}

void tokenizer_end_templates(struct tokenizer *t, int32_t bos, int32_t eos) {
    t->single = t->pair = (struct template){ 0 };
    for (int text = 0; text < 2; text++) {
        if (bos >= 0) add_piece(&t->pair, -1, bos, text);
        add_piece(&t->pair, text, -1, text);
        if (eos >= 0) add_piece(&t->pair, -1, eos, text);
        if (!text) t->single = t->pair;
    }
}

size_t tokenizer_lead(const struct tokenizer *t, int32_t *ids) {
    size_t n = 0;
    while (t->single.piece[n].text < 0) ids[n] = t->single.piece[n].id, n++;
    return n;
}

/* ---- tokenizer.json ---- */

/* Reads one {"SpecialToken":{…}} or {"Sequence":{…}}. */
static int read_piece(struct tokenizer *t, struct template *f, const char *path, const json_t *item,
                      const json_t *specials, struct err *e) {
    const json_t *special = json_object_get(item, "SpecialToken");
    const json_t *text = json_object_get(item, "Sequence");
    const json_t *part = special ? special : text;
    const char *name = json_string_value(json_object_get(part, "id"));
    json_int_t type = json_integer_value(json_object_get(part, "type_id"));
    if (!name) return err_set(e, ERR_INPUT, "%s: template: an item has no \"id\"", path);
    bool fits = true;
    if (text) {
        if (strcmp(name, "A") && strcmp(name, "B"))
            return err_set(e, ERR_INPUT, "%s: template: unknown sequence \"%s\"; must be A or B",
                           path, name);
        fits = add_piece(f, name[0] == 'B', -1, type);
    } else {
        const json_t *ids = json_object_get(json_object_get(specials, name), "ids");
        if (!json_array_size(ids))
            return err_set(e, ERR_INPUT, "%s: template: \"special_tokens\" has no \"ids\" of %s", path, name);
        for (size_t i = 0; fits && i < json_array_size(ids); i++) {
            const json_t *id = json_array_get(ids, i);
            json_int_t v = json_is_integer(id) ? json_integer_value(id) : -1;
            if (v < 0 || v >= (json_int_t)t->vocab.ids || !vocab_text(&t->vocab, (int32_t)v))
                return err_set(e, ERR_INPUT,
                               "%s: template: special token \"%s\" has an id outside the vocabulary",
                               path, name);
            fits = add_piece(f, -1, (int32_t)v, type);
        }
    }
    return fits ? 0
                : err_set(e, ERR_INPUT,
                          "%s: template: more than %d items, or a \"type_id\" not between 0 and 255", path,
                          TEMPLATE_PIECES);
}

static int template_read_form(struct tokenizer *t, struct template *f, const char *path, const json_t *part,
                              const char *key, struct err *e) {
    const json_t *list = json_object_get(part, key);
    int seen[2] = { 0, 0 };
    for (size_t i = 0; i < json_array_size(list); i++)
        if (read_piece(t, f, path, json_array_get(list, i), json_object_get(part, "special_tokens"),
                       e))
            return e->code;
    for (int i = 0; i < f->pieces; i++)
        if (f->piece[i].text >= 0) seen[f->piece[i].text]++;
    if (seen[0] != 1 || seen[1] != !strcmp(key, "pair"))
        return err_set(e, ERR_INPUT, "%s: template \"%s\" must contain %s exactly once", path, key,
                       strcmp(key, "pair") ? "A (and not B)" : "A and B");
    return 0;
}

/* {"cls": ["[CLS]", 101], "sep": ["[SEP]", 102]} of BertProcessing and RobertaProcessing. */
static int template_read_family(struct tokenizer *t, const char *path, const char *type, const json_t *part,
                                struct err *e) {
    const char *cls = json_string_value(json_array_get(json_object_get(part, "cls"), 0));
    const char *sep = json_string_value(json_array_get(json_object_get(part, "sep"), 0));
    if (!cls || !sep)
        return err_set(e, ERR_INPUT, "%s: %s: \"cls\" and \"sep\" are required", path, type);
    return type[0] == 'B' ? tokenizer_bert_templates(t, path, cls, sep, e)
                          : tokenizer_roberta_templates(t, path, cls, sep, e);
}

/* Reads one step; ByteLevel changes offsets only. */
static int template_read_step(struct tokenizer *t, const char *path, const json_t *part, struct err *e) {
    const char *type = json_string_value(json_object_get(part, "type"));
    if (!type) type = "\"type\" is missing";
    if (!strcmp(type, "ByteLevel")) return 0;
    if (!strcmp(type, "Sequence")) {
        const json_t *list = json_object_get(part, "processors");
        if (!json_is_array(list))
            return err_set(e, ERR_INPUT, "%s: post_processor Sequence: \"processors\" is missing",
                           path);
        for (size_t i = 0; i < json_array_size(list); i++)
            if (template_read_step(t, path, json_array_get(list, i), e)) return e->code;
        return 0;
    }
    if (t->single.pieces)
        return err_set(e, ERR_INPUT,
                       "%s: post_processor Sequence: special tokens are added twice; only one step may "
                       "add them",
                       path);
    if (!strcmp(type, "BertProcessing") || !strcmp(type, "RobertaProcessing"))
        return template_read_family(t, path, type, part, e);
    if (strcmp(type, "TemplateProcessing"))
        return err_set(e, ERR_INPUT,
                       "%s: unsupported post_processor: %s; supported: TemplateProcessing, "
                       "BertProcessing, RobertaProcessing, ByteLevel and Sequence",
                       path, type);
    if (template_read_form(t, &t->single, path, part, "single", e)) return e->code;
    return template_read_form(t, &t->pair, path, part, "pair", e);
}

int tokenizer_read_templates(struct tokenizer *t, const char *path, const json_t *part,
                             struct buf *report, struct err *e) {
    if (part && !json_is_null(part)) {
        if (template_read_step(t, path, part, e)) return e->code;
    } else if (t->kind == MODEL_WORDPIECE) {
        text_line(report, "%s has no post_processor: [CLS] and [SEP] are added as in BERT", path);
        return tokenizer_bert_templates(t, path, "[CLS]", "[SEP]", e);
    }
    if (!t->single.pieces) tokenizer_plain_templates(t);
    return 0;
}
