/*
 * host/config: the configuration of `nod serve`, a file and what it includes.
 *
 *     [server]
 *     # Every option of the command line, without its dashes.
 *     ask-ttl = 1d
 *     # Further files, relative to this one; *.ini are all of a folder.
 *     include = more.ini
 *
 *     # A service, as in the file of --oauth.
 *     [oauth github]
 *     # The settings of a plugin.
 *     [plugin github]
 *
 * It is read in two steps. config_read takes the lines of all files apart (settings_file.h), and
 * says what is wrong with their form, whoever else may have written them, and what they include.
 * config_apply gives [server] to the settings, which know its keys. The sections of plugins are
 * handed out as they stand. Neither step touches anything but what it returns: a running server can
 * read a new configuration, look at it, and leave it.
 *
 * A section may stand in several files, a key of it in one of them, unless it may be given several
 * times. These are taken in the order of the lines, with an included file in the place of its line.
 *
 * Holds always: the text of each file was read once, through a descriptor whose owner and mode were
 * looked at, and every value knows its file and its line.
 */
#ifndef NOD_HOST_CONFIG_H
#define NOD_HOST_CONFIG_H

#include "host/settings.h"
#include "host/settings_file.h"

enum {
    CONFIG_FILES_MAX = 64,      /* files of a configuration */
    CONFIG_DEPTH_MAX = 8,       /* files that include each other, one within the other */
    CONFIG_SECTIONS_MAX = 256,  /* sections of all files */
    CONFIG_VALUES_MAX = 16384,  /* keys of all files */
    CONFIG_TEXT_MAX = 16 << 20, /* bytes of all of it, taken apart */
};

struct config;

/* NULL: `problem` says what is wrong, as "FILE:LINE: sentence" or "FILE: sentence". */
struct config *config_read(const char *file, char problem[SETTINGS_PROBLEM_MAX]);
/* Places and values point into it. NULL is fine. */
void config_destroy(struct config *config);

/* What [server] says. False: settings->wrong says why. */
bool config_apply(const struct config *config, struct settings *settings);

/* The files, the first one first; NULL behind the last. NULL as a configuration has none. */
const char *config_file(const struct config *config, size_t at);
/* The sections of a kind ("oauth", "plugin"), in the order of their lines; NULL behind the last. */
const struct config_section *config_section(const struct config *config, struct str kind,
                                            size_t at);
/* [plugin NAME], or NULL. Its `required` is no value of it. */
const struct config_section *config_plugin(const struct config *config, struct str name);

/* A name of a file that stands in `file`: if it is relative, it is so to the folder of that. */
struct str config_path(struct arena *arena, const char *file, struct str path);

#endif
