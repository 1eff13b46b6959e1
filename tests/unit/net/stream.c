/*
 * tests/unit/net/stream: streams over accepted sockets, TCP and Unix.
 *
 * The peer is a plain descriptor in the same thread: what it does is done when the call returns,
 * and the effect is seen in the following turns of the loop.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/listener.h"
#include "net/loop.h"
#include "net/stream.h"
#include "../runner.h"

enum { ENDS_MAX = 4, TURN_MS = 5, TURNS_MAX = PATIENCE_MS / TURN_MS, LARGE = 4 * 1024 * 1024 };

struct end { /* the server's end of a connection */
    struct talk *talk;
    struct stream *stream;
    size_t got;
    int ended;  /* on_end(0) */
    int broken; /* on_end(negative), as told */
    int drained;
    int closed;
    bool in_op; /* an op is being called: nothing may be told now */
    bool stop_after_read;
    bool echo_end;             /* closes when the peer has ended */
    struct end *close_on_read; /* closed when this one is read */
};

struct talk {
    struct loop *loop;
    struct listener *listener;
    int port;
    struct end ends[ENDS_MAX];
    size_t count;
};

static void end_close(struct end *end)
{
    end->in_op = true;
    stream_close(end->stream);
    end->in_op = false;
}

static void on_read(struct stream *stream, struct str bytes)
{
    struct end *end = stream->owner;

    assert_false(end->in_op);
    assert_int_equal(end->closed, 0);
    for (size_t i = 0; i < bytes.len; i++) /* what the peer sends counts up */
        assert_int_equal((unsigned char)bytes.at[i], (unsigned char)(end->got + i));
    end->got += bytes.len;
    if (end->stop_after_read)
        stream_read_stop(stream);
    if (end->close_on_read)
        end_close(end->close_on_read);
}

static void on_end(struct stream *stream, int error)
{
    struct end *end = stream->owner;

    assert_false(end->in_op);
    assert_int_equal(end->broken, 0);
    if (error == 0)
        end->ended++;
    else
        end->broken = error;
    if (end->echo_end)
        end_close(end);
}

static void on_drain(struct stream *stream)
{
    struct end *end = stream->owner;

    assert_false(end->in_op);
    assert_int_equal(stream_queued(stream), 0);
    end->drained++;
}

static void on_closed(struct stream *stream)
{
    struct end *end = stream->owner;

    assert_false(end->in_op);
    end->closed++;
    end->stream = NULL;
}

static const struct stream_events events = { on_read, on_end, on_drain, on_closed };

static void on_accepted(struct stream *stream, const struct peer *peer, void *data)
{
    struct talk *talk = data;
    struct end *end = &talk->ends[talk->count++];

    (void)peer;
    assert_true(talk->count <= ENDS_MAX);
    end->talk = talk;
    end->stream = stream;
    stream_own(stream, &events, end);
    stream_read_start(stream);
}

static int setup(void **state)
{
    struct talk *talk = calloc(1, sizeof(*talk));

    talk->loop = loop_create();
    assert_int_equal(
        listener_open(talk->loop, STR("127.0.0.1"), 0, on_accepted, talk, &talk->listener), NOD_OK);
    talk->port = listener_port(talk->listener);
    *state = talk;
    return 0;
}

static int teardown(void **state)
{
    struct talk *talk = *state;

    for (size_t i = 0; i < talk->count; i++)
        if (talk->ends[i].stream)
            end_close(&talk->ends[i]);
    listener_close(talk->listener);
    loop_destroy(talk->loop);
    for (size_t i = 0; i < talk->count; i++)
        assert_int_equal(talk->ends[i].closed, 1);
    free(talk);
    return 0;
}

#define TURN_UNTIL(talk, condition)                                                                \
    do {                                                                                           \
        for (int turns_ = 0; !(condition) && turns_ < TURNS_MAX; turns_++)                         \
            loop_turn((talk)->loop, TURN_MS);                                                      \
        assert_true(condition);                                                                    \
    } while (0)

/* Long enough for whatever is on its way over the loopback device. */
static void turn_some(struct talk *talk)
{
    for (int i = 0; i < 5; i++)
        loop_turn(talk->loop, TURN_MS);
}

static int peer_connect(const struct talk *talk)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)talk->port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static struct end *peer_new(struct talk *talk, int *fd)
{
    size_t before = talk->count;

    *fd = peer_connect(talk);
    TURN_UNTIL(talk, talk->count == before + 1);
    return &talk->ends[before];
}

/* Bytes that count up from `from`, as many as the kernel takes. */
static size_t peer_send(int fd, size_t from, size_t len)
{
    char *bytes = malloc(len);

    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(from + i);
    ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    free(bytes);
    return sent > 0 ? (size_t)sent : 0;
}

static void what_does_not_fit_one_read_arrives_whole_without_more_being_sent(void **state)
{
    struct talk *talk = *state;
    int fd, room = LARGE;
    struct end *end = peer_new(talk, &fd);

    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    size_t sent = peer_send(fd, 0, 400000);
    assert_true(sent > 100000);
    TURN_UNTIL(talk, end->got == sent);
    assert_int_equal(end->ended, 0);
    close(fd);
}

static void an_end_behind_bytes_is_told_behind_them_and_once(void **state)
{
    struct talk *talk = *state;
    int fd;
    struct end *end = peer_new(talk, &fd);

    peer_send(fd, 0, 1000);
    shutdown(fd, SHUT_WR);
    TURN_UNTIL(talk, end->ended == 1);
    assert_int_equal(end->got, 1000);
    turn_some(talk);
    assert_int_equal(end->ended, 1);
    stream_read_start(end->stream); /* there is nothing more, and it is not told again */
    turn_some(talk);
    assert_int_equal(end->ended, 1);
    close(fd);
}

static void bytes_behind_an_urgent_one_do_not_wait_for_more(void **state)
{
    struct talk *talk = *state;
    int fd;
    struct end *end = peer_new(talk, &fd);

    peer_send(fd, 0, 10);
    assert_int_equal(send(fd, "!", 1, MSG_OOB), 1); /* told apart, and so not among the bytes */
    peer_send(fd, 10, 20);
    TURN_UNTIL(talk, end->got == 30);
    close(fd);
}

static void who_does_not_read_is_told_nothing_and_later_everything(void **state)
{
    struct talk *talk = *state;
    int fd;
    struct end *end = peer_new(talk, &fd);

    end->stop_after_read = true;
    peer_send(fd, 0, 10);
    TURN_UNTIL(talk, end->got == 10);
    peer_send(fd, 10, 20);
    shutdown(fd, SHUT_WR);
    turn_some(talk);
    assert_int_equal(end->got, 10);
    assert_int_equal(end->ended, 0);
    end->in_op = true;
    stream_read_start(end->stream);
    end->in_op = false;
    TURN_UNTIL(talk, end->got == 30);
    turn_some(talk);
    assert_int_equal(end->ended, 0); /* it stopped again, behind the bytes */
    stream_read_start(end->stream);
    TURN_UNTIL(talk, end->ended == 1);
    close(fd);
}

/* Reads what is there and looks that it counts up. */
static size_t peer_take(int fd, size_t from)
{
    static char bytes[100000];
    ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    for (ssize_t i = 0; i < got; i++)
        assert_int_equal((unsigned char)bytes[i], (unsigned char)(from + (size_t)i));
    return got > 0 ? (size_t)got : 0;
}

static void a_slow_reader_gets_everything_in_order_and_the_end_behind_it(void **state)
{
    struct talk *talk = *state;
    int fd;
    struct end *end = peer_new(talk, &fd);
    char *bytes = malloc(LARGE);
    size_t taken = 0;

    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (char)i;
    end->in_op = true;
    for (size_t i = 0; i < LARGE; i += LARGE / 64) /* behind what is queued already, mostly */
        stream_write(end->stream,
                     (const struct str[]){ str_n(bytes + i, 1), STR_NONE,
                                           str_n(bytes + i + 1, LARGE / 64 - 1) },
                     3);
    free(bytes);
    assert_true(stream_queued(end->stream) > 0);
    stream_shutdown(end->stream);
    stream_write(end->stream, &STR("too late"), 1);
    end->in_op = false;
    for (int i = 0; taken < LARGE && i < TURNS_MAX * 10; i++) {
        taken += peer_take(fd, taken);
        loop_turn(talk->loop, 1);
    }
    assert_int_equal(taken, LARGE);
    TURN_UNTIL(talk, end->drained == 1);
    char last;
    assert_int_equal(recv(fd, &last, 1, 0), 0); /* the end, and nothing that came after it */
    close(fd);
}

static void a_peer_that_resets_is_told_once_and_not_from_inside_a_write(void **state)
{
    struct talk *talk = *state;
    int fd;
    struct end *end = peer_new(talk, &fd);
    struct linger hard = { 1, 0 };

    stream_read_stop(end->stream);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close(fd);
    turn_some(talk);
    assert_int_equal(end->broken, 0); /* nobody looks */
    end->in_op = true;
    stream_write(end->stream, &STR("hello"), 1);
    stream_write(end->stream, &STR("hello"), 1);
    end->in_op = false;
    TURN_UNTIL(talk, end->broken < 0);
    assert_int_equal(stream_queued(end->stream), 0);
    stream_write(end->stream, &STR("hello"), 1);
    stream_read_start(end->stream);
    turn_some(talk);
}

static void a_reset_is_told_to_who_reads(void **state)
{
    struct talk *talk = *state;
    int fd;
    struct end *end = peer_new(talk, &fd);
    struct linger hard = { 1, 0 };

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close(fd);
    TURN_UNTIL(talk, end->broken < 0);
    assert_int_equal(end->ended, 0);
}

static void one_that_is_closed_by_another_in_the_same_turn_is_told_nothing(void **state)
{
    struct talk *talk = *state;
    int fds[2];
    struct end *a = peer_new(talk, &fds[0]), *b = peer_new(talk, &fds[1]);

    a->close_on_read = b;
    b->close_on_read = a;
    peer_send(fds[0], 0, 10); /* both are ready when the loop looks; either may be first */
    peer_send(fds[1], 0, 10);
    TURN_UNTIL(talk, a->closed + b->closed == 1);
    turn_some(talk);
    assert_int_equal(a->closed + b->closed, 1);
    assert_int_equal(a->got + b->got, 10);
    assert_int_equal(a->closed ? a->got : b->got, 0);
    close(fds[0]);
    close(fds[1]);
}

static void one_may_close_itself_while_more_is_waiting(void **state)
{
    struct talk *talk = *state;
    int fd;
    struct end *end = peer_new(talk, &fd);

    end->close_on_read = end;
    assert_true(peer_send(fd, 0, 200000) > 70000); /* more than is read at once */
    shutdown(fd, SHUT_WR);
    TURN_UNTIL(talk, end->closed == 1);
    turn_some(talk);
    close(fd);
}

static void a_fast_sender_delays_nobody(void **state)
{
    struct talk *talk = *state;
    int fds[2];
    struct end *fast = peer_new(talk, &fds[0]), *other = peer_new(talk, &fds[1]);
    size_t sent = 0;

    sent += peer_send(fds[0], sent, 1000000);
    peer_send(fds[1], 0, 1);
    size_t reads = 0;
    while (other->got == 0 && reads++ < 10) {
        sent += peer_send(fds[0], sent, 1000000); /* it is never without more */
        loop_turn(talk->loop, TURN_MS);
    }
    assert_int_equal(other->got, 1);
    assert_true(fast->got > 0);
    close(fds[0]);
    close(fds[1]);
}

/* A connection to a listener of its own, at talk->ends[0]. */
static int unix_peer(struct talk *talk, struct sockaddr_un *address, struct listener **listener)
{
    char host[96];

    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    snprintf(address->sun_path, sizeof(address->sun_path), "/tmp/nod-net-stream-%d", (int)getpid());
    int len = snprintf(host, sizeof(host), "unix:%s", address->sun_path);
    assert_int_equal(
        listener_open(talk->loop, str_n(host, (size_t)len), 0, on_accepted, talk, listener),
        NOD_OK);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)address, sizeof(*address)), 0);
    TURN_UNTIL(talk, talk->count == 1);
    return fd;
}

static void a_unix_socket_is_the_same(void **state)
{
    struct talk *talk = *state;
    struct sockaddr_un address;
    struct listener *listener;
    int fd = unix_peer(talk, &address, &listener);

    assert_int_equal(listener_port(listener), 0);
    struct end *end = &talk->ends[0];

    char *bytes = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (char)i;
    stream_write(end->stream, &(struct str){ bytes, LARGE }, 1);
    free(bytes);
    assert_true(stream_queued(end->stream) > 0);
    size_t taken = 0;
    for (int i = 0; taken < LARGE && i < TURNS_MAX * 10; i++) {
        taken += peer_take(fd, taken);
        loop_turn(talk->loop, 1);
    }
    assert_int_equal(taken, LARGE);
    TURN_UNTIL(talk, end->drained == 1);
    peer_send(fd, 0, 5);
    close(fd);
    TURN_UNTIL(talk, end->ended == 1 || end->broken);
    assert_int_equal(end->got, 5);
    listener_close(listener);
    assert_int_equal(access(address.sun_path, F_OK), -1); /* its file goes with it */
}

/* With a descriptor, which nobody takes. */
static void peer_send_descriptor(int fd, const void *bytes, size_t len)
{
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control = { { 0 } };
    struct iovec part = { (void *)(uintptr_t)bytes, len };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.room,
                              .msg_controllen = sizeof(control.room) };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    assert_int_equal(sendmsg(fd, &message, 0), (ssize_t)len);
}

static void bytes_behind_a_descriptor_do_not_wait_for_more(void **state)
{
    struct talk *talk = *state;
    struct sockaddr_un address;
    struct listener *listener;
    int fd = unix_peer(talk, &address, &listener);

    peer_send_descriptor(fd, "\0\1\2", 3);
    peer_send(fd, 3, 5);
    TURN_UNTIL(talk, talk->ends[0].got == 8);
    close(fd);
    listener_close(listener);
}

static void connections_wait_while_no_descriptor_can_be_had(void **state)
{
    struct talk *talk = *state;
    struct rlimit before, few;
    int fd = peer_connect(talk), first_free = dup(fd);

    close(first_free);
    getrlimit(RLIMIT_NOFILE, &before);
    few = (struct rlimit){ (rlim_t)first_free, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    turn_some(talk);
    assert_int_equal(talk->count, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    TURN_UNTIL(talk, talk->count == 1);
    peer_send(fd, 0, 3);
    TURN_UNTIL(talk, talk->ends[0].got == 3);
    close(fd);
}

static void open_connections_keep_the_loop_running(void **state)
{
    struct talk *talk = *state;
    int fd;
    struct end *end = peer_new(talk, &fd);

    end->echo_end = true;
    listener_close(talk->listener);
    talk->listener = NULL;
    shutdown(fd, SHUT_WR);
    loop_run(talk->loop); /* it ends because the last connection has, and not before */
    assert_int_equal(end->ended, 1);
    assert_int_equal(end->closed, 1);
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

SUBJECT(stream)
{
    const struct CMUnitTest tests[] = {
        TEST(what_does_not_fit_one_read_arrives_whole_without_more_being_sent),
        TEST(an_end_behind_bytes_is_told_behind_them_and_once),
        TEST(bytes_behind_an_urgent_one_do_not_wait_for_more),
        TEST(who_does_not_read_is_told_nothing_and_later_everything),
        TEST(a_slow_reader_gets_everything_in_order_and_the_end_behind_it),
        TEST(a_peer_that_resets_is_told_once_and_not_from_inside_a_write),
        TEST(a_reset_is_told_to_who_reads),
        TEST(one_that_is_closed_by_another_in_the_same_turn_is_told_nothing),
        TEST(one_may_close_itself_while_more_is_waiting),
        TEST(a_fast_sender_delays_nobody),
        TEST(a_unix_socket_is_the_same),
        TEST(bytes_behind_a_descriptor_do_not_wait_for_more),
        TEST(connections_wait_while_no_descriptor_can_be_had),
        TEST(open_connections_keep_the_loop_running),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
