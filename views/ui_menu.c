/* What can be done here: the list of keys that work now, and the answer where a key does nothing. */
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/ui.h"
#include "views/ui_parts.h"

const char *ui_hint(const struct ui *ui, const struct key_entry *k) {
    const struct screen *s = screen_at(ui->screen);
    if (k->everywhere) return k->request == REQ_QUIT && s->back ? "back" : k->hint;
    return s->hint ? s->hint(ui, k) : k->hint;
}

/* A key with a hint that is not shown now means nothing now. */
static bool menu_has(const struct ui *ui, const struct key_entry *k) {
    return keys_works(ui->screen, k) && k->request != REQ_MENU && (!k->hint || ui_hint(ui, k));
}

static void menu_add(struct ui *ui, int i) {
    const struct key_entry *k = keys_at(i);
    char name[16];
    press_name(k->key, name);
    picker_add(&ui->picker, name, keys_help(ui->screen, k), false)->tag = i;
}

/* As the hint line has them, then those of this screen, then those of all. */
void ui_menu_open(struct ui *ui) {
    picker_open(&ui->picker, PICK_KEYS, "available actions");
    for (int rank = 1; rank <= 10; rank++)
        for (int i = 0; i < keys_count(); i++)
            if (keys_at(i)->rank == rank && menu_has(ui, keys_at(i))) menu_add(ui, i);
    for (int all = 0; all < 2; all++)
        for (int i = 0; i < keys_count(); i++)
            if (!keys_at(i)->rank && keys_at(i)->everywhere == (all == 1) && menu_has(ui, keys_at(i)))
                menu_add(ui, i);
}

void ui_menu_take(struct ui *ui, struct effect *out) {
    const struct picker *p = &ui->picker;
    struct press press = { keys_at(p->item[p->cursor].tag)->key, false, ui->now };
    ui_press(ui, &press, out);
}

void ui_answer(struct ui *ui, const struct press *p, enum request r) {
    char name[16] = "that key";
    bool named = p->code != PRESS_NONE && p->code != PRESS_OTHER && (p->code < 0xD800 || p->code > 0xDFFF);
    if (named) press_name(p->code, name);
    if (p->code >= 0x7F && p->code < 0xA0) snprintf(name, sizeof name, "that key");
    ui_say(ui, SAY_INFO, "%s%s does nothing %s; ? lists the keys, \",\" the available actions",
           p->alt ? "Alt-" : "", name, r == REQ_NONE ? "here" : "here now");
}

bool ui_moves(enum request r) {
    static const enum request silent[] = {
        REQ_LEFT, REQ_RIGHT, REQ_UP, REQ_DOWN, REQ_FIRST, REQ_LAST, REQ_PAGE_UP, REQ_PAGE_DOWN, REQ_FAST_LEFT,
        REQ_FAST_RIGHT, REQ_PAN_LEFT, REQ_PAN_RIGHT, REQ_FIT, REQ_BACK, REQ_FOLLOW, REQ_NEXT_PART,
        REQ_PREV_PART, REQ_SMOOTH_LESS, REQ_SMOOTH_MORE, REQ_PERPLEXITY_LESS, REQ_PERPLEXITY_MORE,
        REQ_LAYER_LESS, REQ_LAYER_MORE
    };
    for (size_t i = 0; i < COUNT_OF(silent); i++)
        if (silent[i] == r) return true;
    return false;
}
