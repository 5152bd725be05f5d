/* What a screen asks of the app.  Screens only change their own state; whatever touches a
 * run, the store, a file or the terminal goes through here. */
#ifndef VIEWS_EFFECTS_H
#define VIEWS_EFFECTS_H

#include <stdbool.h>
#include <stdint.h>

enum effect_kind {
    EFFECT_NONE,
    EFFECT_TRAIN, /* queue what ui->compose holds (method and options); then Train */
    EFFECT_TRAIN_FIRST, /* the first page's run: set ui->compose to it, queue it, show Train */
    EFFECT_PAUSE, /* run[0]: pause when it runs, go on when it is paused */
    EFFECT_STOP, /* run[0]; `keep`: with a checkpoint, otherwise what it wrote goes */
    EFFECT_RESUME, /* run[0…]: go on where it stopped, and nothing else */
    EFFECT_AGAIN, /* run[0…]: go on where it stopped, or the same config once more */
    EFFECT_RESEED, /* run[0]: the same config once more with the next seed */
    EFFECT_QUEUE, /* run[0] by `by` places in the queue (-1 earlier) */
    EFFECT_TRASH, /* run[0…] */
    EFFECT_RESTORE, /* run[0…] */
    EFFECT_COLUMNS, /* the columns of Runs are those in text, "": whatever there is a reason for */
    EFFECT_SAVED, /* the list of saved filters: answered with runs_saved */
    EFFECT_SAVE, /* the filter in text is saved (`keep`), or forgotten */
    EFFECT_PIN, /* run[0…]: pinned, or, where all are, no longer */
    EFFECT_TAGS, /* text: tags, of one run in place of its own, to several besides */
    EFFECT_NOTE, /* run[0]'s note is text */
    EFFECT_NAME, /* run[0] is called text, without one the next that Compose trains; "": nothing any more */
    EFFECT_PURGE_COUNT, /* what deleting run[0…] for good would delete: answered with runs_purge_ask */
    EFFECT_PURGE, /* run[0…] for good; `by`: how many, as typed */
    EFFECT_UNDO, /* the last trash, restore or name */
    EFFECT_REDO,
    EFFECT_WATCH, /* run[0] into ui->train, wherever and whenever it was trained */
    EFFECT_FOCUS, /* fill ui->train's series for run[0] */
    EFFECT_BESIDE, /* run[0…] over one another on Train, with the first in focus; none: one alone again */
    EFFECT_OPEN_RUN, /* fill ui->detail for run[0] */
    EFFECT_CLONE, /* put run[0]'s method and options into ui->compose */
    EFFECT_TRASH_VIEW, /* ui->runs.trash has changed: fill rows anew */
    EFFECT_FILTER, /* ui->runs.filter has changed: fill rows anew */
    EFFECT_BY_TASK, /* ui->runs.by_task has changed: fill rows anew */
    EFFECT_ROWS, /* ui->compose may have other rows: its facts about them anew */
    EFFECT_FOLDER, /* list the folder named in text ("": where the program is) into ui->data.here */
    EFFECT_LOOK, /* look at the file, task folder or list named in text, into ui->data.look; data_looked */
    EFFECT_IMPORT, /* read the rows of ui->data.config into ui->data.read */
    EFFECT_OWN_ROWS, /* the rows of ui->data.config into Compose, and show that */
    EFFECT_LIST_MODELS, /* fill the picker with models (ui_pick); answer: EFFECT_MODEL */
    EFFECT_LIST_TASKS,
    EFFECT_MODEL, /* use the model named in text */
    EFFECT_TASK, /* use the task named in text */
    EFFECT_METHOD_TEXT, /* parse text as a method into ui->compose, say why not */
    EFFECT_START, /* measure what Compose's method does at step 0 (compose_start) */
    EFFECT_METHOD_KEEP, /* keep Compose's method under the name in text; `by` < 0: forget that name */
    EFFECT_METHODS_OUT, /* the methods kept by name into the file named in text */
    EFFECT_METHODS_IN, /* those of such a file beside them */
    EFFECT_EXPORT, /* run[0]'s points in the form that text names, "csv", "json", "markdown"; or its model,
                      "hf" */
    EFFECT_COPY, /* text to the clipboard (term_copy); it is shown as well */
    EFFECT_INSPECT, /* rows of run[0…1] (none: of the model alone); `keep`: matrices too; `by`: of
                     * several tasks which one, from 0; INSPECT_USUAL; text: and rows of these tasks */
    EFFECT_SETS, /* kept sets run[0…1] on Map */
    EFFECT_HEATMAP, /* the matrices of what was inspected; `by`: row of Map whose attention, or -1 */
    EFFECT_ATTENTION_ROW, /* another row, layer or head of the attention, `by` -1 or 1 */
    EFFECT_ATTENTION_LAYER,
    EFFECT_ATTENTION_HEAD,
    EFFECT_MAP_TRAINING, /* what the runs kept while they trained is played, or the layers again */
    EFFECT_MAP_MOMENT, /* of these the one before or after, `by` -1 or 1 */
    EFFECT_MAP_PLAY, /* the layout runs, or stands still */
    EFFECT_MAP_STEP, /* one iteration */
    EFFECT_MAP_REWIND, /* from its start, same seed */
    EFFECT_MAP_PERPLEXITY, /* the next in its series, `by` -1 or 1 */
    EFFECT_MAP_BESIDE, /* beside a retriever's vectors the run's pooled ones, or the model's */
    EFFECT_MAP_LAYER, /* of the panel map_focus(): `by` layers on */
    EFFECT_COMPARE, /* run[0…] side by side into ui->compare; text: by this metric, "": what decided each;
                     * `keep`: on other rows too */
    EFFECT_SWEEPS, /* the list of sweeps, and run[0]'s page (0: none) into ui->sweep */
    EFFECT_SWEEP_NEW, /* text: options with lists; kept, opened and worked on */
    EFFECT_SWEEP_GO, /* what sweep run[0] lacks */
    EFFECT_SWEEP_STOP, /* all who work on sweep run[0] are asked to stop */
    EFFECT_SWEEP_EXTEND, /* sweep run[0] by the seeds or options in text; then what lacks */
    EFFECT_PICTURE, /* the screen as a file; text: "svg", "png", "text", "ansi" */
    EFFECT_TABLE, /* its table as one; text: "csv", "json", "markdown" */
    EFFECT_VERB, /* text: a line of the command line; what it prints comes to ui->page, what trains becomes a
                    job */
    EFFECT_VERB_STOP, /* the command that prints is stopped */
    EFFECT_LESSONS, /* the list of lessons into ui->learn */
    EFFECT_LESSON, /* open the lesson named in text, where it was left */
    EFFECT_LESSON_CLOSE, /* keep where it is, and show the list */
    EFFECT_LESSON_STEP, /* what the open lesson needs up to step `by`; `keep`: its run is begun; `by` < 0: it
                           begins anew */
    EFFECT_SET, /* text: a setting and its value, "theme light" */
    EFFECT_SAVE_SETTINGS, /* all as they are, to the file */
    EFFECT_MOUSE, /* ui->mouse has changed */
    EFFECT_QUIT, /* `keep`: running runs go on without a screen, else stop them */
    EFFECT_SUSPEND,
    EFFECT_REDRAW,
    EFFECT_KINDS
};

enum { EFFECT_TEXT = 2048, INSPECT_USUAL = -1 /* all tasks of a run with a retriever, else the first */ };

struct effect {
    enum effect_kind kind;
    const int64_t *run;   /* owned by the view, valid until the next key */
    int runs;
    int by;
    bool keep;
    char text[EFFECT_TEXT];
};

#endif
