#include "views/queue.h"

#include "views/ui.h"
#include "views/ui_parts.h"

static void queue_draw(const struct ui *ui, struct canvas *c, struct rect r) {
    canvas_title(c, r, "queue", NULL);
    for (int i = 0; i < ui->train.jobs; i++) {
        ui_row(c, r, r.y + 1 + i, i - ui->queue.cursor);
        canvas_printf(c, r.x + 3, r.y + 1 + i, INK_TEXT, "%d waits", (int)ui->train.job[i].id);
    }
    if (!ui->train.jobs) canvas_text(c, r.x + 3, r.y + 1, INK_DIM, "nothing waits");
}

static bool queue_request(struct ui *ui, enum request r, struct effect *out) {
    (void)out;
    return ui_walk(r, 10, ui->train.jobs - 1, &ui->queue.cursor);
}

static const enum request queue_keys[] = {REQ_DOWN, REQ_UP, REQ_NONE};

const struct screen screen_queue = {
    .name = "queue",
    .about = "Queue lists the runs that wait.",
    .keys = queue_keys,
    .tab = "Q Queue",
    .to = REQ_TO_QUEUE,
    .request = queue_request,
    .draw = queue_draw,
};
