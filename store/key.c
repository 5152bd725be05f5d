/* Names of points and their ids.  A name gets its row with its first point, in the same transaction: on a
 * full disk it waits in the queue with its points, and none is without its name. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "store/db.h"
#include "store/internal.h"

int store_key(struct store *s, const char *name, int direction, bool timing, struct err *e) {
    BUG_IF(direction < -1 || direction > 1);
    if (!s->writer) return err_set(e, ERR_USAGE, "%s: opened read-only", s->path);
    pthread_mutex_lock(&s->naming);
    size_t i = 0;
    while (i < s->key_count && strcmp(s->key[i].name, name)) i++;
    if (i == s->key_count) {
        GROW(s->key, s->key_room, s->key_count + 1);
        s->key[s->key_count++] = (struct point_key){ xstrdup(name), direction, timing, 0 };
    }
    pthread_mutex_unlock(&s->naming);
    return (int)i;
}

int key_intern(sqlite3 *db, const char *split, const char *metric, int direction, bool timing,
               int64_t *id, struct err *e) {
    char *name = store_name(split, metric);
    /* the first direction set is final */
    int rc = db_run(db, e,
                    "INSERT INTO key(name,split,metric,direction,timing) VALUES(?1,?2,?3,?4,?5)"
                    " ON CONFLICT(name) DO UPDATE SET direction=excluded.direction"
                    " WHERE direction=0 AND excluded.direction<>0",
                    "tttii", name, split, metric, (int64_t)direction, (int64_t)timing);
    if (!rc) rc = db_int(db, e, id, -1, "SELECT id FROM key WHERE name=?1", "t", name);
    free(name);
    return rc;
}

int key_row(struct store *s, sqlite3 *db, int key, int64_t *id, struct err *e) {
    pthread_mutex_lock(&s->naming);
    BUG_IF(key < 0 || (size_t)key >= s->key_count);
    struct point_key k = s->key[key]; /* the name stays in place until the store is closed */
    pthread_mutex_unlock(&s->naming);
    *id = k.id;
    if (k.id) return 0;
    int rc = key_intern(db, NULL, k.name, k.direction, k.timing, id, e);
    if (rc) return rc;
    pthread_mutex_lock(&s->naming);
    s->key[key].id = *id;
    pthread_mutex_unlock(&s->naming);
    return 0;
}

void keys_forget(struct store *s) {
    pthread_mutex_lock(&s->naming);
    for (size_t i = 0; i < s->key_count; i++) s->key[i].id = 0;
    pthread_mutex_unlock(&s->naming);
}

void keys_free(struct store *s) {
    for (size_t i = 0; i < s->key_count; i++) free(s->key[i].name);
    free(s->key);
    pthread_mutex_destroy(&s->naming);
}
