#include "core/data/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/dataset.h"

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

void report_release(struct import_report *r) {
    for (int i = 0; i < r->first_count; i++) free(r->first[i].why);
    free(r->across);
    buf_release(&r->notes);
    memset(r, 0, sizeof *r);
}

static const char *plural(size_t n) { return n == 1 ? "" : "s"; }

static void lines_text(const struct import_report *r, struct buf *out) {
    buf_printf(out, "%zu row%s from %zu line%s", r->rows, plural(r->rows), r->lines,
               plural(r->lines));
    if (r->header) buf_puts(out, ", 1 of them the header");
    buf_puts(out, "\n");
    if (r->bom) buf_puts(out, "a byte order mark at the start was removed\n");
    if (r->blank) buf_printf(out, "%zu blank line%s skipped\n", r->blank, plural(r->blank));
    if (r->continued)
        buf_printf(out, "%zu line%s within quoted fields\n", r->continued, plural(r->continued));
    if (r->spread)
        buf_printf(out, "%zu row%s beyond the first of a line that holds several\n", r->spread,
                   plural(r->spread));
    if (r->skipped) buf_printf(out, "%zu row%s skipped:\n", r->skipped, plural(r->skipped));
    for (int i = 0; i < r->first_count; i++)
        buf_printf(out, "  line %zu: %s\n", r->first[i].line, r->first[i].why);
    if (r->skipped > (size_t)r->first_count)
        buf_printf(out, "  and %zu more\n", r->skipped - (size_t)r->first_count);
    if (r->unlabelled)
        buf_printf(out, "%zu row%s without a gold label\n", r->unlabelled, plural(r->unlabelled));
    if (r->empty_a + r->empty_b)
        buf_printf(out, "%zu empty text%s, kept\n", r->empty_a + r->empty_b,
                   plural(r->empty_a + r->empty_b));
    if (r->not_utf8)
        buf_printf(out, "warning: %zu row%s with bytes that are not UTF-8\n", r->not_utf8,
                   plural(r->not_utf8));
}

static void repeats_text(const struct import_report *r, bool texts, struct buf *out) {
    if (r->same || r->near)
        buf_printf(out, "%zu row%s repeat an earlier one, %zu more but for case and blanks\n",
                   r->same, plural(r->same), r->near);
    if (r->same_other_label)
        buf_printf(out, "warning: %zu of the repeats have another %s than the first\n",
                   r->same_other_label, texts ? "target" : "label");
    if (r->across && (r->across_same || r->across_near))
        buf_printf(out, "warning: %zu row%s also in %s, %zu more but for case and blanks\n",
                   r->across_same, plural(r->across_same), r->across, r->across_near);
}

static void targets_text(const struct import_report *r, struct buf *out) {
    if (!r->max_target) return;
    buf_printf(out, "%zu target tokens, %.2f %% unknown; the longest target has %zu\n",
               r->target_tokens,
               r->target_tokens ? 100.0 * (double)r->target_unknown / (double)r->target_tokens : 0,
               r->target_longest);
    if (r->cut_targets)
        buf_printf(out, "warning: %zu target%s cut to %zu tokens: %zu tokens\n", r->cut_targets,
                   plural(r->cut_targets), r->max_target, r->cut_tokens_target);
}

static void tokens_text(const struct import_report *r, bool pair, struct buf *out) {
    if (!r->max_len) return;
    buf_printf(out, "%zu tokens, %.2f %% unknown\n", r->tokens,
               r->tokens ? 100.0 * (double)r->unknown / (double)r->tokens : 0);
    buf_printf(out, "%zu row%s cut to %zu tokens", r->cut_rows, plural(r->cut_rows), r->max_len);
    if (pair)
        buf_printf(out, ": %zu tokens of the first text in %zu rows, %zu of the second in %zu",
                   r->cut_tokens_a, r->cut_rows_a, r->cut_tokens_b, r->cut_rows_b);
    else if (r->cut_rows) buf_printf(out, ": %zu tokens", r->cut_tokens_a);
    buf_puts(out, "\n");
    if (r->vanished)
        buf_printf(out, "warning: in %zu row%s a whole text was cut away\n", r->vanished,
                   plural(r->vanished));
    if (!r->special_rows) return;
    buf_printf(out, "%zu row%s contain%s the text of a special token: line", r->special_rows,
               plural(r->special_rows), r->special_rows == 1 ? "s" : "");
    for (int i = 0; i < r->special_count; i++)
        buf_printf(out, "%s %zu", i ? "," : "", r->special_first[i]);
    buf_puts(out, r->special_rows > (size_t)r->special_count ? ", …\n" : "\n");
}

void report_text(const struct dataset *d, struct buf *out) {
    const struct import_report *r = &d->report;
    char *path = text_visible(d->path, strlen(d->path));
    buf_printf(out, "%s (sha256 %.12s…)\n", path, d->sha256);
    free(path);
    lines_text(r, out);
    for (int i = 0; i < d->classes; i++) {
        char *name = text_visible(d->class_name[i], strlen(d->class_name[i]));
        size_t n = strlen(name);
        /* a blank at either end would not be seen */
        bool edge = n && (name[0] == ' ' || name[n - 1] == ' ');
        buf_printf(out, "class %d: %s%s%s, %zu row%s\n", i, edge ? "\"" : "", name,
                   edge ? "\"" : "", d->class_rows[i], plural(d->class_rows[i]));
        free(name);
    }
    if (r->notes.size) buf_add(out, r->notes.data, r->notes.size);
    repeats_text(r, d->target_field != NULL, out);
    tokens_text(r, d->pair, out);
    targets_text(r, out);
}

void report_json(const struct dataset *d, struct buf *out) {
    const struct import_report *r = &d->report;
    buf_puts(out, "{\"file\":");
    json_add_string(out, d->path);
    static const char *const kind[] = {"classes", "regression", "text"};
    buf_printf(out, ",\"sha256\":\"%s\",\"kind\":\"%s\"", d->sha256, kind[d->kind]);
    json_member_int(out, "rows", (long long)r->rows);
    json_member_int(out, "lines", (long long)r->lines);
    json_member_int(out, "header", (long long)r->header);
    json_member_int(out, "blank", (long long)r->blank);
    json_member_int(out, "continued", (long long)r->continued);
    json_member_int(out, "skipped", (long long)r->skipped);
    json_member_int(out, "spread", (long long)r->spread);
    json_member_int(out, "unlabelled", (long long)r->unlabelled);
    json_member_int(out, "empty", (long long)r->empty_a + (long long)r->empty_b);
    json_member_int(out, "not_utf8", (long long)r->not_utf8);
    json_member_int(out, "repeats", (long long)r->same);
    json_member_int(out, "near_repeats", (long long)r->near);
    json_member_int(out, "repeats_other_label", (long long)r->same_other_label);
    json_member_int(out, "repeats_across", (long long)r->across_same);
    json_member_int(out, "near_repeats_across", (long long)r->across_near);
    buf_puts(out, ",\"first_skipped\":[");
    for (int i = 0; i < r->first_count; i++) {
        buf_printf(out, "%s{\"line\":%zu,\"why\":", i ? "," : "", r->first[i].line);
        json_add_string(out, r->first[i].why);
        buf_puts(out, "}");
    }
    buf_puts(out, "],\"classes\":[");
    for (int i = 0; i < d->classes; i++) {
        buf_puts(out, i ? ",{\"name\":" : "{\"name\":");
        json_add_string(out, d->class_name[i]);
        buf_printf(out, ",\"rows\":%zu}", d->class_rows[i]);
    }
    buf_puts(out, "]");
    if (r->max_len) {
        json_member_int(out, "max_len", (long long)r->max_len);
        json_member_int(out, "tokens", (long long)r->tokens);
        json_member_int(out, "unknown", (long long)r->unknown);
        json_member_int(out, "cut_rows", (long long)r->cut_rows);
        json_member_int(out, "cut_tokens_a", (long long)r->cut_tokens_a);
        json_member_int(out, "cut_tokens_b", (long long)r->cut_tokens_b);
        json_member_int(out, "vanished", (long long)r->vanished);
        json_member_int(out, "special_rows", (long long)r->special_rows);
    }
    if (r->max_target) {
        json_member_int(out, "max_target", (long long)r->max_target);
        json_member_int(out, "target_tokens", (long long)r->target_tokens);
        json_member_int(out, "target_unknown", (long long)r->target_unknown);
        json_member_int(out, "target_longest", (long long)r->target_longest);
        json_member_int(out, "cut_targets", (long long)r->cut_targets);
        json_member_int(out, "cut_tokens_target", (long long)r->cut_tokens_target);
    }
    buf_puts(out, ",\"notes\":");
    json_add_string(out, buf_text(&r->notes));
    buf_puts(out, "}");
}
