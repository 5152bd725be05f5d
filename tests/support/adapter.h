/* Folders of adapters that other libraries wrote, tests/reference/adapters, and changed copies of them. */
#ifndef TESTS_SUPPORT_ADAPTER_H
#define TESTS_SUPPORT_ADAPTER_H

/* The path of a fixture; caller frees. */
char *adapter_folder(const char *name);
/* Copies the files of a folder into a new one, parent/name; caller frees the path. */
char *folder_copy(const char *from, const char *parent, const char *name);
/* The same of a model with one text of config.json replaced. */
char *model_copy(const char *model, const char *parent, const char *name, const char *from, const char *to);
/* Copies a fixture into a new folder below `parent` with one text of adapter_config.json replaced; fails the test where the config
 * does not have it.  Caller frees the path. */
char *adapter_copy(const char *parent, const char *name, const char *from, const char *to);

#endif
