#include "core/data/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/data/dataset.h"
#include "core/data/import.h"

static const char *plural(size_t n) { return n == 1 ? "" : "s"; }

void report_skip(struct import_report *r, size_t line, const char *format, ...) {
    r->skipped++;
    if (r->first_count == REPORT_FIRST) return;
    char why[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(why, sizeof why, format, ap);
    va_end(ap);
    r->first[r->first_count].line = line;
    r->first[r->first_count++].why = text_visible(why, strlen(why));
}

void report_line(struct report_lines *l, size_t line) {
    if (l->examples < REPORT_LINES) l->first[l->examples] = line;
    l->examples++;
}

void report_lines_text(const struct report_lines *l, struct buf *out) {
    if (!l->examples) return;
    buf_printf(out, " (line%s", plural(l->examples));
    for (size_t i = 0; i < l->examples && i < REPORT_LINES; i++)
        buf_printf(out, "%s %zu", i ? "," : "", l->first[i]);
    buf_puts(out, l->examples > REPORT_LINES ? ", …)" : ")");
}

void report_release(struct import_report *r) {
    for (int i = 0; i < r->first_count; i++) free(r->first[i].why);
    free(r->across);
    free(r->chat_template);
    buf_release(&r->preview);
    buf_release(&r->notes);
    memset(r, 0, sizeof *r);
}

static void bytes_text(const struct import_report *r, struct buf *out) {
    static const char *const what[] = { "invalid UTF-8, replaced by U+FFFD", "a NUL byte" };
    const struct report_lines *const lines[] = { &r->not_utf8, &r->nul };
    for (int i = 0; i < 2; i++) {
        if (!lines[i]->examples) continue;
        buf_printf(out, "warning: %zu example%s with %s", lines[i]->examples, plural(lines[i]->examples),
                   what[i]);
        report_lines_text(lines[i], out);
        buf_putc(out, '\n');
    }
}

static void lines_text(const struct import_report *r, struct buf *out) {
    buf_printf(out, "%zu example%s from %zu line%s", r->examples, plural(r->examples), r->lines,
               plural(r->lines));
    if (r->header) buf_printf(out, " (%zu header line%s)", r->header, plural(r->header));
    buf_puts(out, "\n");
    if (r->bom) buf_puts(out, "a byte order mark at the start was removed\n");
    if (r->blank) buf_printf(out, "%zu blank line%s skipped\n", r->blank, plural(r->blank));
    if (r->continued)
        buf_printf(out, "%zu line%s within quoted fields\n", r->continued, plural(r->continued));
    if (r->spread)
        buf_printf(out, "%zu additional example%s from lines with several examples\n", r->spread,
                   plural(r->spread));
    if (r->skipped) buf_printf(out, "%zu line%s skipped:\n", r->skipped, plural(r->skipped));
    for (int i = 0; i < r->first_count; i++)
        buf_printf(out, "  line %zu: %s\n", r->first[i].line, r->first[i].why);
    if (r->skipped > (size_t)r->first_count)
        buf_printf(out, "  and %zu more\n", r->skipped - (size_t)r->first_count);
    if (r->empty_a + r->empty_b)
        buf_printf(out, "%zu empty text%s, included\n", r->empty_a + r->empty_b,
                   plural(r->empty_a + r->empty_b));
    bytes_text(r, out);
}

/* Examples of the file in the split; the rest of the report counts these. */
static void part_text(const struct dataset *d, struct buf *out) {
    const struct import_report *r = &d->report;
    if (d->split_examples < r->examples)
        buf_printf(out, "split: %zu of %zu examples\n", d->split_examples, r->examples);
    if (r->unlabeled)
        buf_printf(out, "%zu example%s without a label\n", r->unlabeled, plural(r->unlabeled));
}

static void repeats_text(const struct import_report *r, bool texts, struct buf *out) {
    if (r->same || r->near) {
        buf_printf(out, "%zu duplicate example%s, %zu more differ only in case or whitespace",
                   r->same, plural(r->same), r->near);
        report_lines_text(&r->repeat_at, out);
        buf_putc(out, '\n');
    }
    if (r->same_other_label) {
        buf_printf(out, "warning: %zu duplicate%s with a different %s", r->same_other_label,
                   plural(r->same_other_label), texts ? "target" : "label");
        report_lines_text(&r->other_label_at, out);
        buf_putc(out, '\n');
    }
    if (r->across && (r->across_same || r->across_near)) {
        buf_printf(out, "warning: %zu example%s also in %s, %zu more differ only in case or whitespace",
                   r->across_same, plural(r->across_same), r->across, r->across_near);
        report_lines_text(&r->across_at, out);
        buf_putc(out, '\n');
    }
}

static void targets_text(const struct import_report *r, size_t rows, struct buf *out) {
    if (!r->max_target) return;
    buf_printf(out, "%zu target tokens, %.2f%% unknown; the longest target has %zu\n",
               r->target_tokens,
               r->target_tokens ? 100.0 * (double)r->target_unknown / (double)r->target_tokens : 0,
               r->target_longest);
    if (r->cut_targets)
        buf_printf(out, "warning: %zu target%s truncated to %zu tokens, removing %zu token%s\n",
                   r->cut_targets, plural(r->cut_targets), r->max_target, r->cut_tokens_target,
                   plural(r->cut_tokens_target));
    if (r->unwritten) unwritten_text(r, rows, out);
}

static void report_count(const struct report_lines *l, const char *one, const char *several,
                         struct buf *out) {
    if (!l->examples) return;
    buf_printf(out, "%zu %s", l->examples, l->examples == 1 ? one : several);
    report_lines_text(l, out);
    buf_putc(out, '\n');
}

static void chats_text(const struct import_report *r, struct buf *out) {
    if (r->chat_template) buf_printf(out, "chat template: %s\n", r->chat_template);
    if (r->unfit.examples) buf_printf(out, "warning: %s:\n  ", r->unfit_why);
    report_count(&r->unfit, "example skipped", "examples skipped", out);
    report_count(&r->shortened, "chat lost its oldest messages to fit into the maximum length",
                 "chats lost their oldest messages to fit into the maximum length", out);
    report_count(&r->spelled, "example contains the text of a control token, which is tokenized as ordinary text",
                 "examples contain the text of a control token, which is tokenized as ordinary text", out);
    report_count(&r->blank_start, "answer starts with whitespace: it is tokenized separately from the prompt, as in generation",
                 "answers start with whitespace: they are tokenized separately from the prompt, as in generation", out);
}

static void truncated_text(const struct import_report *r, bool pair, struct buf *out) {
    buf_printf(out, "%zu example%s truncated to %zu tokens", r->cut_examples, plural(r->cut_examples),
               r->max_len);
    if (pair)
        buf_printf(out,
                   ", removing %zu tokens of the first text in %zu examples and %zu of the second in %zu",
                   r->cut_tokens_a, r->cut_examples_a, r->cut_tokens_b, r->cut_examples_b);
    else if (r->cut_examples)
        buf_printf(out, ", removing %zu token%s", r->cut_tokens_a, plural(r->cut_tokens_a));
    buf_puts(out, "\n");
}

/* whole: longer examples are skipped or cut into windows, not truncated. */
static void tokens_text(const struct import_report *r, bool pair, bool whole, struct buf *out) {
    if (!r->max_len) return;
    buf_printf(out, "%zu tokens, %.2f%% unknown\n", r->tokens,
               r->tokens ? 100.0 * (double)r->unknown / (double)r->tokens : 0);
    if (!whole) truncated_text(r, pair, out);
    if (r->vanished)
        buf_printf(out, "warning: in %zu example%s truncation removed a whole text\n", r->vanished,
                   plural(r->vanished));
    chats_text(r, out);
    if (r->windowed.examples) {
        buf_printf(out, "%zu text%s longer than %zu tokens: %zu windows in all", r->windowed.examples,
                   plural(r->windowed.examples), r->max_len, r->windows);
        report_lines_text(&r->windowed, out);
        buf_putc(out, '\n');
    }
    if (r->too_long.examples) {
        buf_printf(out, "warning: %zu example%s longer than %zu tokens skipped; use a larger --max-length",
                   r->too_long.examples, plural(r->too_long.examples), r->max_len);
        report_lines_text(&r->too_long, out);
        buf_putc(out, '\n');
    }
    if (!r->special.examples) return;
    buf_printf(out, "%zu example%s contain%s the text of a special token", r->special.examples,
               plural(r->special.examples), r->special.examples == 1 ? "s" : "");
    report_lines_text(&r->special, out);
    buf_putc(out, '\n');
}

void report_text(const struct dataset *d, struct buf *out) {
    const struct import_report *r = &d->report;
    char *path = text_visible(d->path, strlen(d->path));
    buf_printf(out, "%s (sha256 %.12s…)\n", path, d->sha256);
    free(path);
    lines_text(r, out);
    part_text(d, out);
    for (int i = 0; i < d->classes; i++) {
        char *name = text_visible(d->class_name[i], strlen(d->class_name[i]));
        size_t n = strlen(name);
        /* a blank at either end would be invisible */
        bool edge = n && (name[0] == ' ' || name[n - 1] == ' ');
        buf_printf(out, "class %d: %s%s%s, %zu example%s\n", i, edge ? "\"" : "", name,
                   edge ? "\"" : "", d->class_examples[i], plural(d->class_examples[i]));
        free(name);
    }
    if (r->notes.size) buf_add(out, r->notes.data, r->notes.size);
    repeats_text(r, d->target_field != NULL, out);
    tokens_text(r, d->pair, d->trained != NULL, out);
    targets_text(r, d->examples, out);
    buf_puts(out, buf_text(&r->preview));
}
