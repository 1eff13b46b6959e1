/*
 * host/trusted: see trusted.h.
 *
 * The file is looked at through its descriptor, so that what was looked at is what is read. Its
 * folders are those of its real path: where a link leads is what counts.
 */
#include "host/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_ours(const struct stat *st)
{
    return st->st_uid == 0 || st->st_uid == geteuid();
}

static bool others_write(const struct stat *st)
{
    return st->st_mode & (S_IWGRP | S_IWOTH);
}

static bool distrust(char why[TRUSTED_WHY_MAX], const char *what, const char *path,
                     const struct stat *st)
{
    if (!is_ours(st))
        snprintf(why, TRUSTED_WHY_MAX,
                 "%s%s belongs to another user, who could change it: chown it to root, or to the "
                 "user of this server",
                 what, path);
    else
        snprintf(why, TRUSTED_WHY_MAX, "%s%s can be written by others: chmod go-w %s", what, path,
                 path);
    return false;
}

/* The folders above: another user may write there only where nobody can move what others own. */
static bool above_trusted(char *folder, char why[TRUSTED_WHY_MAX])
{
    struct stat st;

    for (char *slash = strrchr(folder, '/'); slash; slash = strrchr(folder, '/')) {
        const char *at = slash == folder ? "/" : folder;
        *slash = '\0';
        if (stat(at, &st) != 0) {
            snprintf(why, TRUSTED_WHY_MAX, "its folder %s cannot be looked at: %s", at,
                     strerror(errno));
            return false;
        }
        if (!is_ours(&st) || (others_write(&st) && !(st.st_mode & S_ISVTX)))
            return distrust(why, "the folder ", at, &st);
    }
    return true;
}

bool trusted_folder(const char *path, char why[TRUSTED_WHY_MAX])
{
    char real[PATH_MAX];
    struct stat st;

    if (!realpath(path, real) || stat(real, &st) != 0) {
        snprintf(why, TRUSTED_WHY_MAX, "the folder cannot be opened: %s", strerror(errno));
        return false;
    }
    if (!S_ISDIR(st.st_mode)) {
        snprintf(why, TRUSTED_WHY_MAX, "%s is no folder", path);
        return false;
    }
    if (!is_ours(&st) || others_write(&st))
        return distrust(why, "the folder ", real, &st);
    return above_trusted(real, why);
}

static bool file_trusted(int fd, const char *path, char why[TRUSTED_WHY_MAX])
{
    char real[PATH_MAX], *slash;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0 || !realpath(path, real)) {
        snprintf(why, TRUSTED_WHY_MAX, "the file cannot be opened: %s", strerror(errno));
        return false;
    }
    if (!S_ISREG(st.st_mode)) {
        snprintf(why, TRUSTED_WHY_MAX, "it is no file");
        return false;
    }
    if (!is_ours(&st) || others_write(&st))
        return distrust(why, "", path, &st);
    slash = strrchr(real, '/');
    slash[slash == real] = '\0';
    return trusted_folder(real, why);
}

int trusted_open(const char *path, char why[TRUSTED_WHY_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (file_trusted(fd, path, why))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}
