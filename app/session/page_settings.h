/* The settings of a stored run as the page of a run shows them. */
#ifndef APP_SESSION_PAGE_SETTINGS_H
#define APP_SESSION_PAGE_SETTINGS_H

#include "core/train/config/config.h"
#include "views/detail.h"

/* Lists the options that apply to a run, by group, those that Compose lists first in a group of their own.
 * Release with page_settings_release. */
int page_settings(const struct run_config *c, struct detail_setting **out);
void page_settings_release(struct detail_setting *setting, int settings);
/* Returns whether a member of a stored config is such an option. */
bool page_settings_have(const char *key);

#endif
