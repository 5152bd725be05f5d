#include "app/history/record.h"

#include <string.h>

int record_config_text(const char *json, struct run_config *out, struct err *e) {
    return config_from_json(json ? json : "", json ? strlen(json) : 0, out, e);
}

int record_config_of(const struct store_run *row, struct run_config *out, struct err *e) {
    return record_config_text(row->config, out, e);
}

int record_open(struct store *s, int64_t run, struct run_record *out, struct err *e) {
    int rc = store_run(s, run, &out->row, e);
    if (rc) return rc;
    rc = record_config_of(&out->row, &out->config, e);
    if (rc) store_run_release(&out->row);
    return rc;
}

void record_release(struct run_record *r) {
    config_release(&r->config);
    store_run_release(&r->row);
}

int record_config(struct store *s, int64_t run, struct run_config *out, struct err *e) {
    struct store_run row;
    int rc = store_run(s, run, &row, e);
    if (rc) return rc;
    rc = record_config_of(&row, out, e);
    store_run_release(&row);
    return rc;
}
