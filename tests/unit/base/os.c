/*
 * tests/unit/base/os: what base/os promises, whichever file is behind it. This program is built
 * with each of them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os.h"
#include "../runner.h"

static void random_bytes_fill_the_whole_and_differ(void **state)
{
    unsigned char one[4096] = { 0 }, other[4096] = { 0 }, none[64] = { 0 };

    (void)state;
    os_random(one, sizeof(one));
    os_random(other, sizeof(other));
    assert_memory_not_equal(one, other, sizeof(one));
    for (size_t i = 0; i < sizeof(one); i += sizeof(none)) /* all of it was written */
        assert_memory_not_equal(one + i, none, sizeof(none));
    os_random(one, 0);
}

static void a_piece_is_at_least_as_large_as_asked_or_unknown(void **state)
{
    (void)state;
    for (size_t size = 1; size < 100000; size = size * 3 + 1) {
        void *piece = malloc(size);
        size_t has = os_piece_size(piece);
        assert_non_null(piece);
        assert_true(has == 0 || has >= size);
        free(piece);
    }
}

static void assert_is_quiet(int fd)
{
    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void sockets_do_not_block_and_are_not_inherited(void **state)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(address);
    int listening = os_socket(AF_INET);

    (void)state;
    assert_is_quiet(listening);
    assert_int_equal(bind(listening, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &len), 0);
    assert_int_equal(os_accept(listening), -1);
    assert_true(errno == EAGAIN || errno == EWOULDBLOCK);

    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, len), 0);
    int accepted = os_accept(listening);
    assert_is_quiet(accepted);
    close(accepted);
    close(client);
    close(listening);
    assert_int_equal(os_accept(listening), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(os_socket(-1), -1);
}

static void a_pipe_that_is_opened_anew_leaves_the_old_one_as_it_was(void **state)
{
    int ends[2];
    char byte = 0;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    int again = os_reopen(ends[0], O_RDONLY);
    if (again >= 0) { /* not every system can */
        assert_is_quiet(again);
        assert_false(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
        assert_int_equal(write(ends[1], "x", 1), 1);
        assert_int_equal(read(again, &byte, 1), 1);
        assert_int_equal(byte, 'x');
        close(again);
    } else {
        assert_int_equal(errno, ENOSYS);
    }
    close(ends[0]);
    close(ends[1]);
}

/* Nobody else is taken for us: not who is no peer at all. */
static void a_peer_that_is_not_known_is_not_us(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_false(os_peer_is_us(ends[0]));
    assert_false(os_peer_is_us(-1));
    close(ends[0]);
    close(ends[1]);
}

SUBJECT(os)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bytes_fill_the_whole_and_differ),
        cmocka_unit_test(a_piece_is_at_least_as_large_as_asked_or_unknown),
        cmocka_unit_test(sockets_do_not_block_and_are_not_inherited),
        cmocka_unit_test(a_pipe_that_is_opened_anew_leaves_the_old_one_as_it_was),
        cmocka_unit_test(a_peer_that_is_not_known_is_not_us),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
