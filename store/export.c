/* Exports runs, points and evaluations as CSV or JSON lines. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "store/internal.h"

static const char runs_sql[] =
    "SELECT r.id, r.state, r.reason, r.method, r.preset, r.task, r.model, r.metric,"
    " b.best_value AS best, b.best_step, l.last_value AS final_loss,"
    " l.last_kind AS final_loss_kind,"
    " r.trained, r.kept, r.head, r.model_values, r.seed, r.step, r.steps, r.seconds,"
    " strftime('%Y-%m-%dT%H:%M:%fZ', r.created / 1000.0, 'unixepoch') AS created,"
    " strftime('%Y-%m-%dT%H:%M:%fZ', r.ended / 1000.0, 'unixepoch') AS ended,"
    " r.weights_sha256, r.version, r.regime, r.config, r.name"
    " FROM run r LEFT JOIN summary b ON b.run=r.id AND b.key=r.metric_key"
    " LEFT JOIN summary l ON l.run=r.id AND l.key=(SELECT id FROM key WHERE name='loss')";

static const char points_sql[] =
    "SELECT m.run, k.name AS key, m.step, m.value, m.kind FROM metric m JOIN key k ON k.id=m.key"
    " JOIN run r ON r.id=m.run";

static const char evaluations_sql[] =
    "SELECT e.run, e.step, e.split, k.metric, m.value, m.kind, m.reason, e.rows, e.constant, e.best"
    " FROM evaluation e JOIN run r ON r.id=e.run CROSS JOIN key k ON k.split=e.split"
    " CROSS JOIN metric m ON m.run=e.run AND m.key=k.id AND m.step=e.step";

static int json_runs(struct store *s, const int64_t *runs, size_t n, struct store_sink sink,
                     struct err *e) {
    int rc = 0;
    struct buf line = BUF_INIT;
    for (size_t i = 0; !rc && i < n; i++) {
        struct store_run r;
        rc = store_run(s, runs[i], &r, e);
        if (rc) break;
        buf_clear(&line);
        store_run_json(&r, &line);
        buf_putc(&line, '\n');
        store_run_release(&r);
        rc = sink.write(sink.self, line.data, line.size);
    }
    buf_release(&line);
    return rc;
}

static int export_all_runs(struct store *s, int64_t **ids, size_t *n, struct err *e) {
    struct store_runs list;
    int rc = store_list(s, &(struct store_list){ .sort = "id" }, &list, e);
    *n = list.count;
    *ids = xmalloc((list.count + 1) * sizeof **ids);
    for (size_t i = 0; i < list.count; i++) (*ids)[i] = list.run[i].id;
    store_runs_release(&list);
    return rc;
}

/* Selects the named runs; `placed`: each with its position among them. */
static void add_named(struct buf *sql, bool placed, const int64_t *runs, size_t n) {
    buf_puts(sql, placed ? " JOIN (SELECT 0 AS id, 0 AS place" : " WHERE r.id IN (");
    for (size_t i = 0; i < n; i++) {
        if (placed) buf_printf(sql, "%s(%lld,%zu)", i ? "," : " UNION ALL VALUES", (long long)runs[i], i);
        else buf_printf(sql, "%s%lld", i ? "," : "", (long long)runs[i]);
    }
    buf_puts(sql, placed ? ") named ON named.id=r.id" : ")");
}

int store_export(struct store *s, enum store_what what, enum store_format format,
                 const int64_t *runs, size_t n, struct store_sink sink, struct err *e) {
    if (what == STORE_EXPORT_RUNS && format == STORE_JSON) {
        if (runs) return json_runs(s, runs, n, sink, e);
        int64_t *ids;
        int rc = export_all_runs(s, &ids, &n, e);
        if (!rc) rc = json_runs(s, ids, n, sink, e);
        free(ids);
        return rc;
    }
    struct buf sql = BUF_INIT;
    buf_puts(&sql, what == STORE_EXPORT_RUNS     ? runs_sql
                   : what == STORE_EXPORT_POINTS ? points_sql
                                                 : evaluations_sql);
    if (runs) add_named(&sql, what == STORE_EXPORT_RUNS, runs, n);
    else buf_puts(&sql, " WHERE r.trashed IS NULL");
    buf_puts(&sql, what == STORE_EXPORT_RUNS     ? runs ? " ORDER BY named.place" : " ORDER BY r.id"
                   : what == STORE_EXPORT_POINTS ? " ORDER BY m.run, m.key, m.step"
                                                 : " ORDER BY e.run, e.step, e.split, k.id");
    int rc = store_sql_text(s, sql.data, format, sink, e);
    buf_release(&sql);
    return rc;
}
