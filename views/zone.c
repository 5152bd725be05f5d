#include "views/zone.h"

#include "views/keys.h"

void zone_add(struct canvas *c, struct zone z) {
    if (!c || !c->zones || c->zones->count == ZONES) return;
    struct rect whole = z.at, seen = rect_cut(whole, c->clip[c->clips - 1]);
    if (rect_empty(seen)) return;
    if (z.wide) z.right += (seen.x - whole.x) / z.wide;
    z.down += (seen.y - whole.y) * z.rows;
    z.at = seen;
    c->zones->of[c->zones->count++] = z;
}

void zone_row(struct canvas *c, struct rect r, int y, int i) {
    zone_add(c, (struct zone){.at = {r.x, y, r.w, 1}, .down = i, .key = PRESS_ENTER});
}

const struct zone *zone_at(const struct zones *z, int x, int y) {
    for (int i = z->count - 1; i >= 0; i--) {
        struct rect r = z->of[i].at;
        if (x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + r.h) return &z->of[i];
    }
    return NULL;
}

void zone_steps(const struct zone *z, int x, int y, int *right, int *down) {
    *right = z->right + (z->wide ? (x - z->at.x) / z->wide : 0);
    *down = z->down + (y - z->at.y) * z->rows;
}
