/* Commands, options and links of README.md, SPEED.md and docs/: they exist, and those marked `sh run` run. */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/verbs/args.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/space.h"
#include "tests/support/test.h"

enum { PAGES = 64 };
static struct {
    char *name, *text; /* name: from the root */
} pages[PAGES];
static int page_count;

static void add_page(char *name) {
    BUG_IF(page_count == PAGES);
    pages[page_count].name = name;
    pages[page_count++].text = test_text(test_root(), name);
}

static int read_pages(void **state) {
    (void)state;
    char *folder = test_path("docs");
    DIR *d = opendir(folder);
    add_page(xstrdup("README.md"));
    add_page(xstrdup("SPEED.md"));
    for (struct dirent *f; (f = readdir(d));)
        if (text_ends(f->d_name, ".md")) add_page(xprintf("docs/%s", f->d_name));
    closedir(d);
    free(folder);
    return 0;
}

static int drop_pages(void **state) {
    (void)state;
    for (int i = 0; i < page_count; i++) free(pages[i].name), free(pages[i].text);
    return 0;
}

static bool is_option(const struct option_spec *o, const char *name) {
    for (; o && o->name; o++)
        if (!strcmp(o->name, name)) return true;
    return false;
}

/* Whether the verb, or petri alone or any verb (NULL), has this option. */
static bool has_option(const struct verb *v, const char *name) {
    if (is_option(args_common(), name)) return true;
    if (v) return is_option(v->options, name);
    for (size_t i = 0; (v = verb_at(i)); i++)
        if (is_option(v->options, name)) return true;
    return is_option(verb_alone()->options, name) || !strcmp(name, "version") ||
           !strcmp(name, "cpus-per-task"); /* Slurm's */
}

/* Returns the verb that a command starts with, after "$ " and petri's own name (alone: also without it), or NULL. */
static const struct verb *verb_of(const char *command, bool alone) {
    if (text_starts(command, "$ ")) command += 2;
    if (text_starts(command, "./")) command += 2;
    bool named = text_starts(command, "petri ");
    if (!named && !alone) return NULL;
    if (named) command += strlen("petri ");
    size_t n = strspn(command, "abcdefghijklmnopqrstuvwxyz-");
    char *name = xstrndup(command, n);
    const struct verb *v = command[n] && command[n] != ' ' ? NULL : verb_find(name);
    free(name);
    return v;
}

/* Fails for each "--name" of a command that the verb does not have. */
static void check_options(const char *page, const char *command, const struct verb *verb) {
    for (const char *at = command; (at = strstr(at, "--")); at += 2) {
        size_t n = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz0123456789-");
        if (!islower(at[2]) || (at > command && !strchr(" [(|`", at[-1]))) continue;
        char *name = xstrndup(at + 2, n);
        if (!has_option(verb, name)) fail_msg("%s: no option --%s: %s", page, name, command);
        free(name);
    }
}

/* Fails for a method in quotes that cannot be read; lists of a sweep and runs of a database are left out. */
static void check_method_text(const char *page, const char *command) {
    for (const char *at = command; (at = strstr(at, "--method '")); at++) {
        const char *from = at + strlen("--method '");
        char *text = xstrndup(from, strcspn(from, "'"));
        struct method m;
        struct err e = ERR_INIT;
        if (!strpbrk(text, "{|") && method_parse(text, &m, &e)) fail_msg("%s: %s: %s", page, text, e.text);
        free(text);
    }
}

/* Calls `check` for each command line and for each text in backquotes outside of fences. */
static void each_command(const char *page, const char *text, void (*check)(const char *page, const char *command, bool line)) {
    char *copy = xstrdup(text), *rest = copy;
    bool fenced = false;
    for (char *p = copy; (p = strstr(p, "\\\n"));) p[0] = p[1] = ' ';
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (text_starts(line, "```")) fenced = !fenced;
        if (fenced || text_starts(line, "    ")) {
            char *comment = strstr(line, " # ");
            if (comment) *comment = '\0';
            check(page, line + strspn(line, " "), true);
            continue;
        }
        for (char *from = line, *to; (from = strchr(from, '`')) && (to = strchr(from + 1, '`')); from = to + 1) {
            *to = '\0';
            check(page, from + 1, false);
        }
    }
    free(copy);
}

static void check_command(const char *page, const char *command, bool line) {
    const struct verb *verb = verb_of(command, !line);
    bool petri = text_starts(command, "petri ") || text_starts(command, "./petri ") || (!line && text_starts(command, "--"));
    if (verb || petri) check_options(page, command, verb), check_method_text(page, command);
}

static void commands_have_their_options(void **state) {
    (void)state;
    for (int i = 0; i < page_count; i++) /* pages of claims have the commands of their runs, in the spelling of that time */
        if (!text_starts(pages[i].name, "docs/claims-")) each_command(pages[i].name, pages[i].text, check_command);
    assert_true(page_count > 25);
}

static void every_option_has_a_page(void **state) {
    (void)state;
    const struct verb *v;
    for (size_t i = 0; (v = verb_at(i)); i++)
        for (const struct option_spec *o = v->options; o && o->name; o++) {
            char *name = xprintf("--%s", o->name);
            size_t n = strlen(name);
            bool found = false;
            for (int k = 0; k < page_count && !found; k++)
                for (const char *at = pages[k].text; !found && (at = strstr(at, name)); at += n)
                    found = !isalnum(at[n]) && at[n] != '-';
            if (!found) fail_msg("no page has %s of petri %s", name, v->name);
            free(name);
        }
}

static void every_verb_is_in_the_readme(void **state) {
    (void)state;
    const char *readme = pages[0].text;
    const struct verb *v;
    for (size_t i = 0; (v = verb_at(i)); i++) {
        char *alone = xprintf("`%s`", v->name), *first = xprintf("`%s ", v->name);
        if (!strstr(readme, alone) && !strstr(readme, first)) fail_msg("README.md does not name %s", v->name);
        free(alone);
        free(first);
    }
}

/* Whether root/FOLDER OF PAGE/target is there, without what follows '#'. */
static bool link_leads(const char *page, const char *target) {
    const char *slash = strrchr(page, '/');
    char *path = xprintf("%s/%.*s%.*s", test_root(), slash ? (int)(slash + 1 - page) : 0, page, (int)strcspn(target, "#"), target);
    bool there = !access(path, F_OK);
    free(path);
    return there;
}

static void links_lead_somewhere(void **state) {
    (void)state;
    char *index = test_text(test_root(), "docs/README.md");
    for (int i = 0; i < page_count; i++) {
        for (const char *at = pages[i].text; (at = strstr(at, "](")); at += 2) {
            char *target = xstrndup(at + 2, strcspn(at + 2, ")"));
            if (!strstr(target, "://") && *target != '#' && !link_leads(pages[i].name, target))
                fail_msg("%s: %s is not there", pages[i].name, target);
            free(target);
        }
        for (const char *at = pages[i].text; (at = strstr(at, "`docs/")); at += 6) {
            char *target = xstrndup(at + 1, strcspn(at + 1, "`"));
            if (!link_leads("README.md", target)) fail_msg("%s: %s is not there", pages[i].name, target);
            free(target);
        }
        char *listed = xprintf("](%s)", pages[i].name + strlen("docs/"));
        if (text_starts(pages[i].name, "docs/") && strcmp(pages[i].name, "docs/README.md") && !strstr(index, listed))
            fail_msg("docs/README.md does not list %s", pages[i].name);
        free(listed);
    }
    free(index);
}

/* Files and folders of the source that a page names in backquotes exist, and README.md has a row for each folder with C files. */
static void named_sources_exist(void **state) {
    (void)state;
    static const char *const rooms[] = { "core/", "store/", "views/", "app/", "tests/" };
    for (int i = 0; i < page_count; i++)
        for (const char *at = pages[i].text; (at = strchr(at, '`')); at++)
            for (size_t r = 0; r < COUNT_OF(rooms); r++) {
                size_t n = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789_-./");
                if (!text_starts(at + 1, rooms[r]) || at[n + 1] != '`') continue;
                char *path = xstrndup(at + 1, n);
                if (!link_leads("README.md", path)) fail_msg("%s: %s is not there", pages[i].name, path);
                free(path);
            }
    FILE *f = popen("cd \"${PETRI_ROOT:-.}\" && ls core/*/*.c core/*/*/*.c store/*.c views/*.c app/*/*.c app/*/*/*.c |"
                    " sed 's|[^/]*$||' | sort -u", "r");
    char folder[256];
    int folders = 0;
    for (; f && fgets(folder, sizeof folder, f); folders++) {
        folder[strcspn(folder, "\n")] = '\0';
        char *row = xprintf("\n| `%s` |", folder);
        if (!strstr(pages[0].text, row)) fail_msg("README.md has no row of %s", folder);
        free(row);
    }
    if (f) pclose(f);
    assert_true(folders > 20);
}

/* A folder with the program and with the model and tasks that are part of the project, and nothing else. */
static char *fresh_folder(void) {
    static const char *const parts[] = { "models/petri-mini", "tasks/sections", "tasks/games-sound", "tasks/admin-net",
                                         "tasks/science-text", "lessons", "experiments" };
    char *folder = test_folder(), *program = file_join(folder, "petri");
    const char *from = getenv("PETRI_BIN");
    char *line = xprintf("cp '%s' '%s' && mkdir -p '%s/assets/models' '%s/assets/tasks'", from ? from : "./petri", program,
                         folder, folder);
    assert_int_equal(system(line), 0);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        char *inside = xprintf("assets/%s", parts[i]), *to = file_join(folder, inside), *whole = test_path(inside);
        assert_int_equal(symlink(whole, to), 0);
        free(inside), free(to), free(whole);
    }
    free(line);
    free(program);
    return folder;
}

/* Each page's blocks in one folder and with one database of their own, as somebody would type them. */
static void marked_blocks_run(void **state) {
    (void)state;
    int ran = 0;
    if (TEST_PATIENCE > 1) test_skip("other tests run these verbs with a sanitizer");
    for (int i = 0; i < page_count; i++) {
        struct buf script = BUF_INIT;
        for (const char *at = pages[i].text; (at = strstr(at, "```sh run\n"));) {
            at += strlen("```sh run\n");
            const char *end = strstr(at, "```");
            assert_non_null(end);
            buf_add(&script, at, (size_t)(end - at));
            at = end + 3;
            ran++;
        }
        if (script.size) {
            char *folder = fresh_folder();
            test_put(folder, "script", buf_text(&script));
            char *line = xprintf("cd '%s' && unset XDG_DATA_HOME XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME && "
                                 "HOME=\"$PWD\" PATH=\"$PWD:$PATH\" exec bash -eu script >out 2>&1", folder);
            if (system(line)) {
                char *out = test_text(folder, "out");
                size_t n = strlen(out);
                fail_msg("%s: %s", pages[i].name, out + (n > 1500 ? n - 1500 : 0));
            }
            free(line);
            free(folder);
        }
        buf_release(&script);
    }
    assert_true(ran > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_have_their_options), cmocka_unit_test(every_option_has_a_page),
        cmocka_unit_test(every_verb_is_in_the_readme), cmocka_unit_test(links_lead_somewhere),
        cmocka_unit_test(named_sources_exist),         cmocka_unit_test(marked_blocks_run),
    };
    return cmocka_run_group_tests_name("docs", tests, read_pages, drop_pages);
}
