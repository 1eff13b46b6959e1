/*
 * cli/new: `nod new`, a project with a plugin in it.
 *
 * What it writes is in src/cli/project/, with @NAME@ where the name goes, and is embedded by
 * scripts/embed-project. It builds, passes its test and is served as it stands.
 *
 * Holds always: nothing that is there is written over.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/command.h"
#include "cli/terminal_safe.h"
#include "host/owned.h"

struct project_file {
    const char *name;
    const char *text;
};

#include "project_files.h"

static const char help[] =
    "usage: nod new NAME\n\n"
    "Writes a project into a new folder NAME: a plugin for nod serve with one tool that asks, its\n"
    "test, and what builds it (meson). The same source also builds as a server of its own.\n\n"
    "NAME is 1 to 40 characters out of a-z, 0-9, - and _, the first one a letter.\n";

enum {
    NEW_NAME_MAX = 40,  /* bytes of a plugin's name */
    NEW_PATH_MAX = 128, /* bytes of a path in the project */
};

static const char slot[] = "@NAME@";

/* --- its name --- */

/* The name that was nearly given: small letters, and a hyphen for whatever no name has. "": none.
 */
static void name_near(const char *given, char out[NEW_NAME_MAX + 1])
{
    size_t len = 0;

    for (; *given && len < NEW_NAME_MAX; given++) {
        char c = *given >= 'A' && *given <= 'Z' ? (char)(*given - 'A' + 'a') : *given;
        bool letter = c >= 'a' && c <= 'z', plain = letter || c == '_' || (c >= '0' && c <= '9');
        if (len ? plain : letter)
            out[len++] = c;
        else if (len && out[len - 1] != '-')
            out[len++] = '-';
    }
    while (len && out[len - 1] == '-')
        len--;
    out[len] = '\0';
}

/* Meson has targets of these names. */
static bool is_mesons(const char *name)
{
    static const char *const targets[] = { "all",       "benchmark",   "clean",      "coverage",
                                           "dist",      "distcheck",   "install",    "phony",
                                           "meson",     "reconfigure", "scan-build", "test",
                                           "uninstall", NULL };

    return str_among(str_of(name), targets) || str_starts(str_of(name), STR("meson-"));
}

static bool name_fits(char *name)
{
    char near[NEW_NAME_MAX + 1], what[2 * NEW_NAME_MAX + 128];

    if (strlen(name) <= NEW_NAME_MAX && str_is_plain(str_of(name)) && *name >= 'a' &&
        *name <= 'z' && !is_mesons(name))
        return true;
    name_near(name, near);
    if (is_mesons(near))
        snprintf(what, sizeof(what), "is a word of meson; take another name, such as my-%s", near);
    else
        snprintf(
            what, sizeof(what),
            "is no name: it takes 1 to %d characters out of a-z, 0-9, - and _, the first one a "
            "letter%s%s",
            NEW_NAME_MAX, *near ? "; such as " : "", near);
    return command_wrong("nod new", name, what);
}

static bool take_name(void *data, char *arg)
{
    const char **name = data;

    if (*name)
        return command_wrong("nod new", arg, "is one name too many");
    *name = arg;
    return name_fits(arg);
}

/* --- writing it --- */

static bool cannot_write(const char *path)
{
    fprintf(stderr, "nod new: %s cannot be written: %s\n", path, strerror(errno));
    return false;
}

static bool write_file(const char *name, const struct project_file *file)
{
    char path[NEW_PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", name, file->name);
    /* Nobody else may write what nod serve reads. */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out)
        return cannot_write(path);
    const char *at = file->text;
    for (const char *next; (next = strstr(at, slot)); at = next + strlen(slot))
        fprintf(out, "%.*s%s", (int)(next - at), at, name);
    fputs(at, out);
    bool fine = !ferror(out);
    return (fclose(out) == 0 && fine) || cannot_write(path);
}

static bool write_project(const char *name)
{
    bool fine = mkdir(name, 0755) == 0;

    if (!fine && errno == EEXIST)
        fprintf(stderr,
                "nod new: %s is there already, and was left as it is: take another name, or go "
                "elsewhere\n",
                name);
    else if (!fine)
        cannot_write(name);
    for (size_t i = 0; fine && i < sizeof(project_files) / sizeof(project_files[0]); i++)
        fine = write_file(name, &project_files[i]);
    return fine;
}

/* Where pkg-config looks by itself, nobody has to say so. */
static const char *pkgconfig_option(void)
{
    char path[NEW_PATH_MAX + sizeof(installed_pkgconfig)];

    snprintf(path, sizeof(path), "%s/nod.pc", installed_pkgconfig);
    return str_starts(str_of(path), STR("/usr/")) || access(path, F_OK) != 0
               ? ""
               : " --pkg-config-path ";
}

static void say_next(const char *name)
{
    const char *option = pkgconfig_option();
    char why[OWNED_WHY_MAX];
    mode_t mask = umask(022);

    umask(mask);
    printf("%s/ is a plugin with one tool, %s.greet, in plugin.c. Next:\n\n    cd %s\n", name, name,
           name);
    if ((mask & 022) != 022)
        puts("    umask 022     # nod serve loads nothing that others may write");
    printf("    meson setup build%s%s\n"
           "    meson compile -C build\n"
           "    meson test -C build\n"
           "    nod serve --config nod.ini\n",
           option, *option ? installed_pkgconfig : "");
    if (!owned_folder(name, why))
        printf("\nBefore nod serve loads anything from there: %s\n", why);
}

int command_new(int argc, char **argv)
{
    static const struct command_option none[] = { { .name = NULL } };
    const char *name = NULL;
    int code;
    const struct command_line line = {
        .command = "nod new", .help = help, .options = none, .word = take_name, .data = &name
    };

    if (!command_read(&line, argc, argv, &code))
        return code;
    if (!name) {
        fputs(help, stderr);
        return COMMAND_WRONG_USAGE;
    }
    if (!write_project(name))
        return COMMAND_FAILED;
    say_next(name);
    return COMMAND_FINE;
}
