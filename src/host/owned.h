/*
 * host/owned: files and folders that nobody else can change.
 *
 * What a server does is decided by its configuration, by what that includes, and by the code that
 * it loads. Whoever may write one of these files, or the folder that it lies in, decides it as
 * well. So each belongs to root or to the user that the server runs as, and nobody else may write
 * it, nor a folder above. A folder where people can remove only what is theirs (/tmp) will do: what
 * they put there is theirs, and is refused.
 */
#ifndef NOD_HOST_OWNED_H
#define NOD_HOST_OWNED_H

#include <stdbool.h>

enum { OWNED_WHY_MAX = 1024 }; /* bytes of what is wrong with a file or a folder */

/* Of an open file, whose name is `path`, and of the folder that it lies in; also of the folder that
 * a link leads to. False: `why` says what is wrong, and what to do. */
bool owned_file(int fd, const char *path, char why[OWNED_WHY_MAX]);
/* Of a folder whose files are listed: others may not add to it, be it sticky or not. */
bool owned_folder(const char *path, char why[OWNED_WHY_MAX]);
/* A folder for what is this user's alone: made with mode 0700, with the folders above it, if it is
 * not there. */
bool owned_make(const char *path, char why[OWNED_WHY_MAX]);

#endif
