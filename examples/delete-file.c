/*
 * delete-file: what to do if nobody can be asked.
 *
 * What it shows: nod_supports. Some clients cannot show a form, and then nod_confirm is a plain
 * "no". This tool does better: it moves the file into a wastebasket, which can be undone without
 * asking anybody, and says so.
 *
 * Run it with a folder it may delete in. It touches nothing outside of that folder, and without one
 * it deletes nothing:
 *
 *     DELETE_FILE_ROOT=/tmp/scratch build/release/examples/delete-file
 *     DELETE_FILE_ROOT=/tmp/scratch build/release/examples/delete-file --http 127.0.0.1:8080
 *
 * What the person sees: "Delete notes.txt for good?" with Accept and Decline; or, in a client
 * without forms, the assistant's words that the file has been moved to .wastebasket.
 */
#include <nod/nod.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int root = -1; /* the folder it may delete in, opened */

#define WASTEBASKET ".wastebasket"

/* A file directly in the folder: no slash, nothing hidden. openat does not leave the folder. */
static bool is_plain_name(const char *name)
{
    return *name != '\0' && *name != '.' && strchr(name, '/') == NULL;
}

static bool is_file(const char *name)
{
    struct stat about;

    return fstatat(root, name, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(about.st_mode);
}

static nod_status unlink_file(nod_step_run *step, void *arg)
{
    (void)step;
    /* After a crash between the deed and its record this runs again: if the file is gone, it is
     * done. */
    return unlinkat(root, arg, 0) == 0 || errno == ENOENT ? NOD_OK : NOD_E_IO;
}

static nod_status waste_file(nod_step_run *step, void *arg)
{
    const char *name = arg;
    const char *target = nod_fmt(nod_step_call(step), WASTEBASKET "/%s", name);

    if (!is_file(name))
        return NOD_OK; /* moved already */
    if (mkdirat(root, WASTEBASKET, 0700) != 0 && errno != EEXIST)
        return NOD_E_IO;
    if (is_file(target))
        return NOD_E_REFUSED; /* moving it would overwrite that one, and nobody was asked */
    return renameat(root, name, root, target) == 0 ? NOD_OK : NOD_E_IO;
}

static nod_status look(nod_step_run *step, void *arg)
{
    nod_call *call = nod_step_call(step);
    nod_json *found = nod_object(call);

    nod_set_bool(call, found, "exists", is_file(arg));
    nod_step_result(step, found);
    return NOD_OK;
}

static nod_status delete_file(nod_call *call)
{
    const char *name = nod_arg_str(call, "name");
    const nod_json *found;
    bool yes;

    if (root < 0)
        return nod_reply_error(call,
                               "DELETE_FILE_ROOT is not set: there is no folder to delete in.");
    if (!is_plain_name(name))
        return nod_reply_error(call, "%s is not the plain name of a file in the folder.", name);

    NOD_TRY(nod_step(call, "look", look, (void *)name, &found));
    if (!nod_get_bool(found, "exists"))
        return nod_reply_error(call, "There is no file %s.", name);

    if (!nod_supports(call, NOD_MODE_FORM)) {
        nod_status wasted =
            nod_step(call, "waste", waste_file, (void *)name, NULL, .idempotent = true);
        if (wasted == NOD_E_REFUSED)
            return nod_reply_error(call, "There is a %s in " WASTEBASKET " already.", name);
        NOD_TRY(wasted);
        return nod_reply_textf(
            call, "Nobody could be asked, so %s was not deleted but moved to " WASTEBASKET ".",
            name);
    }

    NOD_TRY(nod_confirm(call, &yes, .message = nod_fmt(call, "Delete %s for good?", name)));
    if (!yes)
        return nod_reply_textf(call, "%s was kept.", name);

    NOD_TRY(nod_step(call, "unlink", unlink_file, (void *)name, NULL, .idempotent = true));
    return nod_reply_textf(call, "Deleted %s.", name);
}

static const nod_tool tools[] = {
    { .name = "delete_file",
      .handler = delete_file,
      .title = "Delete a file",
      .description = "Deletes a file of the folder, after a person has agreed; where nobody can be "
                     "asked it is moved to a wastebasket instead",
      .input = NOD_FORM(NOD_TEXT("name", .description = "The file's name", .required = true,
                                 NOD_MIN(1), NOD_MAX(200))),
      .destructive = true,
      .closed_world = true },
};

int main(int argc, char **argv)
{
    const char *folder = getenv("DELETE_FILE_ROOT");
    nod_server *server = nod_server_new(.name = "delete-file", .version = NOD_VERSION);

    if (server == NULL)
        return 1;
    if (folder != NULL)
        root = open(folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    if (nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
