/*
 * host/plugin_file: see plugin_file.h.
 *
 *     FOLDER/plugins/                 of this user, 0700
 *         copies-XXXXXX         /     of one process, which holds a lock on it
 *             1-github.so             a private copy
 *         loading-github.so-<hex>     a mark: the digest of what is being loaded, or was when a
 *                                     process ended
 *
 * A folder of copies whose lock is free belongs to a process that is gone. So it is with the mark
 * of what is being loaded, which every server of this user looks at. One that finds another process
 * at it does not wait: it loads the file unmarked.
 */
#include "host/plugin_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/owned.h"

enum {
    ROOM_PATH_MAX = 4096,    /* bytes of a path in it */
    COPY_BLOCK = 256 * 1024, /* bytes that are copied at a time */
    ROOM_TRIES = 8,          /* to make a folder that nobody takes for a leftover */
    MARK_TRIES = 3,          /* processes that may be gone while they load a file */
    PATH_DIGEST_SHOWN = 8,   /* bytes of a path's digest in the name of its mark */
};

struct plugin_room {
    char *folder; /* FOLDER/plugins */
    char *copies; /* this process's folder in it */
    int lock;     /* a descriptor of `copies`, locked */
    int mark;     /* of what is being loaded, locked; -1: there is none */
    int tries;    /* that it counted before */
    unsigned made;
};

static bool room_wrong(char why[PLUGIN_WHY_MAX], const char *path)
{
    snprintf(why, PLUGIN_WHY_MAX, "%s, where copies of plugins are kept, cannot be used: %s", path,
             strerror(errno));
    return false;
}

static char *path_join(const char *folder, const char *name)
{
    char path[ROOM_PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return str_dup(str_of(path));
}

/* --- the folder of copies --- */

static void folder_empty(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(path);
}

/* A folder whose process is gone: nobody holds its lock. */
static void leftover_remove(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        folder_empty(path);
    close(fd);
}

static void leftovers_remove(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        if (!str_starts(str_of(entry->d_name), STR("copies-")))
            continue;
        char *path = path_join(folder, entry->d_name);
        leftover_remove(path);
        mem_free(path);
    }
    if (dir)
        closedir(dir);
}

/* Makes and locks a folder. Another process may take it for a leftover before it is locked: then it
 * is gone, and there is no lock. */
static int folder_locked(char *path)
{
    struct stat st;
    int fd = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool room_make(struct plugin_room *room, char why[PLUGIN_WHY_MAX])
{
    char own[ROOM_PATH_MAX];

    if (mkdir(room->folder, 0700) != 0 && errno != EEXIST)
        return room_wrong(why, room->folder);
    leftovers_remove(room->folder);
    for (int tries = 0; tries < ROOM_TRIES && room->lock < 0; tries++) {
        snprintf(own, sizeof(own), "%s/copies-XXXXXX", room->folder);
        room->lock = folder_locked(own);
    }
    room->copies = room->lock >= 0 ? str_dup(str_of(own)) : NULL;
    return room->copies || room_wrong(why, room->folder);
}

struct plugin_room *plugin_room_open(const char *folder, char why[PLUGIN_WHY_MAX])
{
    struct plugin_room *room = MEM_NEW(struct plugin_room);

    *room = (struct plugin_room){ .folder = path_join(folder, "plugins"), .lock = -1, .mark = -1 };
    if (room_make(room, why))
        return room;
    plugin_room_close(room);
    return NULL;
}

void plugin_room_close(struct plugin_room *room)
{
    if (!room)
        return;
    if (room->copies)
        folder_empty(room->copies);
    if (room->lock >= 0)
        close(room->lock);
    mem_free(room->copies);
    mem_free(room->folder);
    MEM_DELETE(room);
}

/* --- a copy --- */

/* The bytes of an open file, to be freed; {NULL, 0}: `why`. It is read twice if it changes. */
static struct str file_bytes(int fd, char why[PLUGIN_WHY_MAX])
{
    struct stat before, after;
    char *text = NULL;
    size_t len = 0;
    ssize_t got = 1;

    if (fstat(fd, &before) != 0 || !S_ISREG(before.st_mode) || before.st_size > PLUGIN_FILE_MAX ||
        before.st_size < 64) {
        snprintf(why, PLUGIN_WHY_MAX,
                 !S_ISREG(before.st_mode) ? "it is no file"
                 : before.st_size < 64    ? "it is no shared object"
                                          : "it is larger than %d bytes",
                 PLUGIN_FILE_MAX);
        return STR_NONE;
    }
    text = mem_alloc((size_t)before.st_size);
    while (len < (size_t)before.st_size && got > 0) {
        got = pread(fd, text + len, (size_t)before.st_size - len, (off_t)len);
        len += got > 0 ? (size_t)got : 0;
    }
    if (len == (size_t)before.st_size && fstat(fd, &after) == 0 &&
        after.st_size == before.st_size && after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
        after.st_mtim.tv_nsec == before.st_mtim.tv_nsec)
        return str_n(text, len);
    mem_free(text);
    snprintf(why, PLUGIN_WHY_MAX, "it changes while it is read: try again when it is whole");
    return STR_NONE;
}

static struct str owned_bytes(const char *path, char why[PLUGIN_WHY_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct str bytes = STR_NONE;

    _Static_assert((int)OWNED_WHY_MAX <= (int)PLUGIN_WHY_MAX,
                   "there is room for what is said of it");
    if (fd < 0) {
        snprintf(why, PLUGIN_WHY_MAX, "the file cannot be opened: %s", strerror(errno));
        return STR_NONE;
    }
    if (owned_file(fd, path, why))
        bytes = file_bytes(fd, why);
    close(fd);
    return bytes;
}

bool plugin_file_look(const char *path, struct digest *digest, char why[PLUGIN_WHY_MAX])
{
    struct str bytes = owned_bytes(path, why);

    if (!bytes.at)
        return false;
    digest_of(bytes, digest);
    mem_free((char *)bytes.at);
    return true;
}

/* The dynamic linker believes what a file says of itself: one that is cut off, because it is being
 * copied just now, would end this process. */
static bool object_is_whole(struct str bytes)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) part;

    if (bytes.len < sizeof(head))
        return false;
    memcpy(&head, bytes.at, sizeof(head));
    if (head.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
        return true; /* of another machine: the linker refuses it */
    uint64_t len = bytes.len, sections = (uint64_t)head.e_shnum * head.e_shentsize,
             parts = (uint64_t)head.e_phnum * sizeof(part);
    if (head.e_shoff > len || sections > len - head.e_shoff || head.e_phoff > len ||
        parts > len - head.e_phoff)
        return false;
    for (size_t i = 0; i < head.e_phnum; i++) {
        memcpy(&part, bytes.at + head.e_phoff + i * sizeof(part), sizeof(part));
        if (part.p_offset > len || part.p_filesz > len - part.p_offset)
            return false;
    }
    return true;
}

static bool write_copy(struct plugin_room *room, struct plugin_file *file, struct str bytes,
                       char why[PLUGIN_WHY_MAX])
{
    const char *name = strrchr(file->path, '/');
    char path[ROOM_PATH_MAX];
    bool fine = true;

    snprintf(path, sizeof(path), "%s/%u-%s", room->copies, ++room->made,
             name ? name + 1 : file->path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0700);
    if (fd < 0)
        return room_wrong(why, path);
    file->copy = str_dup(str_of(path));
    while (fine && bytes.len) {
        ssize_t wrote = write(fd, bytes.at, bytes.len < COPY_BLOCK ? bytes.len : COPY_BLOCK);
        fine = wrote > 0 || (wrote < 0 && errno == EINTR);
        bytes = str_skip(bytes, wrote > 0 ? (size_t)wrote : 0);
    }
    fine = fine || room_wrong(why, path);
    close(fd);
    return fine;
}

bool plugin_file_take(struct plugin_room *room, const char *path, struct plugin_file *out,
                      char why[PLUGIN_WHY_MAX])
{
    struct str bytes = owned_bytes(path, why);
    bool fine = false;

    *out = (struct plugin_file){ 0 };
    if (!bytes.at)
        return false;
    if (memcmp(bytes.at, "\177ELF", 4) != 0)
        snprintf(why, PLUGIN_WHY_MAX, "it is no shared object");
    else if (!object_is_whole(bytes))
        snprintf(why, PLUGIN_WHY_MAX,
                 "it is cut off: there is more in it than its %zu bytes; try again when the file "
                 "has been copied whole",
                 bytes.len);
    else if (memmem(bytes.at, bytes.len, plugin_nod_mark, strlen(plugin_nod_mark)))
        snprintf(why, PLUGIN_WHY_MAX,
                 "it has a nod of its own inside (libnod.a): there is one nod in a process; link "
                 "it with -lnod, or without it");
    else
        fine = true;
    out->path = str_dup(str_of(path));
    digest_of(bytes, &out->digest);
    fine = fine && write_copy(room, out, bytes, why);
    mem_free((char *)bytes.at);
    if (!fine)
        plugin_file_drop(out);
    return fine;
}

void plugin_file_drop(struct plugin_file *file)
{
    if (file->copy)
        unlink(file->copy);
    mem_free(file->copy);
    mem_free(file->path);
    *file = (struct plugin_file){ 0 };
}

/* --- what is being loaded --- */

/* Two files of one name in two folders have marks of their own. */
static void mark_path(const struct plugin_room *room, const char *file, char out[ROOM_PATH_MAX])
{
    const char *name = strrchr(file, '/');
    char hex[2 * PATH_DIGEST_SHOWN + 1] = "";
    struct digest digest;

    digest_of(str_of(file), &digest);
    hex_encode(str_n((const char *)digest.bytes, PATH_DIGEST_SHOWN), hex);
    snprintf(out, ROOM_PATH_MAX, "%s/loading-%s-%s", room->folder, name ? name + 1 : file, hex);
}

/* Opens and locks it; -1: it cannot be, or another process is at it (`busy`). Who has loaded the
 * file removes its mark before it lets go of it. */
static int mark_open(const char *path, bool *busy)
{
    struct stat st;

    *busy = false;
    for (int tries = 0; tries < ROOM_TRIES && !*busy; tries++) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return -1;
        *busy = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!*busy && fstat(fd, &st) == 0 && st.st_nlink > 0)
            return fd;
        close(fd);
    }
    return -1;
}

/* What a mark says behind the digest: a '.' for each time that the file was begun to be loaded, and
 * a '!' if the process died of it. Who was stopped or killed meanwhile is no witness, unless that
 * happens again and again. */
static const char crashed = '!';
static _Thread_local int crash_mark = -1; /* of what this thread loads */

void plugin_load_crashed(void)
{
    if (crash_mark >= 0 && pwrite(crash_mark, &crashed, 1, DIGEST_HEX_LEN + MARK_TRIES) == 1)
        fsync(crash_mark);
}

/* How often this very file was begun to be loaded by processes that are gone; MARK_TRIES: too
 * often, or one has died of it. */
static int mark_tries(int fd, const char *now)
{
    char then[DIGEST_HEX_LEN + MARK_TRIES + 2] = ""; /* it ends with a NUL */
    ssize_t len = pread(fd, then, sizeof(then) - 1, 0);

    if (len < DIGEST_HEX_LEN || memcmp(then, now, DIGEST_HEX_LEN) != 0)
        return 0;
    if (then[DIGEST_HEX_LEN + MARK_TRIES] == crashed)
        return MARK_TRIES;
    return (int)strspn(then + DIGEST_HEX_LEN, ".");
}

bool plugin_loading(struct plugin_room *room, const struct plugin_file *file,
                    char why[PLUGIN_WHY_MAX])
{
    char path[ROOM_PATH_MAX], now[DIGEST_HEX_LEN + MARK_TRIES + 1];
    bool fine = false, busy;

    mark_path(room, file->path, path);
    digest_hex(&file->digest, now);
    int fd = mark_open(path, &busy);
    if (fd < 0)
        return busy || room_wrong(why, path);
    int tries = mark_tries(fd, now);
    size_t len = DIGEST_HEX_LEN + (size_t)tries + 1;
    memset(now + DIGEST_HEX_LEN, '.', MARK_TRIES);
    if (tries >= MARK_TRIES)
        snprintf(why, PLUGIN_WHY_MAX,
                 "the process died the last time it loaded this file; it is tried again when the "
                 "file has changed, or after: rm %s",
                 path);
    else if (ftruncate(fd, 0) != 0 || pwrite(fd, now, len, 0) != (ssize_t)len || fsync(fd) != 0)
        room_wrong(why, path);
    else
        fine = true;
    room->tries = tries;
    if (fine)
        room->mark = crash_mark = fd;
    else
        close(fd);
    return fine;
}

void plugin_loaded(struct plugin_room *room, const struct plugin_file *file, bool whole)
{
    char path[ROOM_PATH_MAX];

    if (room->mark < 0)
        return;
    mark_path(room, file->path, path);
    if (whole || room->tries == 0 || ftruncate(room->mark, DIGEST_HEX_LEN + room->tries) != 0)
        unlink(path);
    close(room->mark);
    room->mark = crash_mark = -1;
}
