/*
 * host/plugin_file: the file of a plugin, as it is loaded.
 *
 * A plugin is loaded from a private copy. So its file can be overwritten while its code runs, and
 * the dynamic linker never takes a new file for the one that it has already. The copies are in a
 * folder of this process, which nobody else writes. What processes that are gone have left there is
 * removed.
 *
 * In the same place stands which plugin is being loaded just now. If the process dies meanwhile,
 * the next one finds that, and leaves the plugin out until its file changes.
 */
#ifndef NOD_HOST_PLUGIN_FILE_H
#define NOD_HOST_PLUGIN_FILE_H

#include "base/arena.h"
#include "crypto/digest.h"

enum {
    PLUGIN_FILE_MAX = 256 * 1024 * 1024, /* bytes of a plugin's file */
    PLUGIN_WHY_MAX = 6144,               /* bytes of why a plugin cannot be loaded */
};

/* Where the private copies of this process are. */
struct plugin_room;

/* In a folder of the server's own, which is made if it is not there. NULL: `why`. */
struct plugin_room *plugin_room_open(const char *folder, char why[PLUGIN_WHY_MAX]);
/* Removes its folder. NULL is fine. */
void plugin_room_close(struct plugin_room *room);

struct plugin_file {
    char *path; /* as the operator names it */
    char *copy; /* what is loaded */
    struct digest digest;
};

/* The digest of a file. False: `why`. */
bool plugin_file_look(const char *path, struct digest *digest, char why[PLUGIN_WHY_MAX]);
/* Copies a file that may be a plugin, and that nobody else may write (host/owned.h). False: `why`.
 */
bool plugin_file_take(struct plugin_room *room, const char *path, struct plugin_file *out,
                      char why[PLUGIN_WHY_MAX]);
/* Removes the copy. */
void plugin_file_drop(struct plugin_file *file);

/* Code of this file runs from now on. False: a process crashed when it did that with the same bytes,
 * or several have ended meanwhile; `why` says how to try it again. */
bool plugin_loading(struct plugin_room *room, const struct plugin_file *file,
                    char why[PLUGIN_WHY_MAX]);
/* In the handler of the signal: this thread crashes, maybe while it loads a file. */
void plugin_load_crashed(void);
/* It has not died. `whole`: and nothing of the file is left to run. */
void plugin_loaded(struct plugin_room *room, const struct plugin_file *file, bool whole);

/* Is in every copy of nod, so that a file with a copy of its own is told from one without. (host.c)
 */
extern const char plugin_nod_mark[];

#endif
