#include "tests/support/test.h"

#include <string.h>

#include "tests/method/published.h"
#include "tests/views/scene.h"

static void names_and_counts(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora(r=8)");
    assert_int_equal(ui.compose.facts.trained, 73728); /* 2·8·384·6 for q and for v */
    assert_true(scene_shows(&ui, "LoRA, Hu et al. 2022"));
    assert_true(scene_shows(&ui, "73,728"));
    assert_true(scene_shows(&ui, "valid ✓"));
    scene_method(&ui, "lora(r=16)");
    assert_int_equal(ui.compose.facts.trained, 147456);
    ui_release(&ui);
}

static void a_choice_is_taken_and_undone(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "adapter-pfeiffer");
    char *before = xstrdup(ui.compose.facts.canonical);
    scene_press(&ui, 'l'); /* position */
    scene_press(&ui, 'k'); /* ffn out → ffn act */
    assert_int_equal(ui.compose.config.method.module[0].write, TAP_F_ACT);
    assert_true(scene_shows(&ui, "━━ Method ━━"));
    scene_press(&ui, 'k');
    scene_press(&ui, 'u'); /* the walk is one step */
    assert_string_equal(ui.compose.facts.canonical, before);
    scene_press(&ui, PRESS_CTRL('r'));
    assert_int_not_equal(ui.compose.config.method.module[0].write, TAP_F_OUT);
    free(before);
    ui_release(&ui);
}

/* A choice that would not be a valid point is dim, says why and is not taken. */
static void a_wrong_choice_says_why(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora(r=8)");
    struct compose_view *v = &ui.compose;
    v->axis = AXIS_COMPOSITION;
    compose_changed(v);
    const struct choice *gated = &v->choices[scene_choice(v, "gated \u03BB")];
    assert_false(gated->allowed);
    assert_true(strlen(gated->why) > 20);
    char *before = xstrdup(v->facts.canonical);
    while (v->choice < 3) scene_press(&ui, 'j');
    assert_int_equal(v->choice, 3);
    assert_int_not_equal(v->config.method.module[0].comp, COMP_GATED);
    assert_true(scene_shows(&ui, "available only for a prefix"));
    free(before);
    ui_release(&ui);
}

/* Every preset, or each `every`th from the number `first`. */
static void walk_all(const struct arch *arch, int first, int every) {
    for (int p = first; p < preset_count(); p += every) {
        struct ui ui;
        scene_compose(&ui, preset_at(p)->name);
        if (arch) ui.compose.arch = arch;
        scene_method(&ui, preset_at(p)->name);
        bool refused = ui.compose.facts.errors > 0; /* BitFit where there are no biases */
        for (int part = 0; !refused && part < ui.compose.config.method.count; part++)
            for (int a = 0; a < axis_count(); a++) {
                scene_method(&ui, preset_at(p)->name);
                ui.compose.part = part;
                if (!compose_axis_applies(&ui.compose, (enum axis)a)) continue;
                ui.compose.axis = (enum axis)a;
                compose_changed(&ui.compose);
                scene_press(&ui, 'g');
                for (int k = 0, was = -1; k < 12 && was != ui.compose.choice; k++) {
                    was = ui.compose.choice;
                    scene_press(&ui, 'j');
                    if (ui.compose.facts.errors)
                        fail_msg("%s, module %d, %s: %s", preset_at(p)->name, part + 1, axis_name((enum axis)a),
                                 ui.compose.facts.finding[0].text);
                }
            }
        ui_release(&ui);
    }
}

/* A field of the table with a label needs no more to be chosen on Compose. */
static void each_labeled_field_is_an_axis(void **state) {
    (void)state;
    const struct key *k;
    for (int i = 0; (k = key_at(i)); i++) {
        int axes = 0;
        for (int a = 0; a < axis_count(); a++) axes += k->label && axis_key(NULL, (enum axis)a) == k &&
            !strcmp(axis_name((enum axis)a), k->label);
        assert_int_equal(axes, k->label != NULL);
    }
    assert_true(axis_count() > AXIS_NAMED);
}

/* Of the models with two stacks each preset is on one, in `make test-slow` on all. */
static void every_walk_leaves_a_valid_point(void **state) {
    (void)state;
    static const char *const configs[] = {BART_BASE, T5_SMALL, FLAN_T5_SMALL};
    walk_all(NULL, 0, 1);
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        struct arch a;
        struct err e = ERR_INIT;
        test_ok(arch_parse("config.json", configs[i], strlen(configs[i]), &a, NULL, &e), &e);
        walk_all(&a, test_slow() ? 0 : (int)i, test_slow() ? 1 : COUNT_OF(configs));
        arch_release(&a);
    }
}

/* ---- models with two stacks ---- */

static void open_shape(struct ui *ui, struct arch *a, const char *config, const char *method) {
    struct err e = ERR_INIT;
    test_ok(arch_parse("config.json", config, strlen(config), a, NULL, &e), &e);
    scene_compose(ui, "head");
    ui->compose.arch = a;
    scene_method(ui, method);
}

static void stack_and_site_are_chosen(void **state) {
    (void)state;
    struct ui ui;
    struct arch a;
    open_shape(&ui, &a, BART_BASE, "prefix(l=30)");
    struct compose_view *v = &ui.compose;
    assert_int_equal(v->facts.trained, 829440);
    assert_int_equal(v->facts.places.trained[STACK_DECODER][SUB_CROSS], 276480);
    assert_true(scene_shows(&ui, "one of 6 + 6 layers"));
    assert_true(scene_shows(&ui, " enc "));
    assert_true(scene_shows(&ui, "276,480"));
    assert_true(scene_shows(&ui, "no head"));
    scene_press(&ui, 'l');
    scene_press(&ui, 'l');
    assert_int_equal(v->axis, AXIS_SITE);
    scene_press(&ui, 'j'); /* all, then self */
    assert_int_equal(v->config.method.module[0].site, SUB_SELF);
    scene_press(&ui, 'j');
    assert_int_equal(v->config.method.module[0].site, SUB_CROSS);
    assert_int_equal(v->facts.trained, 276480);
    assert_true(scene_shows(&ui, "cross heads"));
    scene_press(&ui, 'l');
    assert_int_equal(v->axis, AXIS_STACK);
    scene_press(&ui, 'j'); /* the encoder has none: not taken, and says why */
    assert_int_equal(v->config.method.module[0].stack, STACK_ALL);
    assert_false(v->choices[v->choice].allowed);
    assert_true(scene_shows(&ui, "an encoder has no cross-attention"));
    scene_press(&ui, 'j');
    assert_int_equal(v->config.method.module[0].stack, STACK_DECODER);
    assert_string_equal(v->facts.text, "prefix(stack=decoder,site=cross)");
    assert_true(scene_shows(&ui, " dec"));
    scene_press(&ui, 'u');
    scene_press(&ui, 'u');
    assert_int_equal(v->facts.trained, 829440);
    ui_release(&ui);
    arch_release(&a);
}

/* Whatever the window and the method: nothing is drawn outside, nothing is read there. */
static void two_stacks_fit_any_window(void **state) {
    (void)state;
    static const char *const methods[] = {
        "mam", "adapter-houlsby(site=cross)", "ia3(at=q+k+v+ctx+o+pre+act+out+embed)", "full",
        "prefix + lora + ia3 + adapter-houlsby + parallel-adapter-attn + lora-ffn + mam"};
    int wide = test_slow() ? 13 : 25, high = test_slow() ? 7 : 13;
    struct arch a;
    struct err e = ERR_INIT;
    test_ok(arch_parse("config.json", FLAN_T5_SMALL, strlen(FLAN_T5_SMALL), &a, NULL, &e), &e);
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        for (int w = 1; w < 210; w += wide)
            for (int h = 1; h < 70; h += high) {
                struct ui ui;
                struct buf b = BUF_INIT;
                scene_init(&ui, w, h, (enum glyphs)(w % GLYPHS_COUNT), COLORS_NONE);
                ui.compose.arch = &a;
                scene_method(&ui, methods[i]);
                ui_show(&ui, SCREEN_COMPOSE);
                render_ui(&ui, RENDER_TEXT, &b);
                assert_true(b.size > 0);
                buf_release(&b);
                ui_release(&ui);
            }
    arch_release(&a);
}

/* Who learns a module is an axis over episodes; of other runs only where a module says it, which is told. */
static void learn_is_an_axis_over_episodes(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora");
    struct compose_view *v = &ui.compose;
    assert_false(compose_axis_applies(v, AXIS_LEARN));
    scene_method(&ui, "lora(r=2,learn=outer)");
    assert_true(compose_axis_applies(v, AXIS_LEARN));
    assert_int_equal(v->facts.errors, 0);
    const struct finding *last = &v->facts.finding[v->facts.findings - 1];
    assert_true(last->level == LEVEL_WARNING && strstr(last->text, "only in episodic training"));
    scene_method(&ui, "meta-adapters(m=2)");
    v->part = 2;
    v->axis = AXIS_LEARN;
    compose_changed(v);
    assert_int_equal(v->choice_count, LEARN_COUNT);
    int known = v->facts.findings;
    int inner = scene_choice(v, "inner");
    while (v->choice < inner) scene_press(&ui, 'j');
    assert_int_equal(v->config.method.module[2].learn, LEARN_INNER);
    struct err e = ERR_INIT;
    test_ok(config_set(&v->config, "regime", "meta(order=fd, clip=1)", &e), &e);
    compose_changed(v);
    assert_int_equal(v->facts.errors, 0);
    assert_int_equal(v->facts.findings, known + 2); /* masks and clips */
    v->config.method.module[1].act = ACT_RELU;
    compose_changed(v);
    assert_int_equal(v->facts.errors, 1);
    assert_non_null(strstr(v->facts.finding[0].text, "order=fd: finite differences are unreliable with ReLU: module 2 has act=relu"));
    ui_release(&ui);
}

/* An encoder alone has nothing to choose there. */
static void one_stack_has_no_such_axes(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora");
    for (int i = 0; i < axis_count(); i++) {
        assert_int_not_equal(ui.compose.axis, AXIS_SITE);
        assert_int_not_equal(ui.compose.axis, AXIS_STACK);
        scene_press(&ui, 'l');
    }
    ui_release(&ui);
}

static void a_range_counts_in_each_stack(void **state) {
    (void)state;
    struct ui ui;
    struct arch a;
    open_shape(&ui, &a, BART_BASE, "lora");
    ui.compose.axis = AXIS_LAYERS;
    compose_changed(&ui.compose);
    for (int i = 0; i < 12; i++) scene_press(&ui, 'k');
    assert_int_equal(ui.compose.config.method.module[0].first, 6);
    assert_int_equal(ui.compose.facts.errors, 0);
    ui_release(&ui);
    arch_release(&a);
}

static void sizes_are_typed(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora(r=8)");
    ui.compose.axis = AXIS_SIZE;
    compose_changed(&ui.compose);
    assert_true(scene_shows(&ui, "Width of a bottleneck, or rank."));
    scene_press(&ui, PRESS_ENTER);
    assert_true(ui.prompt.open);
    scene_type(&ui, "32");
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_NONE);
    assert_int_equal(ui.compose.config.method.module[0].size, 32);
    scene_press(&ui, PRESS_ENTER);
    scene_type(&ui, "1.5");
    scene_press(&ui, PRESS_ENTER);
    assert_int_equal(ui.compose.config.method.module[0].size, 32);
    assert_int_equal(ui.say, SAY_ERROR);
    assert_non_null(strstr(ui.message, "must be an integer"));
    char why[200];
    assert_true(compose_edit(&ui.compose, "1000000", why)); /* bounds are those of the text form */
    assert_false(compose_edit(&ui.compose, "1000001", why));
    scene_press(&ui, 'u');
    scene_press(&ui, 'u');
    assert_int_equal(ui.compose.config.method.module[0].size, 8);
    ui_release(&ui);
}

static void modules_come_and_go(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "adapter-pfeiffer");
    scene_press(&ui, '+');
    assert_int_equal(ui.compose.config.method.count, 2);
    assert_int_equal(ui.compose.part, 1);
    scene_press(&ui, '-');
    scene_press(&ui, '-');
    assert_int_equal(ui.compose.config.method.count, 0);
    assert_true(scene_shows(&ui, "only the head is trained"));
    for (int i = 0; i < 3; i++) scene_press(&ui, 'u');
    assert_int_equal(ui.compose.config.method.count, 1);
    struct method *m = &ui.compose.config.method;
    for (; m->count < METHOD_MODULES - 1; m->count++) m->module[m->count] = m->module[0];
    for (int i = 0; i < 2; i++) scene_press(&ui, '+');
    assert_int_equal(ui.compose.config.method.count, METHOD_MODULES);
    ui_release(&ui);
}

/* The generator comes with the first module whose values it makes and goes with the last; its keys are walked, typed
 * and undone like the axes of a module. */
static void a_generator_is_a_part(void **state) {
    (void)state;
    struct ui ui;
    char why[200];
    scene_compose(&ui, "parallel-adapter-ffn(r=16)");
    struct compose_view *v = &ui.compose;
    assert_int_equal(compose_networks(v), 0);
    v->axis = AXIS_SOURCE;
    compose_changed(v);
    int free_at = v->choice;
    while (strcmp(v->choices[v->choice].name, "hyper")) scene_press(&ui, 'j');
    assert_true(v->config.method.hyper[0].on && !v->facts.errors && compose_networks(v) == 1);
    assert_true(scene_shows(&ui, "hyper [z_\u03C4 64; e_\u2113 64; e_p 64] \u25B8 128 relu \u25B8 64 LN \u25B8 heads per stack \u25B8 1"));
    size_t before = v->facts.trained;
    assert_true(v->facts.network_trained[0] == before);
    scene_press(&ui, PRESS_TAB);
    assert_true(compose_network(v) && !compose_on_run(v) && scene_shows(&ui, "generator: task"));
    assert_true(scene_shows(&ui, "l: prototype 0 \u00B7 layer 64") && compose_on_number(v));
    assert_true(compose_edit(v, "32", why) && v->config.method.hyper[0].task == 32);
    scene_press(&ui, 'k');
    assert_int_equal(v->config.method.hyper[0].task, 64);
    assert_false(compose_edit(v, "many", why));
    assert_non_null(strstr(why, "an integer between"));
    while (strcmp(compose_network_key(v)->name, "net")) scene_press(&ui, 'l');
    assert_true(v->choice_count == 3 && !compose_on_number(v));
    scene_press(&ui, 'j');
    assert_int_equal(v->config.method.hyper[0].net, HYPER_LAYER);
    assert_true(scene_shows(&ui, "heads per layer") && v->facts.trained > before);
    scene_press(&ui, 'u');
    assert_int_equal(v->config.method.hyper[0].net, HYPER_STACK);
    scene_press(&ui, '-');
    assert_true(v->config.method.hyper[0].on && scene_shows(&ui, "a hypernetwork is removed with the last module that uses it"));
    scene_press(&ui, PRESS_TAB);
    assert_true(compose_on_run(v));
    scene_press(&ui, PRESS_TAB);
    v->axis = AXIS_SOURCE;
    compose_changed(v);
    while (v->choice > free_at) scene_press(&ui, 'k');
    assert_true(!v->config.method.hyper[0].on && compose_networks(v) == 0 && !v->facts.errors);
    ui_release(&ui);
}

/* A retriever stands beside it, and goes alone. */
static void a_retriever_is_a_part(void **state) {
    (void)state;
    struct ui ui;
    struct arch a;
    struct err e = ERR_INIT;
    test_ok(arch_parse("config.json", FLAN_T5_SMALL, strlen(FLAN_T5_SMALL), &a, NULL, &e), &e);
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui.compose.arch = &a;
    ui_show(&ui, SCREEN_COMPOSE);
    scene_method(&ui, "pha");
    struct compose_view *v = &ui.compose;
    assert_true(compose_networks(v) == 2 && !v->facts.errors);
    assert_true(scene_shows(&ui, "retriever mean of E 512 \u25B8 128 relu \u25B8 64 = z  supcon, decoupled"));
    for (int i = 0; i < 3; i++) scene_press(&ui, PRESS_TAB);
    assert_string_equal(compose_network(v)->name, "retriever");
    while (strcmp(compose_network_key(v)->name, "prototype")) scene_press(&ui, 'l');
    scene_press(&ui, 'k');
    assert_int_equal(v->config.method.retriever.prototype, PROTOTYPE_NONE);
    scene_press(&ui, '-');
    assert_true(!v->config.method.retriever.on && v->config.method.hyper[0].on);
    scene_press(&ui, 'u');
    assert_true(v->config.method.retriever.on);
    ui_release(&ui);
    arch_release(&a);
}

/* A point without a name says which it is like, and what it does otherwise. */
static void the_nearest_name(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "adapter-pfeiffer");
    ui.compose.config.method.module[0].read = TAP_F_PRE;
    compose_changed(&ui.compose);
    assert_null(ui.compose.facts.preset);
    assert_true(scene_shows(&ui, "like "));
    ui_release(&ui);
}

/* A module is copied, moved, switched off and on again; u takes each back, with what is off. */
static void modules_are_a_list(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora(r=8)");
    struct compose_view *v = &ui.compose;
    scene_press(&ui, 'C'); /* an exact copy: asked once */
    assert_int_equal(v->config.method.count, 2);
    assert_true(scene_shows(&ui, "add a copy of module 1 (to change its position)?"));
    scene_press(&ui, PRESS_ESC);
    assert_true(v->config.method.count == 2 && ui.ask.kind == ASK_NONE);
    scene_press(&ui, 'C');
    scene_press(&ui, 'y');
    assert_int_equal(v->config.method.count, 3);
    assert_true(v->part == 1 && v->axis == AXIS_POSITION);
    scene_press(&ui, 'C');
    assert_int_equal(v->config.method.count, 4);
    scene_press(&ui, 'u');
    v->part = 1;
    compose_changed(v);
    assert_int_equal(v->config.method.module[1].write, TAP_A_Q);
    scene_press(&ui, '>');
    assert_int_equal(v->part, 2);
    assert_int_equal(v->config.method.module[1].write, TAP_A_V);
    scene_press(&ui, '>'); /* it is the last */
    assert_int_equal(v->config.method.module[2].write, TAP_A_Q);
    scene_press(&ui, '<');
    scene_press(&ui, 'O');
    assert_int_equal(v->config.method.count, 2);
    assert_int_equal(v->off.count, 1);
    assert_int_equal(v->facts.trained, 73728);
    assert_true(scene_shows(&ui, "\u2013  linear        attn q"));
    v->part = v->config.method.count + 1; /* behind the run's options */
    compose_changed(v);
    assert_true(scene_shows(&ui, "neither counted nor trained"));
    scene_press(&ui, 'j'), scene_press(&ui, 'l'); /* nothing is there to walk */
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_TRAIN);
    scene_press(&ui, 'O');
    assert_int_equal(v->config.method.count, 3);
    assert_int_equal(v->off.count, 0);
    scene_press(&ui, 'u');
    assert_true(v->config.method.count == 2 && v->off.count == 1);
    v->part = v->config.method.count + 1;
    compose_changed(v);
    scene_press(&ui, '-'); /* forgotten, and back */
    assert_int_equal(v->off.count, 0);
    scene_press(&ui, 'u');
    assert_int_equal(v->off.count, 1);
    scene_press(&ui, 'u');
    assert_true(v->config.method.count == 3 && v->off.count == 0);
    for (int i = 0; i < METHOD_MODULES; i++) v->config.method.module[i] = v->config.method.module[0];
    v->config.method.count = METHOD_MODULES;
    scene_press(&ui, 'C'); /* no more than there is room for */
    assert_int_equal(v->config.method.count, METHOD_MODULES);
    assert_int_equal(ui.say, SAY_WARNING);
    ui_release(&ui);
}

/* What a walk, a typed value, a click and a mark change, where modules differ in nothing but their position. */
static void an_edit_goes_to_all_that_are_alike(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora(r=8)");
    struct compose_view *v = &ui.compose;
    const struct module *m = v->config.method.module;
    for (int i = 0; i < 2; i++) {
        ui_resize(&ui, i ? 200 : 80, i ? 60 : 24);
        v->axis = AXIS_SIZE;
        compose_changed(v);
        assert_true(scene_shows(&ui, "size of modules 1, 2 (*: only this)"));
        scene_press(&ui, ' ');
        scene_press(&ui, 'k');
        assert_true(m[0].size == 16 && m[1].size == 16);
        scene_press(&ui, ' ');
        char *line = compose_sweep_line(v);
        assert_non_null(strstr(line, "--method '{lora,lora(r=16)}'"));
        free(line);
        scene_press(&ui, 'u');
        assert_string_equal(ui.message, "undone: size 8 \u2192 16 (modules 1, 2)");
        for (; v->swepts; v->swepts--) free(v->swept[v->swepts - 1]);
        scene_press(&ui, '*');
        assert_true(scene_shows(&ui, "size of module 1 (*: all 2)"));
        scene_press(&ui, 'k');
        assert_true(m[0].size == 16 && m[1].size == 8);
        scene_press(&ui, '*'); /* also where they differ */
        scene_press(&ui, PRESS_ENTER);
        scene_type(&ui, "4");
        scene_press(&ui, PRESS_ENTER);
        assert_true(m[0].size == 4 && m[1].size == 4);
        scene_method(&ui, "lora(r=8)");
        assert_int_equal(v->reach, REACH_DEFAULT);
        v->axis = AXIS_COMPOSITION;
        compose_changed(v);
        scene_click(&ui, "learned");
        assert_true(m[0].comp == COMP_LEARNED && m[1].comp == COMP_LEARNED);
        scene_press(&ui, 'u');
        v->axis = AXIS_POSITION; /* would make two modules at one place */
        compose_changed(v);
        scene_press(&ui, 'j');
        assert_true(m[0].write == TAP_A_K && m[1].write == TAP_A_V);
        scene_press(&ui, 'u');
    }
    scene_method(&ui, "adapter-houlsby");
    scene_press(&ui, PRESS_TAB);
    v->axis = AXIS_INSERTION;
    compose_changed(v);
    v->choice = scene_choice(v, "parallel from attn ctx") - 1;
    scene_press(&ui, 'j'); /* the FFN has other places: parallel there too */
    assert_true(m[0].fn == FN_FULL && !module_is_sequential(&m[1]) && !module_is_sequential(&m[2]));
    assert_true(m[1].read == TAP_A_CTX && m[2].write == TAP_F_OUT);
    scene_method(&ui, "unipelt");
    v->axis = AXIS_SIZE;
    compose_changed(v);
    int keys = m[2].size, rank = m[0].size;
    scene_press(&ui, 'k'); /* those of its function alone */
    assert_true(m[0].size == 2 * rank && m[1].size == 2 * rank && m[2].size == keys);
    ui_release(&ui);
}

/* Where the diagram or the formulas have no room for all modules, Tab and a click bring the others. */
static void every_module_can_be_seen(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora(at=q+k+v+o) + lora-ffn + adapter-houlsby + bitfit");
    struct compose_view *v = &ui.compose;
    assert_true(scene_shows(&ui, "more: Tab"));
    for (int i = 0; i < v->config.method.count; i++) {
        struct phrase lane = phrase("%d: ", i + 1);
        if (v->config.method.module[i].target == TARGET_NONE && !scene_shows(&ui, lane.text))
            fail_msg("module %d is not in the diagram", i + 1);
        assert_int_equal(v->part, i);
        if (i % 2) scene_press(&ui, PRESS_TAB);
        else scene_click(&ui, "more: Tab");
    }
    ui_release(&ui);
}

/* Methods are listed by family, each once, and found by typing; what is found is taken by Enter or a click. */
static void methods_are_found_by_typing(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora");
    const struct method *m = &ui.compose.config.method;
    for (int i = 0; i < 2; i++) {
        ui_resize(&ui, i ? 200 : 80, i ? 60 : 24);
        scene_press(&ui, 'P');
        assert_int_equal(ui.picker.count, preset_count());
        assert_true(scene_shows(&ui, "Hu et al. 2022") && scene_shows(&ui, "Prefixes and prompts"));
        assert_int_equal(scene_shows(&ui, "lines 1\u201320 of"), !i); /* it goes on */
        for (int k = 0; k < preset_count(); k++) {
            int headings = 0;
            for (int n = 0; n < ui.picker.count; n++)
                headings += !strcmp(ui.picker.item[n].group, preset_at(k)->family) &&
                            (!n || strcmp(ui.picker.item[n - 1].group, preset_at(k)->family));
            assert_int_equal(headings, 1);
        }
        scene_type(&ui, "mam");
        assert_true(scene_shows(&ui, "find mam") && !scene_shows(&ui, "Prefixes and prompts"));
        scene_press(&ui, PRESS_ESC); /* all of them again, on what was found */
        assert_true(ui.picker.open && !ui.prompt.open);
        assert_string_equal(picker_at(&ui.picker)->name, "mam");
        scene_type(&ui, "/houlsby");
        scene_press(&ui, PRESS_BACKSPACE);
        scene_press(&ui, PRESS_ENTER);
        assert_true(m->count == 3 && !ui.picker.open && !ui.prompt.open);
        scene_type(&ui, "Pcompact");
        scene_press(&ui, PRESS_DOWN);
        scene_press(&ui, PRESS_DOWN); /* it is the last */
        assert_string_equal(picker_at(&ui.picker)->name, "compacter++");
        scene_press(&ui, PRESS_UP);
        scene_click(&ui, "compacter++"); /* the cursor comes first */
        scene_click(&ui, "compacter++");
        assert_true(ui.compose.facts.preset == preset_find("compacter++") && !ui.prompt.open);
        scene_type(&ui, "Pzzz");
        assert_true(scene_shows(&ui, "no matches"));
        scene_press(&ui, PRESS_ENTER);
        assert_true(ui.compose.facts.preset == preset_find("compacter++") && !ui.picker.open);
    }
    ui_release(&ui);
}

/* Axes and options are found by letters of their names or words of what they are. */
static void axes_and_options_are_found_by_typing(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "adapter-pfeiffer");
    struct compose_view *v = &ui.compose;
    for (int i = 0; i < 2; i++) {
        ui_resize(&ui, i ? 200 : 80, i ? 60 : 24);
        v->part = 0;
        compose_changed(v);
        scene_type(&ui, "/siz");
        assert_true(scene_shows(&ui, "Module"));
        scene_press(&ui, PRESS_ENTER);
        assert_true(v->part == 0 && v->axis == AXIS_SIZE && !ui.prompt.open);
        scene_type(&ui, "/war");
        scene_press(&ui, PRESS_ENTER);
        assert_true(compose_on_run(v));
        assert_string_equal(compose_option_name(v, v->option), "warmup");
        scene_type(&ui, "/max-len");
        scene_press(&ui, PRESS_ENTER);
        assert_string_equal(compose_option_name(v, v->option), "max-length");
        v->part = 0;
        compose_changed(v);
        scene_type(&ui, "/lr"); /* layers has these letters too, and comes before */
        scene_click(&ui, "layers ");
        scene_press(&ui, PRESS_DOWN);
        assert_string_not_equal(picker_at(&ui.picker)->name, "layers");
        scene_press(&ui, PRESS_BACKSPACE);
        scene_type(&ui, "r");
        scene_press(&ui, PRESS_ENTER);
        assert_string_equal(compose_option_name(v, v->option), "lr");
    }
    scene_method(&ui, "hyperformer");
    v->part = v->config.method.count;
    compose_changed(v);
    scene_type(&ui, "/hidden");
    scene_press(&ui, PRESS_ENTER);
    assert_string_equal(compose_network_key(v)->name, "hidden");
    ui_release(&ui);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_counts),
        cmocka_unit_test(a_choice_is_taken_and_undone),
        cmocka_unit_test(a_wrong_choice_says_why),
        cmocka_unit_test(every_walk_leaves_a_valid_point),
        cmocka_unit_test(stack_and_site_are_chosen),
        cmocka_unit_test(two_stacks_fit_any_window),
        cmocka_unit_test(learn_is_an_axis_over_episodes),
        cmocka_unit_test(one_stack_has_no_such_axes),
        cmocka_unit_test(a_range_counts_in_each_stack),
        cmocka_unit_test(each_labeled_field_is_an_axis),
        cmocka_unit_test(sizes_are_typed),
        cmocka_unit_test(modules_come_and_go),
        cmocka_unit_test(the_nearest_name),
        cmocka_unit_test(a_generator_is_a_part),
        cmocka_unit_test(a_retriever_is_a_part),
        cmocka_unit_test(modules_are_a_list),
        cmocka_unit_test(an_edit_goes_to_all_that_are_alike),
        cmocka_unit_test(every_module_can_be_seen),
        cmocka_unit_test(methods_are_found_by_typing),
        cmocka_unit_test(axes_and_options_are_found_by_typing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
