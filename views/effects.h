/* Effects that a screen requests from the app.  Screens only change their own state; every access to a
 * run, the store, a file or the terminal is an effect. */
#ifndef VIEWS_EFFECTS_H
#define VIEWS_EFFECTS_H

#include <stdbool.h>
#include <stdint.h>

enum effect_kind {
    EFFECT_NONE,
    EFFECT_TRAIN, /* queue the run of ui->compose and show Train */
    EFFECT_TRAIN_FIRST, /* copy the run of the first page to ui->compose, queue it, show Train */
    EFFECT_PAUSE, /* run[0]: pause if running, continue if paused */
    EFFECT_STOP, /* run[0]; `keep`: save a checkpoint, otherwise delete its files */
    EFFECT_RESUME, /* run[0…]: resume only */
    EFFECT_AGAIN, /* run[0…]: resume, or train the same config again */
    EFFECT_RESEED, /* run[0]: train the same config with the next seed */
    EFFECT_QUEUE, /* move run[0] by `by` places in the queue (-1 earlier) */
    EFFECT_TRASH, /* run[0…] */
    EFFECT_RESTORE, /* run[0…] */
    EFFECT_COLUMNS, /* set the columns of Runs to text, "": automatic */
    EFFECT_SAVED, /* list the saved filters: answered with runs_saved */
    EFFECT_SAVE, /* save (`keep`) or delete the filter in text */
    EFFECT_PIN, /* run[0…]: pin, or unpin if all are pinned */
    EFFECT_TAGS, /* text: tags, which replace those of one run or are added to several */
    EFFECT_NOTE, /* set the note of run[0] to text */
    EFFECT_NAME, /* name run[0], or the next run of Compose, text; "": remove the name */
    EFFECT_PURGE_COUNT, /* count what deleting run[0…] would delete: answered with runs_purge_ask */
    EFFECT_PURGE, /* delete run[0…] permanently; `by`: the typed number */
    EFFECT_UNDO, /* undo the last trash, restore or name */
    EFFECT_REDO,
    EFFECT_WATCH, /* load run[0] of any process into ui->train */
    EFFECT_FOCUS, /* fill ui->train's series for run[0] */
    EFFECT_BESIDE, /* overlay run[0…] on Train, the first in focus; none: a single run */
    EFFECT_OPEN_RUN, /* fill ui->detail for run[0] */
    EFFECT_SCORES, /* evaluate run[0] on its validation set, on its task `by`; answered with detail_scored */
    EFFECT_CLONE, /* put run[0]'s method and options into ui->compose */
    EFFECT_TRASH_VIEW, /* ui->runs.trash has changed: reload the rows */
    EFFECT_FILTER, /* ui->runs.filter has changed: reload the rows */
    EFFECT_BY_TASK, /* ui->runs.by_task has changed: reload the rows */
    EFFECT_ROWS, /* the data set of ui->compose may have changed: reload its facts */
    EFFECT_FOLDER, /* list the folder in text ("": the working folder) into ui->data.here */
    EFFECT_LOOK, /* inspect the file, task folder or list in text into ui->data.look, then call data_looked */
    EFFECT_IMPORT, /* read the data of ui->data.config into ui->data.read */
    EFFECT_OWN_ROWS, /* copy the data set of ui->data.config to Compose and show it */
    EFFECT_LIST_MODELS, /* fill the picker with models (ui_pick); answer: EFFECT_MODEL */
    EFFECT_LIST_TASKS,
    EFFECT_MODEL, /* use the model named in text */
    EFFECT_TASK, /* use the task named in text */
    EFFECT_METHOD_TEXT, /* parse text as a method into ui->compose, or report the error */
    EFFECT_START, /* measure the effect of the method of Compose at step 0 (compose_start) */
    EFFECT_METHOD_KEEP, /* save the method of Compose under the name in text; `by` < 0: delete that name */
    EFFECT_METHODS_OUT, /* export the saved methods to the file in text */
    EFFECT_METHODS_IN, /* import the methods of such a file */
    /* export the points of run[0] in the format in text (csv, json, markdown), or its model (hf) */
    EFFECT_EXPORT,
    EFFECT_COPY, /* copy text to the clipboard (term_copy) and show it */
    EFFECT_COPY_RUN, /* copy a text about run[0], by its name in text: command, resume, folder */
    EFFECT_SHELL, /* open a shell in the folder of run[0] */
    EFFECT_INSPECT, /* embed examples of run[0…1] (none: of the model); `keep`: matrices too; `by`: a task of
                     * several, from 0, or INSPECT_USUAL; text: tasks with further examples */
    EFFECT_SETS, /* show the embedding sets run[0…1] on Map */
    EFFECT_HEATMAP, /* compute the matrices; `by`: the example of Map for the attention, or -1 */
    EFFECT_ATTENTION_ROW, /* another example, layer or head of the attention, `by` -1 or 1 */
    EFFECT_ATTENTION_LAYER,
    EFFECT_ATTENTION_HEAD,
    EFFECT_MAP_TRAINING, /* play the embeddings recorded during training, or return to the layers */
    EFFECT_MAP_MOMENT, /* the previous or next of these, `by` -1 or 1 */
    EFFECT_MAP_PLAY, /* run or pause the layout */
    EFFECT_MAP_STEP, /* one iteration */
    EFFECT_MAP_REWIND, /* restart with the same seed */
    EFFECT_MAP_PERPLEXITY, /* previous or next perplexity, `by` -1 or 1 */
    /* show the pooled vectors of the run, or of the model, next to those of the retriever */
    EFFECT_MAP_BESIDE,
    EFFECT_MAP_SMALL, /* compute the layouts of all layers of the panel map_focus() */
    EFFECT_MAP_LAYER, /* move the panel map_focus() by `by` layers */
    EFFECT_COMPARE, /* compare run[0…] in ui->compare; text: the metric, "": the primary metric of each;
                     * `keep`: include runs on other examples */
    EFFECT_SWEEPS, /* load the list of sweeps and the page of run[0] (0: none) into ui->sweep */
    EFFECT_SWEEP_NEW, /* text: options with lists; record, open and start the sweep */
    EFFECT_SWEEP_GO, /* train the missing runs of sweep run[0] */
    EFFECT_SWEEP_STOP, /* ask all workers of sweep run[0] to stop */
    /* extend sweep run[0] by the seeds or options in text, then train the missing runs */
    EFFECT_SWEEP_EXTEND,
    EFFECT_PICTURE, /* write the screen to a file (`keep`: copy it); text: "svg", "png", "text", "ansi" */
    EFFECT_TABLE, /* write its table to a file (`keep`: copy it); text: "csv", "json", "markdown" */
    EFFECT_VERB, /* run the command line in text; output goes to ui->page, training becomes a
                    job */
    EFFECT_VERB_STOP, /* stop the running command */
    EFFECT_LESSONS, /* load the list of lessons into ui->learn */
    EFFECT_LESSON, /* open the lesson in text at its saved position */
    EFFECT_LESSON_CLOSE, /* save the position and show the list */
    EFFECT_LESSON_STEP, /* prepare the open lesson up to step `by`; `keep`: start its run; `by` < 0: restart
                           it */
    EFFECT_TALK, /* open run[0…] (none: the model of Compose) on Talk; `keep`: its base model too */
    EFFECT_TALK_SAY, /* answer the message in text; `keep`: it replaces the last one */
    EFFECT_TALK_AGAIN, /* answer the last message again */
    EFFECT_TALK_STOP, /* stop the answer */
    EFFECT_TALK_NEW, /* forget the messages */
    EFFECT_TALK_WRITE, /* write the chat to a file */
    EFFECT_SET, /* set a setting; text: name and value, "theme light" */
    EFFECT_SAVE_SETTINGS, /* write all settings to the file */
    EFFECT_MOUSE, /* ui->mouse has changed */
    EFFECT_QUIT, /* `keep`: runs continue without the screens, else stop them */
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
