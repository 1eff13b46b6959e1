/*
 * blocking: a tool that takes long, and asks in the middle.
 *
 * What it shows: .blocking. Such a handler runs on a worker thread and may sleep, read files or
 * wait for a database. While a person thinks it holds no thread: it is run again with the answer,
 * and what it has done in steps is not done again. nod_cancelled tells it when nobody wants the
 * result any more; nod_progress keeps the client informed.
 *
 * Run it:
 *
 *     build/release/examples/blocking
 *     build/release/examples/blocking --http 127.0.0.1:8080
 *
 * What the person sees: a progress bar while 4 of 8 disks are checked, then "Disk 4 looks bad.
 * Check the others too?", and the rest of the bar.
 */
#include <nod/nod.h>

#include <time.h>

enum { DISKS = 8, BAD_DISK = 4, DISK_MS = 50 };

struct range {
    int from, to;
};

static void check_one(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = DISK_MS * 1000000L }, NULL);
}

/* Slow work belongs in a step, like anything else that should not be done twice. */
static nod_status check_disks(nod_step_run *step, void *arg)
{
    nod_call *call = nod_step_call(step);
    const struct range *range = arg;

    for (int disk = range->from; disk <= range->to; disk++) {
        if (nod_cancelled(call))
            return NOD_E_CANCELLED;
        check_one();
        nod_progress(call, disk, DISKS, nod_fmt(call, "disk %d", disk));
    }
    return NOD_OK;
}

static nod_status check(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_step(call, "first", check_disks, &((struct range){ 1, BAD_DISK }), NULL));
    NOD_TRY(nod_confirm(call, &yes,
                        .message =
                            nod_fmt(call, "Disk %d looks bad. Check the others too?", BAD_DISK)));
    if (!yes)
        return nod_reply_textf(call, "Checked %d of %d disks; disk %d looks bad.", BAD_DISK, DISKS,
                               BAD_DISK);

    NOD_TRY(nod_step(call, "second", check_disks, &((struct range){ BAD_DISK + 1, DISKS }), NULL));
    return nod_reply_textf(call, "Checked all %d disks; disk %d looks bad.", DISKS, BAD_DISK);
}

static const nod_tool tools[] = {
    { .name = "check_disks",
      .handler = check,
      .title = "Check the disks",
      .description = "Checks the disks one by one, and asks whether to go on when one looks bad",
      .read_only = true,
      .blocking = true,
      .timeout_ms = 10000 },
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "blocking", .version = NOD_VERSION, .workers = 2);

    if (server == NULL || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
