/* The files of a model folder: broken downloads, shards, links, the local cache, and one shared copy. */
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tests/model/loading.h"

/* ---- broken downloads ---- */

static void unlink_in(const char *folder, const char *name) {
    char *path = file_join(folder, name);
    assert_int_equal(unlink(path), 0);
    free(path);
}

static void test_broken_downloads(void **state) {
    (void)state;
    char *folder = tiny(), *path = file_join(folder, "model.safetensors");
    struct buf whole;
    struct err e = ERR_INIT;
    test_ok(file_read(path, 1 << 20, &whole, &e), &e);
    test_ok(file_write(path, whole.data, 100, &e), &e);
    load_refused(folder, ERR_INPUT, "truncated header");
    test_ok(file_write(path, whole.data, whole.size - 64, &e), &e);
    load_refused(folder, ERR_INPUT, "model.safetensors: truncated: 64 bytes are missing");
    test_ok(file_write(path, "", 0, &e), &e);
    load_refused(folder, ERR_INPUT, "empty file (0 bytes)");
    test_put(folder, "model.safetensors",
             "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 10557\n");
    load_refused(folder, ERR_INPUT, "a Git LFS pointer");
    unlink(path);
    load_refused(folder, ERR_NOT_FOUND, "weights are missing: expected model.safetensors or");
    test_put(folder, "pytorch_model.bin", "PK\3\4");
    load_refused(folder, ERR_INPUT, "zip without a directory");
    test_put(folder, "pytorch_model.bin", "PK\3\4");
    unlink_in(folder, "pytorch_model.bin");
    test_put(folder, "model.fp16.safetensors", "x");
    load_refused(folder, ERR_INPUT,
                 "unsupported weights model.fp16.safetensors; supported: model.safetensors and pytorch_model.bin; rename it");
    unlink_in(folder, "model.fp16.safetensors");
    test_put(folder, "model.gguf", "x");
    load_refused(folder, ERR_INPUT, "unsupported weights model.gguf");
    unlink_in(folder, "config.json");
    load_refused(folder, ERR_INPUT, "config.json is missing, found only model.gguf; specify the GGUF file itself as the model");
    test_put(folder, "adapter_config.json", "{}");
    load_refused(folder, ERR_INPUT, "an adapter, not a model");
    buf_release(&whole);
    free(path);
    free(folder);
}

/* The parent folder of a model, as in a cache, of checkpoints, of modules. */
static void a_model_further_down_is_named(void **state) {
    (void)state;
    static const char *const below[] = { "snapshots/abc", "checkpoint-500", "0_Transformer" };
    for (size_t i = 0; i < COUNT_OF(below); i++) {
        struct err e = ERR_INIT;
        char *top = test_folder(), *first = xstrndup(below[i], strcspn(below[i], "/")), *parent = file_join(top, first),
             *place = file_join(top, below[i]), *pooling = file_join(top, "1_Pooling");
        test_ok(file_make_folder(parent, &e), &e);
        if (strcmp(parent, place)) test_ok(file_make_folder(place, &e), &e);
        test_ok(file_make_folder(pooling, &e), &e);
        test_put(place, "config.json", "{\"model_type\": \"bert\"}");
        test_put(pooling, "config.json", "{\"word_embedding_dimension\": 8}");
        char *part = xprintf("config.json is missing; did you mean one of its folders: %s", place);
        load_refused(top, ERR_NOT_FOUND, part);
        free(part);
        free(top);
        free(first);
        free(parent);
        free(place);
        free(pooling);
    }
}

/* ---- shards ---- */

#define SHARD_1 "model-00001-of-00002.safetensors"
#define SHARD_2 "model-00002-of-00002.safetensors"

/* Creates a folder with two shards, the first `cut` tensors in the first. */
static char *sharded(size_t cut, const char *first, const char *second, const char *extra_map) {
    struct edit t;
    char *folder = tiny_open(&t);
    char *single = file_join(folder, "model.safetensors");
    unlink(single);
    edit_save_part(&t, 0, cut, folder, SHARD_1);
    edit_save_part(&t, cut, t.tensors - cut, folder, SHARD_2);
    struct buf index = BUF_INIT;
    buf_puts(&index, "{\"metadata\":{\"total_size\":6752},\"weight_map\":{");
    for (size_t i = 0; i < t.tensors; i++)
        buf_printf(&index, "%s\"%s\":\"%s\"", i ? "," : "", t.tensor[i].name,
                   i < cut ? first : second);
    buf_printf(&index, "%s}}", extra_map);
    test_put(folder, "model.safetensors.index.json", buf_text(&index));
    buf_release(&index);
    edit_release(&t);
    free(single);
    return folder;
}

static void test_shards(void **state) {
    (void)state;
    char *plain = tiny(), *same = fingerprint_of(plain);
    char *folder = sharded(20, SHARD_1, SHARD_2, ""), *here = fingerprint_of(folder);
    assert_string_equal(here, same);
    free(here);

    char *second = file_join(folder, SHARD_2), *aside = file_join(folder, "aside");
    assert_int_equal(rename(second, aside), 0);
    load_refused(folder, ERR_INPUT, "the shard " SHARD_2);
    assert_int_equal(symlink("/etc/passwd", second), 0);
    load_refused(folder, ERR_INPUT, "symbolic link to a file outside the model folder: /etc/passwd");
    unlink(second);
    assert_int_equal(symlink("nowhere", second), 0);
    load_refused(folder, ERR_INPUT, "is missing");
    unlink(second);
    assert_int_equal(symlink("aside", second), 0);
    here = fingerprint_of(folder);
    assert_string_equal(here, same);
    unlink(second);
    assert_int_equal(mkfifo(second, 0600), 0);
    load_refused(folder, ERR_INPUT, "not a regular file");
    unlink(second);
    assert_int_equal(rename(aside, second), 0);
    test_put(folder, "model-00003-of-00003.safetensors", "x");
    load_refused(folder, ERR_INPUT, "model-00003-of-00003.safetensors is missing from the index");
    free(here);
    free(second);
    free(aside);
    free(folder);
    free(plain);
    free(same);
}

static void test_broken_indices(void **state) {
    (void)state;
    static const struct {
        const char *first, *extra, *part;
    } cases[] = {
        {"../x.safetensors", "", "\"../x.safetensors\"; must be a file name"},
        {"/tmp/x.safetensors", "", "must be a file name"},
        {"a\\\\x.safetensors", "", "must be a file name"},
        {".x.safetensors", "", "must be a file name"},
        {"..", "", "must be a file name"},
        {"", "", "must be a file name"},
        {"x.bin", "", "must be a file name"},
        {"a/../" SHARD_1, "", "must be a file name"},
        {SHARD_1, ",\"extra.weight\":\"" SHARD_1 "\"",
         "\"extra.weight\" is missing from " SHARD_1},
        {SHARD_1, ",\"extra.weight\":7", "the file name of \"extra.weight\" must be a string"},
        {SHARD_1, ",\"extra.weight\":\"absent.safetensors\"", "the shard absent.safetensors"},
        {SHARD_2, "", "is missing from"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *folder = sharded(20, cases[i].first, SHARD_2, cases[i].extra);
        load_refused(folder, ERR_INPUT, cases[i].part);
        free(folder);
    }
    char *folder = sharded(20, SHARD_1, SHARD_2, "");
    test_put(folder, "model.safetensors.index.json",
             "{\"weight_map\":{\"pooler.dense.bias\":\"" SHARD_2 "\"}}");
    load_refused(folder, ERR_INPUT, " is missing");
    test_put(folder, "model.safetensors.index.json", "{\"weight_map\":[]}");
    load_refused(folder, ERR_INPUT, "\"weight_map\" must be a nonempty object");
    test_put(folder, "model.safetensors.index.json", "[]");
    load_refused(folder, ERR_INPUT, "\"weight_map\" must be a nonempty object");
    test_put(folder, "model.safetensors.index.json", "{\"weight_map\":");
    load_refused(folder, ERR_INPUT, "not valid JSON");
    free(folder);
}

/* ---- finding ---- */

/* A cache in the layout of huggingface_hub: snapshots contain links to blobs. */
static void test_cache(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *plain = tiny(), *root = test_folder(), *same = fingerprint_of(plain);
    char *cached = file_join(root, "models--some-org--Tiny.bert"),
         *blobs = file_join(cached, "blobs");
    char *snapshot = file_join(cached, "snapshots/abc123"), *refs = file_join(cached, "refs");
    test_ok(file_make_folder(blobs, &e), &e);
    test_ok(file_make_folder(snapshot, &e), &e);
    test_ok(file_make_folder(refs, &e), &e);
    test_put(refs, "main", "abc123");
    static const char *const files[] = {"config.json", "model.safetensors", "vocab.txt",
                                        "tokenizer_config.json"};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char *from = file_join(plain, files[i]), *blob = file_join(blobs, files[i]);
        char *link = file_join(snapshot, files[i]), *target = xprintf("../../blobs/%s", files[i]);
        assert_int_equal(rename(from, blob), 0);
        assert_int_equal(symlink(target, link), 0);
        free(from);
        free(blob);
        free(link);
        free(target);
    }
    setenv("HF_HUB_CACHE", root, 1);
    struct model *m = load_ok("some-org/Tiny.bert");
    assert_string_equal(m->sha256, same);
    assert_string_equal(m->name, "Tiny.bert");
    model_release(m);
    load_refused("some-org/other", ERR_NOT_FOUND, "models--some-org--other");
    load_refused("../some-org", ERR_NOT_FOUND, "model folder not found");

    char *link = file_join(snapshot, "model.safetensors"),
         *outside = file_join(root, "outside.safetensors");
    char *blob = file_join(blobs, "model.safetensors");
    assert_int_equal(rename(blob, outside), 0);
    unlink(link);
    assert_int_equal(symlink("../../../outside.safetensors", link), 0);
    load_refused("some-org/Tiny.bert", ERR_INPUT, "symbolic link to a file outside the model folder");
    unlink(link);
    char *beside = file_join(root, "models--some-org--Tiny.bert-2");
    test_ok(file_make_folder(beside, &e), &e);
    char *hidden = file_join(beside, "model.safetensors");
    assert_int_equal(rename(outside, hidden), 0);
    assert_int_equal(symlink(hidden, link), 0);
    load_refused("some-org/Tiny.bert", ERR_INPUT, "symbolic link to a file outside the model folder");
    test_put(refs, "main", "../../whole");
    char *whole = tiny_bert(root, "whole", NULL);
    load_refused("some-org/Tiny.bert", ERR_NOT_FOUND, "model folder not found");
    free(whole);
    free(hidden);
    free(beside);
    unsetenv("HF_HUB_CACHE");
    free(link);
    free(outside);
    free(blob);
    free(plain);
    free(same);
    free(root);
    free(cached);
    free(blobs);
    free(snapshot);
    free(refs);
}

static void test_not_there(void **state) {
    (void)state;
    load_refused("", ERR_USAGE, "empty");
    load_refused("/nonexistent/model", ERR_NOT_FOUND,
                 "/nonexistent/model: model folder not found; list models with `petri models`");
    struct err e = ERR_INIT;
    char *fetched = model_find("smollm2", &e), *folder = test_folder();
    if (!fetched) load_refused("smollm2", ERR_NOT_FOUND, "; fetch it with `petri fetch smollm2`");
    free(fetched);
    load_refused(folder, ERR_NOT_FOUND, "config.json: cannot be opened");
    char *file = test_file(folder, "model.safetensors", "x", 1);
    load_refused(file, ERR_INPUT, "is a file, but a model is a folder");
    free(file);
    free(folder);
}

static void test_odd_folder_names(void **state) {
    (void)state;
    char *plain = tiny(), *base = test_folder(), *odd = file_join(base, "é 名 model");
    assert_int_equal(rename(plain, odd), 0);
    struct model *m = load_ok(odd);
    assert_string_equal(m->name, "é 名 model");
    model_release(m);
    free(plain);
    free(base);
    free(odd);
}

/* ---- sharing ---- */

static void *share(void *folder) {
    struct err e = ERR_INIT;
    return model_share(folder, &e);
}

static void test_share(void **state) {
    (void)state;
    enum { THREADS = 4 };
    char *folder = tiny();
    pthread_t thread[THREADS];
    struct model *m[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, share, folder), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], (void **)&m[i]);
    for (int i = 0; i < THREADS; i++) assert_ptr_equal(m[i], m[0]);
    assert_non_null(m[0]);
    char *slash = xprintf("%s/", folder);
    struct model *again = share(slash);
    assert_ptr_equal(again, m[0]);
    struct model *own = load_ok(folder);
    assert_ptr_not_equal(own, m[0]);
    char *config = test_text(folder, "config.json"), *longer = xprintf("%s ", config);
    test_put(folder, "config.json", longer);
    struct model *changed = share(folder);
    assert_ptr_not_equal(changed, m[0]);
    model_release(changed);
    model_release(own);
    model_release(again);
    for (int i = 0; i < THREADS; i++) model_release(m[i]);
    /* a shard is part of the model; other files in the folder are not */
    free(folder);
    folder = sharded(20, SHARD_1, SHARD_2, "");
    m[0] = share(folder);
    assert_non_null(m[0]);
    test_put(folder, "README.md", "hello");
    again = share(folder);
    assert_ptr_equal(again, m[0]);
    char *shard = file_join(folder, SHARD_2);
    struct buf bytes;
    struct err e = ERR_INIT;
    test_ok(file_read(shard, 1 << 20, &bytes, &e), &e);
    bytes.data[bytes.size - 1] ^= 1; /* same size as before */
    FILE *f = fopen(shard, "r+b");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.data, 1, bytes.size, f), bytes.size);
    assert_int_equal(fclose(f), 0);
    changed = share(folder);
    assert_ptr_not_equal(changed, m[0]);
    assert_string_not_equal(changed->sha256, m[0]->sha256);
    model_release(changed);
    model_release(again);
    model_release(m[0]);
    buf_release(&bytes);
    free(shard);
    assert_null(model_share("/nonexistent", &e));
    free(config);
    free(longer);
    free(slash);
    free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broken_downloads), cmocka_unit_test(a_model_further_down_is_named),
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_broken_indices),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_not_there),
        cmocka_unit_test(test_odd_folder_names),
        cmocka_unit_test(test_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
