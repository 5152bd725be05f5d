#include "views/zone.h"

#include "views/keys.h"

void zone_add(struct canvas *c, struct zone z) {
    if (!c || !c->zones || c->zones->count == ZONES) return;
    struct rect whole = z.at, seen = rect_cut(whole, c->clip[c->clips - 1]);
    if (rect_empty(seen)) return;
    if (z.wide) z.right += (seen.x - whole.x) / z.wide;
    if (!z.tall) z.tall = 1;
    z.down += (seen.y - whole.y) / z.tall * z.rows;
    z.at = seen;
    struct zone *last = c->zones->count ? &c->zones->of[c->zones->count - 1] : NULL;
    bool behind = last && last->at.y == seen.y && last->at.x + last->at.w == seen.x && last->at.h == 1 &&
                  seen.h == 1;
    if (behind && z.pick && last->pick == z.pick) {
        last->at.w += seen.w; /* a curve goes on */
        return;
    }
    c->zones->of[c->zones->count++] = z;
}

void zone_pick(struct canvas *c, int x, int y, int columns, int pick) {
    zone_add(c, (struct zone){ .at = { x, y, columns, 1 }, .pick = pick });
}

void zone_row(struct canvas *c, struct rect r, int y, int i) {
    zone_add(c, (struct zone){ .at = { r.x, y, r.w, 1 }, .down = i, .key = PRESS_ENTER });
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
    *down = z->down + (y - z->at.y) / z->tall * z->rows;
}
