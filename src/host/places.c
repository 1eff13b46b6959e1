/*
 * host/places: see places.h.
 */
#include "host/places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "base/str.h"

#define SOCKET_END ".sock"

enum { PLACES_YOUNG_S = 5 }; /* a socket that is no older may be one whose server is starting */

/* --- folders --- */

/* False: it does not fit. */
static bool joined(char path[PLACE_MAX], const char *folder, const char *name)
{
    return snprintf(path, PLACE_MAX, "%s%s%s", folder, *name ? "/" : "", name) < PLACE_MAX;
}

/* A folder of the environment, and one below it. Of several, with colons, the first. */
static bool in_variable(char path[PLACE_MAX], const char *variable, const char *below)
{
    const char *value = getenv(variable);
    char first[PLACE_MAX];

    if (!value || value[0] != '/' || strcspn(value, ":") >= sizeof(first))
        return false;
    snprintf(first, sizeof(first), "%.*s", (int)strcspn(value, ":"), value);
    return joined(path, first, below);
}

static bool in_home(char path[PLACE_MAX], const char *below)
{
    const struct passwd *user;

    if (in_variable(path, "HOME", below))
        return true;
    user = getpwuid(geteuid()); /* before there are threads */
    return user && user->pw_dir && user->pw_dir[0] == '/' && joined(path, user->pw_dir, below);
}

bool place_config(char path[PLACE_MAX])
{
    static const char etc[] = "/etc/nod/nod.ini";

    for (int at = 0; at < 3; at++) {
        bool named = at == 0 ? in_variable(path, "XDG_CONFIG_HOME", "nod/nod.ini") ||
                                   in_home(path, ".config/nod/nod.ini")
                     : at == 1 ? in_variable(path, "CONFIGURATION_DIRECTORY", "nod.ini")
                               : joined(path, etc, "");
        /* One that is there and cannot be read is an error, and not passed by. */
        if (named && (access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR)))
            return true;
    }
    if (!in_variable(path, "XDG_CONFIG_HOME", "nod/nod.ini") &&
        !in_home(path, ".config/nod/nod.ini"))
        joined(path, etc, "");
    return false;
}

bool place_state(bool make, char path[PLACE_MAX], char why[OWNED_WHY_MAX])
{
    if (in_variable(path, "STATE_DIRECTORY", "") || in_variable(path, "XDG_STATE_HOME", "nod") ||
        in_home(path, ".local/state/nod"))
        return !make || owned_make(path, why);
    snprintf(why, OWNED_WHY_MAX,
             "there is no folder to keep calls and the secret in: set HOME or STATE_DIRECTORY");
    return false;
}

/* --- sockets --- */

/* The folders where sockets may be, the first one first. Gives their number. */
static size_t runtime_folders(char paths[PLACES_RUNTIME_MAX][PLACE_MAX])
{
    char user[PLACE_MAX];
    struct stat about;
    size_t count = in_variable(paths[0], "RUNTIME_DIRECTORY", "");
    bool session = in_variable(paths[count], "XDG_RUNTIME_DIR", "nod");

    count += session;
    snprintf(user, sizeof(user), "/run/user/%u", (unsigned)geteuid());
    if (!session && stat(user, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid())
        count += joined(paths[count], user, "nod");
    snprintf(paths[count], PLACE_MAX, "/tmp/nod-%u", (unsigned)geteuid());
    return count + 1;
}

bool place_runtime(bool make, char path[PLACE_MAX], char why[OWNED_WHY_MAX])
{
    char paths[PLACES_RUNTIME_MAX][PLACE_MAX];

    runtime_folders(paths);
    memcpy(path, paths[0], PLACE_MAX);
    return !make || owned_make(path, why);
}

bool place_answers(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = os_socket(AF_UNIX);

    if (fd < 0 || strlen(path) >= sizeof(address.sun_path)) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    memcpy(address.sun_path, path, strlen(path));
    /* A server that is there and busy is there: its queue is full. */
    bool answers = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
                   (errno != ECONNREFUSED && errno != ENOENT);
    close(fd);
    return answers;
}

static bool is_listed(const struct place_server *servers, size_t count, const char *address)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(servers[i].address, address) == 0)
            return true;
    return false;
}

/* The servers of a folder. */
static size_t list_servers(const char *folder, struct place_server *servers, size_t count)
{
    char why[OWNED_WHY_MAX], path[PLACE_MAX], address[PLACE_MAX];
    DIR *open = owned_folder(folder, why) ? opendir(folder) : NULL;
    struct dirent *entry;

    while (open && count < PLACES_SERVERS_MAX && (entry = readdir(open))) {
        struct str name = str_of(entry->d_name), end = STR(SOCKET_END);
        struct stat about;
        if (name.len <= end.len || !str_ends(name, end) || !joined(path, folder, entry->d_name) ||
            snprintf(address, sizeof(address), "unix:%s", path) >= (int)sizeof(address) ||
            lstat(path, &about) != 0 || !S_ISSOCK(about.st_mode) || about.st_uid != geteuid() ||
            is_listed(servers, count, address))
            continue;
        if (!place_answers(
                path)) { /* its server was killed, or has bound and does not listen yet */
            if (time(NULL) - about.st_mtime > PLACES_YOUNG_S)
                unlink(path);
            continue;
        }
        snprintf(servers[count].name, PLACE_MAX, STR_FMT,
                 STR_ARG(str_n(name.at, name.len - end.len)));
        memcpy(servers[count++].address, address, sizeof(address));
    }
    if (open)
        closedir(open);
    return count;
}

static int by_server_name(const void *a, const void *b)
{
    return strcmp(((const struct place_server *)a)->name, ((const struct place_server *)b)->name);
}

size_t place_servers(struct place_server servers[PLACES_SERVERS_MAX])
{
    char paths[PLACES_RUNTIME_MAX][PLACE_MAX];
    size_t folders = runtime_folders(paths), count = 0;

    for (size_t i = 0; i < folders; i++)
        count = list_servers(paths[i], servers, count);
    qsort(servers, count, sizeof(*servers), by_server_name);
    return count;
}
