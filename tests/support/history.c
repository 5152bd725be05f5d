#include "tests/support/history.h"

#include <sqlite3.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

/* Where make_history.py made it. */
#define PLACE "/tmp/petri-history"

void history_change(const struct history *h, const char *sql) {
    sqlite3 *db;
    char *why = NULL;
    assert_int_equal(sqlite3_open(h->db, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why)) fail_msg("%s: %s", h->db, why);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void tell_place(const struct history *h) {
    static const char *const column[] = { "config", "model_folder", "task_folder", "train_file", "dev_file" };
    for (size_t i = 0; i < COUNT_OF(column); i++) {
        char *sql = sqlite3_mprintf("UPDATE run SET %s=replace(%s,'" PLACE "',%Q)", column[i], column[i], h->folder);
        history_change(h, sql);
        sqlite3_free(sql);
    }
}

void history_init(struct history *h, const char *parent, bool found) {
    char *from = test_path("tests/reference/history");
    h->folder = file_join(parent, "history");
    h->db = file_join(h->folder, "petri.db");
    char *words = xprintf("cp -r '%s' '%s'", from, h->folder);
    assert_int_equal(system(words), 0);
    if (found) tell_place(h);
    free(words);
    free(from);
}

void history_release(struct history *h) {
    free(h->folder);
    free(h->db);
}
