/* The networks of the method on Compose, such as a generator or a retriever: parts after the modules, each a
 * line of the diagram with keys that are edited like the axes of a module. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/compose_edit.h"
#include "views/ui.h"
#include "views/ui_parts.h"
#include "views/zone.h"

int compose_networks(const struct compose_view *v) {
    int n = 0;
    const struct network *net;
    for (int i = 0; (net = network_at(i)); i++) n += network_is_on(net, &v->config.method);
    return n;
}

const struct network *compose_network_at(const struct compose_view *v, int at) {
    const struct network *net;
    for (int i = 0; (net = network_at(i)); i++)
        if (network_is_on(net, &v->config.method) && !at--) return net;
    return NULL;
}

const struct network *compose_network(const struct compose_view *v) {
    int at = v->part - v->config.method.count;
    return at < 0 ? NULL : compose_network_at(v, at);
}

bool compose_on_run(const struct compose_view *v) {
    return v->part == v->config.method.count + compose_networks(v);
}

int compose_on_off(const struct compose_view *v) {
    return v->part - v->config.method.count - compose_networks(v) - 1;
}

const struct key *compose_network_key(const struct compose_view *v) {
    const struct network *n = compose_network(v);
    return n ? &n->key[v->key < n->keys ? v->key : n->keys - 1] : NULL;
}

/* ---- the diagram's line ---- */

/* Appends the modules whose weights generator g generates: "2,3". */
static void put_made(const struct method *m, int g, struct buf *b) {
    int made = 0;
    for (int i = 0; i < m->count; i++)
        if (source_generator(m->module[i].source) == g) buf_printf(b, "%s%d", made++ ? "," : " ", i + 1);
    if (!made) buf_puts(b, " nothing");
}

static void put_condition(struct buf *b, const char *name, int width) {
    if (width) buf_printf(b, "%s%s %d", b->data[b->size - 1] == '[' ? "" : "; ", name, width);
}

/* "[z_τ 64; e_ℓ 64] ▸ 128 relu ▸ 64 LN ▸ heads per stack ▸ 2,3" */
static void put_generator(const struct method *m, int g, const struct arch *a, struct buf *b) {
    static const char *const nets[] = { "stack", "layer", "position" };
    const struct hyper *h = &m->hyper[g];
    buf_puts(b, "[");
    put_condition(b, "z_\u03C4", h->task);
    put_condition(b, "k_\u03C4", h->prototype);
    if (h->instance != EXAMPLE_NONE) {
        int width = h->instance == EXAMPLE_RETRIEVER && m->retriever.width ? m->retriever.width
                    : a                                                ? a->width
                                                                       : 0;
        put_condition(b,
                      h->instance == EXAMPLE_RETRIEVER ? "z of the input"
                      : h->instance == EXAMPLE_MLP     ? "g(h) of the input"
                                                   : "h of the input",
                      width ? width : 1);
    }
    put_condition(b, "e_\u2113", h->layer);
    put_condition(b, "e_p", h->place);
    buf_printf(b, "] \u25B8 %d relu", h->hidden);
    if (h->inner) buf_printf(b, " \u25B8 %d", h->inner);
    buf_printf(b, "%s \u25B8 heads per %s \u25B8", h->norm ? " LN" : "", nets[h->net]);
    put_made(m, g, b);
}

/* "mean of E 512 ▸ 128 relu ▸ 64 = z   supcon, decoupled, λ 0.1 τ 0.1" */
static void put_retriever(const struct method *m, const struct arch *a, struct buf *b) {
    static const char *const instance[] = { "", "supcon", "negatives" }, *const prototype[] = { "",
                                                                                                "decoupled",
                                                                                                "softmax" };
    const struct retriever *r = &m->retriever;
    buf_puts(b, r->tap ? "mean of layer " : "mean of E");
    if (r->tap) buf_printf(b, "%d", r->tap);
    if (a) buf_printf(b, " %d", a->width);
    if (r->width && r->hidden) buf_printf(b, " \u25B8 %d relu", r->hidden);
    if (r->width) buf_printf(b, " \u25B8 %d", r->width);
    buf_printf(b, " = z  %s", instance[r->instance]);
    if (r->prototype) buf_printf(b, "%s%s", r->instance ? ", " : "", prototype[r->prototype]);
    buf_printf(b, "  \u03BB %g \u03C4 %g", r->weight, r->temperature);
}

/* Writes inputs, sizes and outputs of a network in one line. */
static void network_line(const struct network *n, const struct method *m, const struct arch *a,
                         struct buf *b) {
    if (network_generator(n) >= 0) {
        put_generator(m, network_generator(n), a, b);
    } else if (!strcmp(n->name, "retriever")) {
        put_retriever(m, a, b);
    } else {
        char value[KEY_TEXT];
        for (int i = 0; i < n->keys; i++) {
            network_value(n, m, &n->key[i], value);
            buf_printf(b, "%s%s %s", i ? "  " : "", n->key[i].name, value);
        }
    }
}

/* Draws a line per network; returns their number. */
int compose_draw_networks(const struct compose_view *v, struct canvas *c, struct rect r) {
    int rows = 0;
    const struct network *n;
    for (int i = 0; rows < r.h && (n = compose_network_at(v, i)); i++, rows++) {
        bool here = v->part == v->config.method.count + i;
        struct buf b = BUF_INIT;
        char trained[32];
        network_line(n, &v->config.method, v->arch, &b);
        bool wide = r.w >= 100;
        int g = network_generator(n);
        if (g >= 0 && wide)
            buf_puts(&b,
                     v->config.method.hyper[g].instance != EXAMPLE_NONE ? ", per input" : ", per task");
        if (v->facts.counted && wide && v->facts.network_trained[i]) {
            text_thousands((int64_t)v->facts.network_trained[i], trained);
            buf_printf(&b, "   trainable %s", trained);
        }
        zone_pick(c, r.x, r.y + rows, r.w, PICK_PART + v->config.method.count + i);
        canvas_cursor(c, r.x + 1, r.y + rows, here);
        int used = canvas_fit(c, r.x + 3, r.y + rows, 14, here ? INK_ACCENT : INK_KEY,
                              wide ? n->noun : n->name);
        canvas_fit(c, r.x + 4 + used, r.y + rows, r.w - used - 5, here ? INK_TITLE : INK_TEXT, buf_text(&b));
        buf_release(&b);
    }
    return rows;
}

/* ---- keys ---- */

/* Lists the keys after the cursor: "inner 64 · norm yes …". */
void network_keys_ahead(const struct compose_view *v, char out[120]) {
    const struct network *n = compose_network(v);
    size_t used = 0;
    *out = 0;
    for (int i = v->key + 1; n && i < n->keys && used < 90; i++) {
        char value[KEY_TEXT];
        network_value(n, &v->config.method, &n->key[i], value);
        used = text_more(out, 120, used, "%s%s %.10s", used ? " \u00B7 " : "l: ", n->key[i].name, value);
    }
}

static bool allowed(const struct compose_view *v, const struct method *m, char why[240]) {
    struct finding found[COMPOSE_FINDINGS];
    if (!v->arch || v->facts.errors || !method_check(m, v->arch, found, COMPOSE_FINDINGS) ||
        found[0].level != LEVEL_ERROR)
        return true;
    memcpy(why, found[0].text, sizeof found[0].text);
    return false;
}

void network_list(struct compose_view *v) {
    static const char *const flags[] = { "yes", "no" };
    const struct network *n = compose_network(v);
    const struct key *k = compose_network_key(v);
    if (!k || key_is_number(k)) return;
    char value[KEY_TEXT];
    network_value(n, &v->config.method, k, value);
    int words = k->kind == KEY_FLAG ? 2 : k->count;
    for (int i = 0; i < words && v->choice_count < COMPOSE_CHOICES; i++) {
        struct choice *c = &v->choices[v->choice_count];
        struct err e = ERR_INIT;
        *c = (struct choice){ .says = k->description };
        snprintf(c->name, sizeof c->name, "%s", k->kind == KEY_FLAG ? flags[i] : k->words[i]);
        c->current = !strcmp(c->name, value);
        struct method m = v->config.method;
        c->allowed = c->current || (!network_set(n, &m, k->name, c->name, &e) && allowed(v, &m, c->why));
        if (c->current) v->choice = v->choice_count;
        v->choice_count++;
    }
}

bool network_enter(const struct compose_view *v, const char *text, struct method *m, char why[200]) {
    struct err e = ERR_INIT;
    if (!network_set(compose_network(v), m, compose_network_key(v)->name, text, &e)) return true;
    snprintf(why, 200, "%.190s", e.text);
    return false;
}

void network_step(const struct compose_view *v, bool up, char out[64]) {
    const struct key *k = compose_network_key(v);
    char text[KEY_TEXT], number[KEY_TEXT];
    double value = 0;
    network_value(compose_network(v), &v->config.method, k, text);
    text_to_double(text, &value);
    if (k->kind == KEY_NUMBER) value = up ? value * 2 : value / 2;
    else if (up) value = value < 1 ? 1 : next_double(value, true);
    else value = value <= 1 ? k->least : next_double(value, false);
    if (value < k->least) value = k->least;
    text_from_double(value, number);
    snprintf(out, 64, "%s", number);
}
