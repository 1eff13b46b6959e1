/*
 * host/trusted: files that decide what a server does: its configuration, and its plugins.
 *
 * Whoever can write such a file, or put another one in its place, decides for the server. So the
 * file and its folder belong to root or to the user the server runs as, and nobody else may write
 * there. The folders above may be written by others only where they are sticky, as /tmp is.
 */
#ifndef NOD_HOST_TRUSTED_H
#define NOD_HOST_TRUSTED_H

#include <stdbool.h>

enum { TRUSTED_WHY_MAX = 512 }; /* bytes of why a file is not trusted */

/* An open, regular file that is trusted, and so is its folder. -1: `why` is a sentence that says
 * what to do about it, or that there is no such file. */
int trusted_open(const char *path, char why[TRUSTED_WHY_MAX]);
/* Is this a folder in which files are trusted? */
bool trusted_folder(const char *path, char why[TRUSTED_WHY_MAX]);

#endif
