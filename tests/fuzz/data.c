/* A first byte for the format (t, c or j; s, m, w: JSON Lines of SciTail, MultiRC, WSC; x, y:
 * TSV and JSON Lines of source and target), a second for the options, then the file: refused,
 * or a split in which every physical line is accounted for. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/data/bleu.h"
#include "core/data/dataset.h"
#include "core/data/rouge.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static char path[] = "/tmp/petri-fuzz-XXXXXX";
static bool made;

static void clean(void) { unlink(path); }

static void start(void) {
    if (made) return;
    int fd = mkstemp(path);
    if (fd < 0) abort();
    close(fd);
    made = true;
    atexit(clean);
}

/* Scores stay in their ranges, whatever the texts are; a text against itself is all right. */
static void score(const struct example *row) {
    struct rouge r = rouge_of(row->target_text, row->target_size, row->a, row->a_size);
    struct bleu b = {0};
    bleu_add(&b, row->target_text, row->target_size, row->a, row->a_size);
    double bleu = bleu_value(&b);
    if (!(r.one >= 0 && r.one <= 1 && r.two >= 0 && r.two <= 1 && r.longest <= r.one)) abort();
    if (!(bleu >= 0 && bleu < 100.000001)) abort();
    r = rouge_of(row->a, row->a_size, row->a, row->a_size);
    if (r.one != r.longest || (r.one != 0 && r.one != 1)) abort();
}

static void check(struct dataset *d) {
    const struct import_report *r = &d->report;
    if (r->examples + r->blank + r->skipped + r->header + r->continued != r->lines + r->spread) abort();
    for (size_t i = 0; i < d->examples; i++) {
        const struct example *row = &d->example[i];
        if (row->a[row->a_size] || (d->pair && row->b[row->b_size])) abort();
        if (row->label >= d->classes || (d->kind == DATA_CLASSES && row->labeled != (row->label >= 0)) ||
            (d->kind == DATA_TEXT && row->labeled != (row->target_text != NULL)))
            abort();
        if (row->target_text && row->target_text[row->target_size]) abort();
        if (row->target_text && i < 16) score(row);
        if (row->third > row->b_size || (row->third && row->b[row->third - 1] != ' ')) abort();
        if (row->line < 1 || row->line > r->lines) abort();
    }
    dataset_compare(d, d);
    if (d->report.across_same != d->examples) abort();
    dataset_draw(d, d->examples / 2);
    struct buf b = BUF_INIT;
    report_text(d, &b);
    for (size_t i = 0; i < b.size; i++)
        if ((unsigned char)b.data[i] < 32 && b.data[i] != '\n') abort();
    buf_release(&b);
}

static void shape(struct dataset_options *o, enum data_shape how, const char *a, const char *b,
                  const char *c) {
    static const char *const headless[] = {"premise", "hypothesis", "label", NULL};
    o->shape = how;
    o->text_a = a;
    o->text_b = b;
    o->text_c = c;
    o->label = "label";
    o->missing_labels = true;
    o->headless = headless;
    o->other = (struct other_columns){"sentence1", "sentence2", "gold_label"};
    o->alias = "entails";
    o->alias_of = "pos";
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    static const char *const names[] = {"pos", "neg", "2"};
    start();
    if (n < 2) return 0;
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes + 2, 1, n - 2, f) != n - 2 || fclose(f)) abort();
    unsigned flags = bytes[1];
    bool positions = flags & 32, texts = bytes[0] == 'x' || bytes[0] == 'y';
    struct dataset_options o = {
        .path = path,
        .format = bytes[0] == 'c' ? DATA_CSV : memchr("jsmwy", bytes[0], 5) ? DATA_JSONL : DATA_TSV,
        .text_a = positions ? "#1" : "text", .text_b = flags & 1 ? (positions ? "#3" : "b") : NULL,
        .label = flags & 2 ? NULL : positions ? "#2" : "label",
        .header = flags & 64 && !memchr("jsmwy", bytes[0], 5) ? DATA_HEADER_NO : DATA_HEADER_AUTO,
        .need_labels = flags & 4, .kind = (enum data_choice)((flags >> 3 & 3) % 3),
        .names = flags & 128 ? names : NULL, .name_count = 3, .names_or_numbers = flags & 1};
    if (bytes[0] == 's') shape(&o, DATA_FLAT, "premise", "hypothesis", NULL);
    if (bytes[0] == 'm') shape(&o, DATA_MULTIRC, "question", "answer", "paragraph");
    if (bytes[0] == 'w') shape(&o, DATA_WSC, "text", NULL, NULL);
    if (texts) o.text_a = NULL;
    o.guess_texts = texts;
    struct dataset d;
    struct err e = ERR_INIT;
    if (dataset_read(&d, &o, &e)) {
        if (!e.code || !e.text[0] || d.memory) abort();
        return 0;
    }
    check(&d);
    dataset_release(&d);
    return 0;
}
