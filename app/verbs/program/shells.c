#include "app/verbs/program/shells.h"

#include <string.h>

#include "app/verbs/values.h"
#include "core/base/mem.h"

/* Calls for each option of the verb that help lists, then for those of all. */
static void each_option(struct buf *b, const struct verb *v,
                        void (*add)(struct buf *b, const struct verb *v, const struct option_spec *o)) {
    const struct option_spec *lists[] = { v->options, args_common() };
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (const struct option_spec *o = lists[i]; o && o->name; o++)
            if (o->help) add(b, v, o);
}

/* Appends text for single quotes; `escaped`: characters that get a backslash. */
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

/* Returns the words to complete; *file: files too.  Releases `of`. */
static struct buf shells_words(struct values *of, bool *file) {
    struct buf words = BUF_INIT;
    values_known(of, &words);
    *file = of->kinds & VALUE_FILE;
    values_release(of);
    return words;
}

static struct buf option_words(const struct option_spec *o, bool *file) {
    struct values of;
    values_of_option(o, &of);
    return shells_words(&of, file);
}

static struct buf verb_words(const struct verb *v, bool *file) {
    struct values of;
    values_of_verb(v, &of);
    return shells_words(&of, file);
}

static void bash_value(struct buf *b, const struct verb *v, const struct option_spec *o) {
    bool file;
    if (!o->value) return;
    struct buf words = option_words(o, &file);
    buf_printf(b, "    %s:--%s) ", v->name, o->name);
    if (words.size) buf_printf(b, "words='%s' ", buf_text(&words));
    buf_puts(b, file ? "files=1 ;;\n" : words.size ? ";;\n" : "return ;;\n");
    buf_release(&words);
}

static void bash_positional(struct buf *b, const struct verb *v) {
    bool file;
    struct buf words = verb_words(v, &file);
    buf_printf(b, "    %s) ", v->name);
    if (words.size) buf_printf(b, "words='%s' ", buf_text(&words));
    buf_puts(b, file ? "files=1 ;;\n" : ";;\n");
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

/* Options before a verb that take a value. */
static void bash_takes_word(struct buf *b, const struct verb *v, const struct option_spec *o) {
    (void)v;
    if (o->value) buf_printf(b, " --%s ", o->name);
}

void shells_bash(struct buf *b) {
    buf_puts(
        b,
        "# petri: completion for bash; written by petri help --completion bash\n"
        "_petri() {\n"
        "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb='' words='' files='' i\n"
        "  COMPREPLY=()\n"
        "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "    [[ '");
    each_option(b, verb_alone(), bash_takes_word);
    buf_puts(b, "' == *\" ${COMP_WORDS[i]} \"* ]] && { ((i++)); continue; }\n"
                "    [[ ${COMP_WORDS[i]} != -* ]] && { verb=${COMP_WORDS[i]}; break; }\n"
                "  done\n"
                "  case $verb:$prev in\n");
    bash_values_of(b, verb_alone());
    each_verb(b, bash_values_of);
    buf_puts(b, "    :*) if [[ $cur == -* ]]; then words='--version");
    each_option(b, verb_alone(), bash_option);
    buf_puts(b, "'; else words='");
    values_known(&(struct values){ .kinds = VALUE_VERB }, b);
    buf_puts(b, "'; fi ;;\n"
                "    *) if [[ $cur == -* ]]; then case $verb in\n");
    each_verb(b, bash_options_of);
    buf_puts(b, "    esac; else case $verb in\n");
    each_verb(b, bash_positional);
    buf_puts(b, "    esac; fi ;;\n"
                "  esac\n"
                "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\"; [[ $files ]] && compgen -f -- "
                "\"$cur\")\n"
                "  [[ ! $files ]] || compopt -o filenames 2>/dev/null\n"
                "  return 0\n"
                "}\n"
                "complete -F _petri petri\n");
}

/* ---- zsh ---- */

/* Both words and files where there are both. */
static void zsh_words(struct buf *b, const struct buf *words, bool file) {
    if (words->size && file) buf_printf(b, ":{ compadd -- %s; _files }", buf_text(words));
    else if (words->size) buf_printf(b, ":(%s)", buf_text(words));
    else buf_puts(b, file ? ":_files" : ": ");
}

static void zsh_option(struct buf *b, const struct verb *v, const struct option_spec *o) {
    (void)v;
    bool file;
    struct buf words = option_words(o, &file);
    buf_printf(b, " \\\n      '--%s[", o->name);
    shell_quoted(b, o->help, "[]:\\");
    buf_putc(b, ']');
    if (o->value) {
        buf_putc(b, ':');
        shell_quoted(b, o->value, "[]:\\");
        zsh_words(b, &words, file);
    }
    buf_putc(b, '\'');
    buf_release(&words);
}

static void zsh_verb(struct buf *b, const struct verb *v) {
    bool file;
    struct buf words = verb_words(v, &file);
    buf_printf(b, "    %s) _arguments", v->name);
    each_option(b, v, zsh_option);
    buf_puts(b, " \\\n      '*: ");
    zsh_words(b, &words, file);
    buf_puts(b, "' ;;\n");
    buf_release(&words);
}

static void zsh_described(struct buf *b, const struct verb *v) {
    buf_printf(b, "    '%s:", v->name);
    shell_quoted(b, v->help, ":\\");
    buf_puts(b, "'\n");
}

void shells_zsh(struct buf *b) {
    buf_puts(b, "#compdef petri\n"
                "# petri: completion for zsh; written by petri help --completion zsh\n"
                "_petri() {\n"
                "  local curcontext=\"$curcontext\" state line\n"
                "  local -a verbs\n"
                "  verbs=(\n");
    each_verb(b, zsh_described);
    buf_puts(b, "  )\n"
                "  _arguments -C '--version[print the version]'");
    each_option(b, verb_alone(), zsh_option);
    buf_puts(b, " '1: :->verb' '*:: :->rest'\n"
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
    bool file;
    struct buf words = option_words(o, &file);
    if (*v->name)
        buf_printf(b, "complete -c petri -n '__fish_seen_subcommand_from %s' -l %s", v->name, o->name);
    else buf_printf(b, "complete -c petri -n __fish_use_subcommand -l %s", o->name);
    if (o->value) buf_puts(b, file ? " -rF" : " -x");
    if (words.size) buf_printf(b, " -a '%s'", buf_text(&words));
    buf_puts(b, " -d '");
    fish_quoted(b, o->help);
    buf_puts(b, "'\n");
    buf_release(&words);
}

static void fish_verb(struct buf *b, const struct verb *v) {
    bool file;
    struct buf words = verb_words(v, &file);
    buf_printf(b, "complete -c petri -n __fish_use_subcommand -a %s -d '", v->name);
    fish_quoted(b, v->help);
    buf_puts(b, "'\n");
    if (file) buf_printf(b, "complete -c petri -n '__fish_seen_subcommand_from %s' -F\n", v->name);
    if (words.size)
        buf_printf(b, "complete -c petri -n '__fish_seen_subcommand_from %s' -a '%s'\n", v->name,
                   buf_text(&words));
    each_option(b, v, fish_option);
    buf_release(&words);
}

void shells_fish(struct buf *b) {
    buf_puts(b, "# petri: completion for fish; written by petri help --completion fish\n"
                "complete -c petri -f\n");
    each_option(b, verb_alone(), fish_option);
    each_verb(b, fish_verb);
}
