/*
 * net/child: see child.h.
 *
 * Real pipes are used, as a shell would: some programs behave otherwise on sockets. The parent's
 * ends are closed on exec, so that a second child does not keep the first one's stdin open.
 *
 * Holds always: a child is waited for. Closing it before it has ended kills it and waits.
 */
#include "net/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/mem.h"

struct child {
    uv_process_t process;
    void (*on_exit)(int64_t status, int signo, void *data);
    void *data;
    bool ended;
    bool closed;
};

/* The four ends of two pipes. */
struct child_pipes {
    int child_in, our_out; /* its stdin */
    int our_in, child_out; /* its stdout */
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void pipes_close(struct child_pipes *pipes)
{
    close_fd(&pipes->child_in);
    close_fd(&pipes->our_out);
    close_fd(&pipes->our_in);
    close_fd(&pipes->child_out);
}

static bool pipes_open(struct child_pipes *pipes)
{
    int to[2];
    int from[2];

    *pipes = (struct child_pipes){ -1, -1, -1, -1 };
    if (pipe2(to, O_CLOEXEC) != 0)
        return false;
    pipes->child_in = to[0];
    pipes->our_out = to[1];
    if (pipe2(from, O_CLOEXEC) != 0) {
        pipes_close(pipes);
        return false;
    }
    pipes->our_in = from[0];
    pipes->child_out = from[1];
    return true;
}

static void on_process_closed(uv_handle_t *handle)
{
    mem_free(handle->data);
}

static void child_free(struct child *child)
{
    uv_close((uv_handle_t *)&child->process, on_process_closed);
}

static void on_process_exit(uv_process_t *process, int64_t status, int signo)
{
    struct child *child = process->data;

    child->ended = true;
    if (child->closed)
        child_free(child);
    else if (child->on_exit)
        child->on_exit(status, signo, child->data);
}

static int spawn(struct loop *loop, struct child *child, const struct child_opts *opts,
                 const struct child_pipes *pipes)
{
    uv_stdio_container_t stdio[] = {
        { .flags = UV_INHERIT_FD, .data.fd = pipes->child_in },
        { .flags = UV_INHERIT_FD, .data.fd = pipes->child_out },
        { .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
    };
    uv_process_options_t options = {
        .exit_cb = on_process_exit,
        .file = opts->argv[0],
        .args = (char **)(uintptr_t)opts->argv,
        .env = (char **)(uintptr_t)opts->env,
        .cwd = opts->cwd,
        .stdio_count = 3,
        .stdio = stdio,
    };

    child->process.data = child;
    return uv_spawn(loop_uv(loop), &child->process, &options);
}

static nod_status spawn_failed(const struct child_opts *opts, int error)
{
    LOG_ERROR("a program cannot be started", LOG_CSTR("program", opts->argv[0]),
              LOG_CSTR("error", uv_strerror(error)));
    return error == UV_ENOENT ? NOD_E_NOT_FOUND : NOD_E_IO;
}

/* Our two ends as one stream. They are taken over, whatever comes of it. */
static nod_status join_ends(struct loop *loop, struct child_pipes *pipes, struct stream **out)
{
    struct stream *reader;
    struct stream *writer;
    int in = pipes->our_in;
    int to = pipes->our_out;

    pipes->our_in = pipes->our_out = -1;
    if (stream_open_fd(loop, in, &reader) != NOD_OK) {
        close(to);
        return NOD_E_IO;
    }
    if (stream_open_fd(loop, to, &writer) != NOD_OK) {
        stream_close(reader);
        return NOD_E_IO;
    }
    *out = stream_join(reader, writer);
    return NOD_OK;
}

nod_status child_spawn(struct loop *loop, const struct child_opts *opts, struct child **out,
                       struct stream **stream)
{
    struct child_pipes pipes;
    struct child *child;

    if (!pipes_open(&pipes))
        return spawn_failed(opts, uv_translate_sys_error(errno));
    child = MEM_NEW(struct child);
    child->on_exit = opts->on_exit;
    child->data = opts->data;
    int error = spawn(loop, child, opts, &pipes);
    if (error != 0) {
        pipes_close(&pipes);
        child_free(child);
        return spawn_failed(opts, error);
    }
    nod_status status = join_ends(loop, &pipes, stream);
    pipes_close(&pipes);
    if (status != NOD_OK) {
        child_close(child);
        return status;
    }
    *out = child;
    return NOD_OK;
}

int child_pid(const struct child *child)
{
    return uv_process_get_pid(&child->process);
}

bool child_kill(struct child *child, int signo)
{
    return !child->ended && uv_process_kill(&child->process, signo) == 0;
}

void child_close(struct child *child)
{
    if (!child || child->closed)
        return;
    child->closed = true;
    if (child->ended)
        child_free(child);
    else
        uv_process_kill(&child->process, SIGKILL);
}
