#include "app/verbs/shells.h"

#include <string.h>

#include "app/verbs/args.h"
#include "core/base/mem.h"
#include "core/method/space.h"

/* ---- what stands behind a word ---- */

bool shells_takes_file(const char *placeholder) {
    static const char *const parts[] = { "FILE", "DIR", "FOLDER", "PATH", "FROM", ".json", ".md" };
    for (size_t i = 0; placeholder && i < COUNT_OF(parts); i++)
        if (strstr(placeholder, parts[i])) return true;
    return false;
}

static void add_presets(struct buf *b) {
    for (int i = 0; i < preset_count(); i++) buf_printf(b, "%s%s", i ? " " : "", preset_at(i)->name);
}

/* The words that an option takes, with blanks between: those of its placeholder that are no capitals. */
static void add_choices(struct buf *b, const struct option_spec *o) {
    const char *between = "";
    if (!strcmp(o->name, "method")) add_presets(b);
    for (const char *at = o->value; at && *at && strcmp(o->name, "method"); at += at[0] == '|') {
        size_t n = strcspn(at, "|");
        if (strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789-") == n) {
            buf_printf(b, "%s%.*s", between, (int)n, at);
            between = " ";
        }
        at += n;
    }
}

struct buf shells_choices(const struct option_spec *o) {
    struct buf b = BUF_INIT;
    add_choices(&b, o);
    return b;
}

static void verb_names(struct buf *b) {
    const struct verb *v;
    for (size_t i = 0; (v = verb_at(i)); i++) buf_printf(b, "%s%s", i ? " " : "", v->name);
}

/* What may stand beside the options. */
static void positional_words(struct buf *b, const struct verb *v) {
    if (!strcmp(v->name, "help")) verb_names(b);
    if (!strcmp(v->name, "explain")) add_presets(b);
}

/* Calls for each option of the verb that help lists, then for those of all. */
static void each_option(struct buf *b, const struct verb *v,
                        void (*add)(struct buf *b, const struct verb *v, const struct option_spec *o)) {
    const struct option_spec *lists[] = { v->options, args_common() };
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (const struct option_spec *o = lists[i]; o && o->name; o++)
            if (o->help) add(b, v, o);
}

/* Text in single quotes; `escaped`: characters that get a backslash. */
static void shell_quoted(struct buf *b, const char *s, const char *escaped) {
    for (; *s; s++) {
        if (*s == '\'') {
            buf_puts(b, "'\\''");
            continue;
        }
        if (strchr(escaped, *s)) buf_putc(b, '\\');
        buf_putc(b, *s);
    }
}

/* ---- bash ---- */

static void bash_option(struct buf *b, const struct verb *v, const struct option_spec *o) {
    (void)v;
    buf_printf(b, " --%s", o->name);
}

static void bash_value(struct buf *b, const struct verb *v, const struct option_spec *o) {
    struct buf words = shells_choices(o);
    if (o->value && shells_takes_file(o->value)) buf_printf(b, "    %s:--%s) files=1 ;;\n", v->name, o->name);
    else if (words.size) buf_printf(b, "    %s:--%s) words='%s' ;;\n", v->name, o->name, buf_text(&words));
    else if (o->value) buf_printf(b, "    %s:--%s) return ;;\n", v->name, o->name);
    buf_release(&words);
}

static void bash_positional(struct buf *b, const struct verb *v) {
    struct buf words = BUF_INIT;
    positional_words(&words, v);
    buf_printf(b, "    %s) ", v->name);
    if (words.size) buf_printf(b, "words='%s' ", buf_text(&words));
    buf_puts(b, shells_takes_file(v->synopsis) ? "files=1 ;;\n" : ";;\n");
    buf_release(&words);
}

static void bash_options_of(struct buf *b, const struct verb *v) {
    buf_printf(b, "    %s) words='", v->name);
    each_option(b, v, bash_option);
    buf_puts(b, "' ;;\n");
}

static void each_verb(struct buf *b, void (*add)(struct buf *b, const struct verb *v)) {
    const struct verb *v;
    for (size_t i = 0; (v = verb_at(i)); i++) add(b, v);
}

static void bash_values_of(struct buf *b, const struct verb *v) { each_option(b, v, bash_value); }

void shells_bash(struct buf *b) {
    buf_puts(b, "# petri: completion for bash; made by petri help --completion bash\n"
                "_petri() {\n"
                "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb='' words='' files='' i\n"
                "  COMPREPLY=()\n"
                "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
                "    [[ ${COMP_WORDS[i]} == --db ]] && { ((i++)); continue; }\n"
                "    [[ ${COMP_WORDS[i]} != -* ]] && { verb=${COMP_WORDS[i]}; break; }\n"
                "  done\n"
                "  [[ $prev == --db ]] && verb=help # everywhere a file\n"
                "  case $verb:$prev in\n");
    each_verb(b, bash_values_of);
    buf_puts(b, "    :*) if [[ $cur == -* ]]; then words='--db --help --json --version'; else words='");
    verb_names(b);
    buf_puts(b, "'; fi ;;\n"
                "    *) if [[ $cur == -* ]]; then case $verb in\n");
    each_verb(b, bash_options_of);
    buf_puts(b, "    esac; else case $verb in\n");
    each_verb(b, bash_positional);
    buf_puts(b, "    esac; fi ;;\n"
                "  esac\n"
                "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\"; [[ $files ]] && compgen -f -- \"$cur\")\n"
                "  [[ ! $files ]] || compopt -o filenames 2>/dev/null\n"
                "  return 0\n"
                "}\n"
                "complete -F _petri petri\n");
}

/* ---- zsh ---- */

static void zsh_option(struct buf *b, const struct verb *v, const struct option_spec *o) {
    (void)v;
    struct buf words = shells_choices(o);
    buf_printf(b, " \\\n      '--%s[", o->name);
    shell_quoted(b, o->help, "[]:\\");
    buf_putc(b, ']');
    if (o->value) {
        buf_putc(b, ':');
        shell_quoted(b, o->value, "[]:\\");
        if (shells_takes_file(o->value)) buf_puts(b, ":_files");
        else if (words.size) buf_printf(b, ":(%s)", buf_text(&words));
        else buf_puts(b, ": ");
    }
    buf_putc(b, '\'');
    buf_release(&words);
}

static void zsh_verb(struct buf *b, const struct verb *v) {
    struct buf words = BUF_INIT;
    positional_words(&words, v);
    buf_printf(b, "    %s) _arguments", v->name);
    each_option(b, v, zsh_option);
    if (words.size) buf_printf(b, " \\\n      '*: :(%s)'", buf_text(&words));
    else buf_puts(b, shells_takes_file(v->synopsis) ? " \\\n      '*: :_files'" : " \\\n      '*: : '");
    buf_puts(b, " ;;\n");
    buf_release(&words);
}

static void zsh_described(struct buf *b, const struct verb *v) {
    buf_printf(b, "    '%s:", v->name);
    shell_quoted(b, v->help, ":\\");
    buf_puts(b, "'\n");
}

void shells_zsh(struct buf *b) {
    buf_puts(b, "#compdef petri\n"
                "# petri: completion for zsh; made by petri help --completion zsh\n"
                "_petri() {\n"
                "  local curcontext=\"$curcontext\" state line\n"
                "  local -a verbs\n"
                "  verbs=(\n");
    each_verb(b, zsh_described);
    buf_puts(b, "  )\n"
                "  _arguments -C '--version[the version]' '1: :->verb' '*:: :->rest'\n"
                "  case $state in\n"
                "  verb) _describe -t verbs verb verbs ;;\n"
                "  rest) case $words[1] in\n");
    each_verb(b, zsh_verb);
    buf_puts(b, "    esac ;;\n"
                "  esac\n"
                "}\n"
                "_petri \"$@\"\n");
}

/* ---- fish ---- */

/* Text for single quotes: fish knows a backslash in them. */
static void fish_quoted(struct buf *b, const char *s) {
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\') buf_putc(b, '\\');
        buf_putc(b, *s);
    }
}

static void fish_option(struct buf *b, const struct verb *v, const struct option_spec *o) {
    struct buf words = shells_choices(o);
    buf_printf(b, "complete -c petri -n '__fish_seen_subcommand_from %s' -l %s", v->name, o->name);
    if (o->value) buf_puts(b, shells_takes_file(o->value) ? " -rF" : " -x");
    if (words.size) buf_printf(b, " -a '%s'", buf_text(&words));
    buf_puts(b, " -d '");
    fish_quoted(b, o->help);
    buf_puts(b, "'\n");
    buf_release(&words);
}

static void fish_verb(struct buf *b, const struct verb *v) {
    struct buf words = BUF_INIT;
    positional_words(&words, v);
    buf_printf(b, "complete -c petri -n __fish_use_subcommand -a %s -d '", v->name);
    fish_quoted(b, v->help);
    buf_puts(b, "'\n");
    if (shells_takes_file(v->synopsis)) buf_printf(b, "complete -c petri -n '__fish_seen_subcommand_from %s' -F\n", v->name);
    if (words.size)
        buf_printf(b, "complete -c petri -n '__fish_seen_subcommand_from %s' -a '%s'\n", v->name, buf_text(&words));
    each_option(b, v, fish_option);
    buf_release(&words);
}

void shells_fish(struct buf *b) {
    buf_puts(b, "# petri: completion for fish; made by petri help --completion fish\n"
                "complete -c petri -f\n");
    each_verb(b, fish_verb);
}
