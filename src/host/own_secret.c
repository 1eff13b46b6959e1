/*
 * host/own_secret: see own_secret.h.
 */
#include "host/own_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"
#include "base/log.h"
#include "crypto/digest.h"

enum { OWN_SECRET_BYTES = 48 }; /* random bytes of a secret that is made: 64 characters */

static bool own_wrong(const char *file, const char *why)
{
    LOG_ERROR("this server's own secret cannot be used; MCP_ELICITATION_SECRET can be set instead",
              LOG_CSTR("file", file), LOG_CSTR("why", why));
    return false;
}

/* --- making it --- */

/* Writes a new one. It is on the disk when this returns true. */
static bool write_new(int fd)
{
    char line[OWN_SECRET_BYTES * 2];
    uint8_t bytes[OWN_SECRET_BYTES];
    size_t len = base64url_len(sizeof(bytes));

    random_bytes(bytes, sizeof(bytes));
    base64url_encode(str_n((const char *)bytes, sizeof(bytes)), line);
    line[len++] = '\n';
    bool written = write(fd, line, len) == (ssize_t)len && fsync(fd) == 0;
    explicit_bzero(bytes, sizeof(bytes));
    explicit_bzero(line, sizeof(line));
    return written;
}

/* The name is on the disk as well. */
static bool folder_sync(const char *file)
{
    const char *slash = strrchr(file, '/');
    char folder[PATH_MAX];

    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - file) + 1 : 1,
             slash ? file : ".");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool fine = fd >= 0 && fsync(fd) == 0;
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return fine;
}

/* It gets its name when it is whole. Of two servers that make it at the same moment one does, and
 * the other reads that. */
static bool name_new(const char *beside, const char *file)
{
    if (link(beside, file) == 0 || errno == EEXIST)
        return true;
    /* There are file systems without links. */
    return (errno == EPERM || errno == EOPNOTSUPP) && rename(beside, file) == 0;
}

static bool make_file(const char *file)
{
    char beside[PATH_MAX];
    struct id id;

    id_random(&id);
    if (snprintf(beside, sizeof(beside), "%s.%s", file, id.text) >= (int)sizeof(beside))
        return own_wrong(file, "its name is too long");
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool made = fd >= 0 && write_new(fd) && name_new(beside, file) && folder_sync(file);
    int error = errno;
    if (fd >= 0) {
        close(fd);
        unlink(beside);
    }
    if (!made)
        return own_wrong(file, strerror(error));
    LOG_WARN(
        "no secret is set, so this server has made one of its own, which seals its calls: keep "
        "this file with the store, and let nobody read it",
        LOG_CSTR("file", file), LOG_CSTR("instead", "MCP_ELICITATION_SECRET"));
    return true;
}

/* --- reading it --- */

/* -1: it was not opened, and errno says why; -2: it is not ours alone, which was logged. */
static int open_own(const char *file)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    const char *why = NULL;
    struct stat about;

    if (fd < 0)
        return -1;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        why = "it is no file";
    else if (about.st_uid != 0 && about.st_uid != geteuid())
        why = "it belongs to another user";
    else if (about.st_mode & (S_IRWXG | S_IRWXO))
        why = "others may read or write it: chmod 600, and make a new one if they have read it";
    if (!why)
        return fd;
    close(fd);
    own_wrong(file, why);
    return -2;
}

bool own_secret(const char *file, bool make, char room[OWN_SECRET_ROOM], struct str *secret)
{
    *secret = STR_NONE;
    int fd = open_own(file);
    if (fd == -1 && errno == ENOENT) {
        if (!make)
            return true;
        fd = make_file(file) ? open_own(file) : -2;
    }
    if (fd < 0)
        return fd == -1 ? own_wrong(file, strerror(errno)) : false;
    ssize_t len = read(fd, room, OWN_SECRET_ROOM);
    int error = errno;
    close(fd);
    if (len < 0)
        return own_wrong(file, strerror(error));
    while (len && (room[len - 1] == '\n' || room[len - 1] == '\r'))
        len--;
    if (len < KEYRING_SECRET_MIN || len > KEYRING_SECRET_MAX)
        return own_wrong(file, "it has less than 32 characters, or more than 4096: put the secret "
                               "back, or remove the file together with the store");
    *secret = str_n(room, (size_t)len);
    return true;
}
