/* Language modeling: losses beside the references, metrics, and the same bits for any number of workers, stopped or
 * not. */
#include "tests/train/language.h"

#include <jansson.h>

#include "core/base/file.h"
#include "core/data/causal.h"
#include "core/train/use/predict.h"

static void losses_are_those_of_the_references(void **state) {
    (void)state;
    lora_is_pefts(2e-5);
    whole_model_is_pytorchs(1, 4, 2e-5);
    whole_model_is_pytorchs(3, 2, 2e-5);
}

static void the_validation_loss_is_the_mean_over_targets(void **state) {
    (void)state;
    struct ground g;
    struct trained t;
    size_t n;
    double *each = fixture_values(&language, "each", &n), sum = 0, lengths = 0;
    open_pairs(&g);
    struct run_config c = language_config("lora(r=2)", 4, 1e-30, 0);
    train(&g, &c, NULL, 1, &t);
    assert_int_equal(n, g.task.dev[0].examples);
    for (size_t i = 0; i < n; i++) sum += each[i];
    lengths = (double)g.task.dev[0].target_start[n];
    assert_true(fabs(trained_metric(&t, "loss") - sum / lengths) < 2e-5);
    assert_true(fabs(log(trained_metric(&t, "perplexity")) - sum / lengths) < 2e-5);
    double right = trained_metric(&t, "token_accuracy") * lengths;
    assert_true(right >= 0 && fabs(right - round(right)) < 1e-9);
    assert_true(isnan(trained_metric(&t, "rougeL"))); /* nothing was generated */
    trained_release(&t);
    config_release(&c);
    ground_release(&g);
    free(each);
}

/* With a metric of texts, and for the samples, the prompts are continued. */
static void completions_are_generated(void **state) {
    (void)state;
    struct ground g;
    struct trained t;
    open_pairs(&g);
    int pairs = (int)g.task.train.examples;
    struct run_config c = language_config("full", pairs, 5e-3, 0);
    c.steps = 90;
    c.samples = pairs;
    c.sample_every = 90;
    xreplace(&c.metric, "exact");
    train(&g, &c, NULL, 2, &t);
    assert_true(t.evaluations == 1 && t.samples == 2); /* before the first step, and with the evaluation */
    assert_int_equal(t.sample[1].count, pairs);
    /* one of the pairs has no prompt but its first character */
    assert_true(t.sample[0].right == 0 && t.sample[1].right >= pairs - 1);
    assert_true(trained_metric(&t, "exact") > (double)(pairs - 2) / pairs && trained_metric(&t, "rougeL") > 0);
    assert_true(t.evaluation[0].value == trained_metric(&t, "exact"));
    trained_release(&t);
    config_release(&c);
    ground_release(&g);
}

static void same_run(const struct trained *a, const struct trained *b) {
    assert_int_equal(a->points, b->points);
    assert_memory_equal(a->loss, b->loss, (size_t)a->points * sizeof a->loss[0]);
    assert_memory_equal(a->params, b->params, a->params_count * sizeof *a->params);
    assert_string_equal(a->sha256, b->sha256);
}

static void runs_have_the_same_bits(void **state) {
    (void)state;
    struct ground g;
    struct trained one, other;
    char *folder = test_folder();
    open_pairs(&g);
    struct run_config c = language_config("prompt-tuning + lora(r=2)", 5, 1e-2, 0);
    c.eval_every = 3;
    train(&g, &c, NULL, 1, &one);
    for (int workers = 2; workers <= 3; workers++) {
        train(&g, &c, NULL, workers, &other);
        same_run(&one, &other);
        trained_release(&other);
    }
    train_until(&g, &c, folder, 2, 4, &other);
    trained_release(&other);
    train_on(&g, &c, folder, 1, &other);
    assert_string_equal(one.sha256, other.sha256);
    assert_true(trained_metric(&one, "loss") == trained_metric(&other, "loss"));
    trained_release(&one);
    trained_release(&other);
    config_release(&c);
    ground_release(&g);
    free(folder);
}

/* Weights that are read from the file when they are used, by several workers, also a second time in the backward
 * pass. */
static void weights_in_the_file_have_the_same_bits(void **state) {
    (void)state;
    static const char file[] = "tests/reference/gguf/llama.gguf";
    static const char *const methods[] = { "lora(r=2)", "dora(r=2)", "full" };
    struct ground memory, in_file;
    open_pairs_on(&memory, file, WEIGHTS_PACKED);
    for (size_t i = 0; i < 2 * COUNT_OF(methods); i++) {
        struct run_config c = language_config(methods[i / 2], 5, 1e-2, 0);
        struct trained one, other;
        c.precision = i % 2 ? PRECISION_BF16 : PRECISION_F32;
        train(&memory, &c, NULL, 1, &one);
        for (int workers = 1; workers <= 3; workers += 2) {
            open_pairs_on(&in_file, file, WEIGHTS_FILE);
            c.recompute = workers == 3;
            train(&in_file, &c, NULL, workers, &other);
            same_run(&one, &other);
            assert_true(trained_metric(&one, "loss") == trained_metric(&other, "loss"));
            trained_release(&other);
            ground_release(&in_file);
        }
        trained_release(&one);
        config_release(&c);
    }
    ground_release(&memory);
}

/* Prompt and completion are one sequence, of which the completion and the end token are targets. */
static void a_row_is_prompt_completion_and_end(void **state) {
    (void)state;
    struct ground g;
    struct err e = ERR_INIT;
    open_pairs(&g);
    struct dataset *d = &g.task.train;
    for (size_t i = 0; i < d->examples; i++) {
        const struct example *x = &d->example[i];
        size_t prompt = 0, n = d->start[i + 1] - d->start[i];
        while (prompt < n && !d->trained[d->start[i] + prompt]) prompt++;
        for (size_t j = prompt; j < n; j++) assert_true(d->trained[d->start[i] + j]);
        assert_int_equal(n - prompt, d->target_start[i + 1] - d->target_start[i]);
        assert_memory_equal(d->ids + d->start[i] + prompt, d->target_ids + d->target_start[i],
                            (n - prompt) * sizeof *d->ids);
        assert_int_equal(d->ids[d->start[i + 1] - 1], g.model->arch.eos_id);
        struct buf text = BUF_INIT;
        tokenizer_decode(g.model->tokenizer, d->ids + d->start[i], n - 1, false, &text);
        assert_int_equal(text.size, x->a_size + x->target_size);
        assert_memory_equal(text.data, x->a, x->a_size);
        assert_memory_equal(text.data + x->a_size, x->target_text, x->target_size);
        buf_release(&text);
    }
    /* longer examples are removed, and reported; never cut */
    size_t all = d->examples;
    const struct causal_coding how = { .max_len = 12, .max_target = 64, .end = 2 };
    test_ok(dataset_encode_causal(d, g.model->tokenizer, &how, &e), &e);
    assert_true(d->examples < all && d->report.too_long.examples == all - d->examples);
    for (size_t i = 0; i < d->examples; i++) assert_true(d->start[i + 1] - d->start[i] <= 12 && d->ids[d->start[i + 1] - 1] == 2);
    const struct causal_coding short_one = { .max_len = 1, .max_target = 64, .end = 2 };
    test_refused(dataset_encode_causal(d, g.model->tokenizer, &short_one, &e), ERR_USAGE, &e, "--max-length");
    ground_release(&g);
}

static void preview_is(const struct dataset *d, const char *want) {
    const char *at = strstr(buf_text(&d->report.preview), "\n");
    assert_non_null(at);
    if (strncmp(at + 1, want, strlen(want))) fail_msg("not \"%s\": %s", want, buf_text(&d->report.preview));
}

/* All tokens are targets, but prompts are continued from where the answers start. */
static void the_loss_may_be_on_all_tokens(void **state) {
    (void)state;
    struct ground g;
    struct err e = ERR_INIT;
    struct trained t;
    struct run_config c = language_config("lora(r=2)", 4, 1e-3, 0);
    open_pairs(&g);
    size_t answers = g.task.train.target_start[g.task.train.examples];
    preview_is(&g.task.train, "| 2 plus 3 is\n>  5.<|im_end|>\n");
    c.loss_on = LOSS_ON_ALL;
    c.steps = 1;
    c.samples = 2;
    test_ok(run_prepare_task(&c, g.model, &g.task, &e), &e);
    const struct dataset *d = &g.task.train;
    assert_true(d->target_start[d->examples] > answers);
    assert_int_equal(d->target_start[d->examples], d->start[d->examples] - d->examples);
    preview_is(d, "| 2\n>  plus 3 is 5.<|im_end|>\n");
    train(&g, &c, NULL, 1, &t);
    assert_true(t.samples == 2 && t.sample[0].count == 2);
    trained_release(&t);
    config_release(&c);
    ground_release(&g);
}

/* Texts alone are cut into windows, of which the first token is not a target. */
static void texts_are_cut_into_windows(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *model = test_path(LLAMA), *folder = test_folder(), *path = file_join(folder, "texts.jsonl");
    static const char text[] = "{\"text\": \"a<|im_end|>b\"}\n{\"text\": \"x x x x x x x x x x\"}\n";
    test_ok(file_write(path, text, sizeof text - 1, &e), &e);
    struct ground g = { .model = model_load(model, &e), .max_len = 6 };
    const struct task_source s = { .train = path, .dev = path };
    struct run_config c = language_config("lora(r=2)", 2, 1e-3, 0);
    struct trained t;
    if (!g.model) fail_msg("%s", e.text);
    c.max_len = g.max_len;
    c.max_len_given = true;
    test_ok(task_open(&g.task, &s, &e), &e);
    test_ok(run_prepare_task(&c, g.model, &g.task, &e), &e);
    const struct dataset *d = &g.task.train;
    preview_is(d, "| a\n> <|im_end|>b<|im_end|>\n"); /* control tokens as they are written */
    size_t tokens = d->start[d->examples];
    assert_true(d->examples >= 3 && d->start[1] == 4 && d->example[2].line == 2);
    assert_int_equal(d->target_start[d->examples], tokens - d->examples);
    for (size_t i = 1; i + 1 < d->examples; i++) assert_int_equal(d->start[i + 1] - d->start[i], 6);
    for (size_t i = 0; i < d->examples; i++) assert_true(d->example[i].id == i && !d->trained[d->start[i]]);
    train(&g, &c, NULL, 2, &t);
    assert_true(trained_state(&t) == RUN_FINISHED && t.samples == 0);
    trained_release(&t);
    config_release(&c);
    ground_release(&g);
    free(model), free(folder), free(path);
}

/* Writes the first `rows` lines of a file of JSON Lines, or one text of questions and answers. */
static char *first_rows(const char *folder, const char *from, int rows, bool text) {
    struct err e = ERR_INIT;
    struct buf all, out = BUF_INIT, whole = BUF_INIT;
    char *path = file_join(folder, text ? "text.jsonl" : "rows.jsonl");
    test_ok(file_read(from, 64 << 20, &all, &e), &e);
    const char *s = buf_text(&all);
    for (int i = 0; i < rows; i++) {
        size_t n = strcspn(s, "\n");
        json_t *row = json_loadb(s, n, 0, NULL);
        buf_printf(&whole, "%s%s\n%s", i ? "\n\n" : "", json_string_value(json_object_get(row, "question")),
                   json_string_value(json_object_get(row, "answer")));
        json_decref(row);
        if (!text) buf_add(&out, s, n + 1);
        s += n + 1;
    }
    if (text) {
        buf_puts(&whole, "\n");
        json_t *one = json_pack("{s:s}", "text", buf_text(&whole));
        char *line = json_dumps(one, JSON_COMPACT);
        buf_printf(&out, "%s\n", line);
        json_decref(one);
        free(line);
    }
    test_ok(file_write(path, out.data, out.size, &e), &e);
    buf_release(&all), buf_release(&out), buf_release(&whole);
    return path;
}

static void evaluates_to(struct model *m, const struct task_source *s, const struct causal_coding *how,
                         size_t targets, double loss, double accuracy) {
    struct err e = ERR_INIT;
    struct task t;
    struct metrics x;
    struct metric_value tokens;
    struct written none;
    struct predictor *p = predictor_of_model(m, &e);
    struct crew *crew = crew_new(2, NULL);
    test_ok(task_open(&t, s, &e), &e);
    test_ok(task_encode_causal(&t, m->tokenizer, how, &e), &e);
    t.metric = METRIC_LOSS;
    predictor_set_precision(p, PRECISION_F32);
    test_ok(predictor_evaluate_texts(p, &t, 0, 0, crew, &none, &x, &tokens, &e), &e);
    const struct dataset *d = &t.dev[0];
    if (d->target_start[d->examples] != targets || fabs(x.value[METRIC_LOSS].value - loss) > 1e-4 * loss ||
        fabs(tokens.value - accuracy) > 1e-4)
        fail_msg("%s: %zu targets, loss %.6f, accuracy %.5f", s->dev, d->target_start[d->examples],
                 x.value[METRIC_LOSS].value, tokens.value);
    metrics_release(&x);
    task_release(&t);
    crew_free(crew);
    predictor_free(p);
}

/* SmolLM2-135M-Instruct in Q4_1: the losses of transformers in float32. */
static void smollm2_has_the_losses_of_transformers(void **state) {
    (void)state;
    enum { DOCUMENT_END = 0, LINE_END = 198 };
    test_needs("assets/models/smollm2");
    if (!test_slow()) test_skip("reads 18,000 tokens with 135 million parameters; make test-slow");
    struct err e = ERR_INIT;
    char *folder = test_folder(), *path = test_path("assets/models/smollm2"),
         *sql = xprintf("%s/wikisql-1000/test.jsonl", test_shared_data()),
         *gsm = xprintf("%s/gsm8k/test.jsonl", test_shared_data()), *text = first_rows(folder, gsm, 20, true),
         *rows = first_rows(folder, gsm, 20, false);
    struct model *m = model_load(path, &e);
    struct chat_template c;
    if (!m) fail_msg("%s", e.text);
    test_ok(chat_template_by_name(&c, "smollm2", &e), &e);
    struct causal_coding how = { .max_len = 512, .max_target = 64, .end = DOCUMENT_END };
    evaluates_to(m, &(struct task_source){ .dev = sql }, &how, 3109, 2.05297, 0.6584);
    how.end = LINE_END; /* the text ends with it: nothing is appended */
    evaluates_to(m, &(struct task_source){ .dev = text }, &how, 4213, log(6.0374), 0.5917);
    how = (struct causal_coding){ .max_len = 1024, .max_target = 64, .end = 2, .chat = &c, .wrap = true };
    evaluates_to(m, &(struct task_source){ .dev = rows, .source = "question", .target = "answer" }, &how, 2945,
                 1.40986, 0.6679);
    chat_template_release(&c);
    model_release(m);
    free(folder), free(path), free(sql), free(gsm), free(text), free(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_those_of_the_references),
        cmocka_unit_test(the_validation_loss_is_the_mean_over_targets),
        cmocka_unit_test(completions_are_generated),
        cmocka_unit_test(runs_have_the_same_bits),
        cmocka_unit_test(the_loss_may_be_on_all_tokens),
        cmocka_unit_test(texts_are_cut_into_windows),
        cmocka_unit_test(smollm2_has_the_losses_of_transformers),
        cmocka_unit_test(weights_in_the_file_have_the_same_bits),
        cmocka_unit_test(a_row_is_prompt_completion_and_end),
    };
    return cmocka_run_group_tests(tests, open_language, close_language);
}
