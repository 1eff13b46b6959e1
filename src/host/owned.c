/*
 * host/owned: see owned.h.
 */
#include "host/owned.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH "%.400s" /* there is room for two of them, and for what is said */

enum { OTHERS_WRITE = S_IWGRP | S_IWOTH };

static bool not_owned(char *why, const char *path, const char *what)
{
    snprintf(why, OWNED_WHY_MAX, PATH ": %s", path, what);
    return false;
}

/* `sticky`: it counts for a folder that nobody can move what others own there. */
static bool is_owned(const struct stat *about, const char *path, bool sticky, char *why)
{
    const char *kind = S_ISDIR(about->st_mode) ? "folder" : "file";

    if (about->st_uid != 0 && about->st_uid != geteuid()) {
        snprintf(
            why, OWNED_WHY_MAX,
            PATH
            ": this %s belongs to another user (uid %u), who could change what this "
            "server does; it has to belong to root or to the user of the server (uid %u): chown it",
            path, kind, (unsigned)about->st_uid, (unsigned)geteuid());
        return false;
    }
    if (!(about->st_mode & OTHERS_WRITE) || (sticky && about->st_mode & S_ISVTX))
        return true;
    snprintf(why, OWNED_WHY_MAX,
             PATH ": others may write this %s (mode %04o), and so change what this server does: "
                  "chmod go-w " PATH,
             path, kind, (unsigned)(about->st_mode & 07777), path);
    return false;
}

/* A folder above may be written by others where it is sticky. */
static bool above_is_owned(const char *path, char *why)
{
    char real[PATH_MAX];
    struct stat about;

    if (!realpath(path, real))
        return not_owned(why, path, strerror(errno));
    for (char *slash = strrchr(real, '/'); slash; slash = strrchr(real, '/')) {
        *slash = '\0';
        const char *folder = *real ? real : "/";
        if (stat(folder, &about) != 0)
            return not_owned(why, folder, strerror(errno));
        if (!is_owned(&about, folder, true, why))
            return false;
    }
    return true;
}

static bool folder_stands(const char *path, struct stat *about, char *why)
{
    if (stat(path, about) != 0)
        return not_owned(why, path, strerror(errno));
    if (!S_ISDIR(about->st_mode))
        return not_owned(why, path, "it is no folder");
    return above_is_owned(path, why);
}

bool owned_folder(const char *path, char why[OWNED_WHY_MAX])
{
    struct stat about;

    if (!folder_stands(path, &about, why))
        return false;
    return is_owned(&about, path, false, why); /* others could add files */
}

/* The folder of a name. */
static bool folder_is_owned(const char *path, char *why)
{
    char folder[PATH_MAX];
    struct stat about;
    const char *slash = strrchr(path, '/');
    int len = slash == path ? 1 : slash ? (int)(slash - path) : 1;

    if (snprintf(folder, sizeof(folder), "%.*s", len, slash ? path : ".") >= (int)sizeof(folder))
        return not_owned(why, path, "its name is too long");
    return folder_stands(folder, &about, why) && is_owned(&about, folder, true, why);
}

bool owned_file(int fd, const char *path, char why[OWNED_WHY_MAX])
{
    char real[PATH_MAX];
    struct stat about;

    if (fstat(fd, &about) != 0)
        return not_owned(why, path, strerror(errno));
    return is_owned(&about, path, false, why) && folder_is_owned(path, why) &&
           (!realpath(path, real) || folder_is_owned(real, why));
}

/* --- folders of its own --- */

static bool make_above(char *path)
{
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        bool there = mkdir(path, 0700) == 0 || errno == EEXIST || access(path, F_OK) == 0;
        *at = '/';
        if (!there)
            return false;
    }
    return true;
}

bool owned_make(const char *path, char why[OWNED_WHY_MAX])
{
    char folder[PATH_MAX];
    struct stat about;

    if (snprintf(folder, sizeof(folder), "%s", path) >= (int)sizeof(folder))
        return not_owned(why, path, "its name is too long");
    if (!make_above(folder) || (mkdir(path, 0700) != 0 && errno != EEXIST)) {
        snprintf(why, OWNED_WHY_MAX, PATH ": this folder cannot be made: %s", path,
                 strerror(errno));
        return false;
    }
    if (lstat(path, &about) != 0)
        return not_owned(why, path, strerror(errno));
    if (S_ISLNK(about.st_mode) && about.st_uid == geteuid() && stat(path, &about) != 0)
        return not_owned(why, path, strerror(errno));
    if (!S_ISDIR(about.st_mode))
        return not_owned(why, path, "it is there, and is no folder");
    if (about.st_uid != geteuid())
        return not_owned(why, path,
                         "this folder belongs to another user: remove it, or name another");
    return is_owned(&about, path, false, why);
}
