/*
 * store/sqlite: the files on the disk, and which process owns them.
 *
 * Four files belong together: PATH, SQLite's log and index beside it (PATH-wal, PATH-shm), and
 * PATH.lock, which says which process owns them. The lock that counts is on PATH itself (flock,
 * which does not interfere with SQLite's own locks). Whatever the file is called, and whatever
 * happens to the other three, no second process gets it.
 *
 * Each file is known by its device and inode from the moment it was opened. A file that was removed
 * or replaced can still be written to, but nobody would find it. So the files are checked before
 * every commit and once a second, and a store that has lost one of them acknowledges nothing. If it
 * is the log or the index, what was committed before is moved into PATH at once, so that even a
 * kill loses nothing.
 */
#include "store/sqlite_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

enum {
    LOCK_TEXT_MAX = 32,   /* bytes of a process id */
    LOCK_DYING_MS = 2000, /* how long a lock is waited for whose process may be dying */
    LOCK_LOOK_MS = 20,
};

static const struct {
    const char *tail;
    const char *lost; /* the text for those who ask whether the store is ready */
} parts[LITE_PARTS] = {
    [LITE_PART_FILE] = { "", "its file was removed or replaced" },
    [LITE_PART_LOCK] = { ".lock",
                         "its lock (.lock) was removed or replaced: start the server again" },
    [LITE_PART_LOG] = { "-wal", "its log (-wal) was removed or replaced: start the server again" },
    [LITE_PART_INDEX] = { "-shm",
                          "the index of its log (-shm) was removed or replaced: start the server "
                          "again" },
};

void sqlite_file_names(struct sqlite_store *store, const char *path)
{
    for (size_t i = 0; i < LITE_PARTS; i++) {
        size_t size = strlen(path) + strlen(parts[i].tail) + 1;
        store->known[i].path = mem_alloc(size);
        snprintf(store->known[i].path, size, "%s%s", path, parts[i].tail);
    }
    store->path = store->known[LITE_PART_FILE].path;
}

/* --- the lock --- */

/* A process that was killed holds its locks until the system has taken it down, which takes a
 * moment. */
static bool lock_soon(int fd)
{
    const struct timespec pause = { .tv_nsec = LOCK_LOOK_MS * 1000000L };

    for (int waited = 0; waited < LOCK_DYING_MS; waited += LOCK_LOOK_MS) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK)
            return false;
        nanosleep(&pause, NULL);
    }
    errno = EWOULDBLOCK;
    return false;
}

static bool say_owner(int fd, const char *path, char *why)
{
    char pid[LOCK_TEXT_MAX] = { 0 };

    if (fd < 0 || pread(fd, pid, sizeof(pid) - 1, 0) <= 0)
        snprintf(pid, sizeof(pid), "unknown");
    pid[strcspn(pid, "\n")] = '\0';
    snprintf(why, LITE_WHY_MAX,
             "%s is in use by process %s: stop it first, or give each server its own file, or let "
             "servers share a Redis",
             path, pid);
    return false;
}

static bool open_lock(struct sqlite_store *store, char *why)
{
    const char *name = store->known[LITE_PART_LOCK].path;

    store->lock_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (store->lock_fd < 0 && errno == ENOENT) {
        const char *slash = strrchr(name, '/');
        snprintf(why, LITE_WHY_MAX, "%s cannot be made: the folder %.*s is not there", store->path,
                 slash ? (int)(slash - name) : 1, slash ? name : ".");
        return false;
    }
    if (store->lock_fd < 0) {
        snprintf(why, LITE_WHY_MAX, "%s cannot be made: %s", name, strerror(errno));
        return false;
    }
    return lock_soon(store->lock_fd) || say_owner(store->lock_fd, store->path, why);
}

/* The descriptor stays open until SQLite has closed its own: closing any descriptor of the file
 * would release SQLite's locks. */
static bool open_file(struct sqlite_store *store, char *why)
{
    /* Nobody else may read it. SQLite gives its other files the same rights. */
    store->file_fd = open(store->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (store->file_fd < 0) {
        snprintf(why, LITE_WHY_MAX, "%s cannot be opened: %s", store->path, strerror(errno));
        return false;
    }
    if (lock_soon(store->file_fd))
        return true;
    if (errno == EWOULDBLOCK)
        return say_owner(-1, store->path, why); /* by another name, or without its .lock file */
    snprintf(why, LITE_WHY_MAX, "%s cannot be locked: %s", store->path, strerror(errno));
    return false;
}

bool sqlite_file_lock(struct sqlite_store *store, char *why)
{
    char pid[LOCK_TEXT_MAX];

    if (!open_lock(store, why) || !open_file(store, why))
        return false;
    int len = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
    if (pwrite(store->lock_fd, pid, (size_t)len, 0) != len ||
        ftruncate(store->lock_fd, (off_t)len) != 0)
        LOG_WARN("the lock file of the store cannot be written", LOG_CSTR("store", store->path));
    return true;
}

void sqlite_file_finish(struct sqlite_store *store)
{
    if (store->file_fd >= 0)
        close(store->file_fd);
    if (store->lock_fd >= 0)
        close(store->lock_fd);
    for (size_t i = 0; i < LITE_PARTS; i++)
        mem_free(store->known[i].path);
}

/* --- are they there? --- */

/* When it is first seen it is ours, because the lock was held before. */
static bool part_is_there(struct sqlite_known *known)
{
    struct stat about;
    bool found = stat(known->path, &about) == 0;

    if (found && known->inode == 0) {
        known->device = about.st_dev;
        known->inode = about.st_ino;
    }
    return known->inode == 0 ||
           (found && known->device == about.st_dev && known->inode == about.st_ino);
}

bool sqlite_file_is_there(struct sqlite_side *side)
{
    struct sqlite_store *store = side->store;

    for (int part = 0; part < LITE_PARTS; part++) {
        if (part_is_there(&store->known[part]))
            continue;
        query_fail(side, SQLITE_CANTOPEN);
        side->lost = part + 1;
        return false;
    }
    side->lost = 0;
    atomic_store(&store->lost, 0);
    return true;
}

void sqlite_file_say_lost(struct sqlite_side *side)
{
    sqlite_log_move(side);
    atomic_store(&side->store->lost, side->lost);
}

const char *sqlite_file_lost(const struct sqlite_store *store)
{
    int lost = atomic_load(&store->lost);

    return lost ? parts[lost - 1].lost : NULL;
}
