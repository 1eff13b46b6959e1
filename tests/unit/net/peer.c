/*
 * tests/unit/net/peer: who is at the other end, as the kernel reports it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/peer.h"
#include "../runner.h"

static bool written_as(const struct peer *peer, const char *expected)
{
    char text[PEER_TEXT_MAX];

    return str_eq(peer_text(peer, text), str_of(expected));
}

static void a_process_of_this_user_is_known_on_a_unix_socket(void **state)
{
    int ends[2];
    struct peer peer;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    peer_of(ends[0], true, &peer);
    assert_int_equal(peer.kind, PEER_LOCAL);
    assert_true(peer.same_user);
    assert_true(written_as(&peer, "unix"));
    close(ends[1]); /* it is still known who it was */
    peer_of(ends[0], true, &peer);
    assert_true(peer.kind == PEER_LOCAL && peer.same_user);
    close(ends[0]);
}

static int connected(int family, const struct sockaddr *address, socklen_t len, int *accepted)
{
    struct sockaddr_storage bound;
    socklen_t bound_len = sizeof(bound);
    int listening = socket(family, SOCK_STREAM, 0), fd = socket(family, SOCK_STREAM, 0);

    assert_int_equal(bind(listening, address, len), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&bound, &bound_len), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&bound, bound_len), 0);
    *accepted = accept(listening, NULL, NULL);
    assert_true(*accepted >= 0);
    close(listening);
    return fd;
}

static void the_address_of_a_connection_is_told(void **state)
{
    struct sockaddr_in loopback = { .sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct peer peer;
    int accepted,
        fd = connected(AF_INET, (struct sockaddr *)&loopback, sizeof(loopback), &accepted);

    (void)state;
    peer_of(accepted, false, &peer);
    assert_int_equal(peer.kind, PEER_IP4);
    assert_false(peer.same_user);
    assert_true(written_as(&peer, "127.0.0.1"));
    close(fd);
    close(accepted);
    peer_of(-1, false, &peer);
    assert_int_equal(peer.kind, PEER_UNKNOWN);
    assert_true(written_as(&peer, "unknown"));
}

/* Both ends are this process's. What becomes of ours, or of the other one: it is a stranger's. */
static void end_by_closing(int fd, int accepted)
{
    (void)accepted;
    close(fd);
}

static void end_by_half(int fd, int accepted)
{
    (void)accepted;
    shutdown(fd, SHUT_WR);
}

static void end_by_resetting(int fd, int accepted)
{
    struct linger at_once = { .l_onoff = 1 };

    (void)accepted;
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(fd);
}

static void end_of_ours(int fd, int accepted)
{
    (void)fd;
    shutdown(accepted, SHUT_WR);
}

static void only_an_open_socket_is_this_users(void **state)
{
    void (*const ends[])(int fd, int accepted) = { end_by_closing, end_by_half, end_by_resetting,
                                                   end_of_ours };
    struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    struct sockaddr_in6 mapped = { .sin6_family = AF_INET6,
                                   .sin6_addr.s6_addr = { [10] = 255, 255, 127, [15] = 1 } };
    const struct {
        const void *address;
        socklen_t len;
    } cases[] = { { &four, sizeof(four) }, { &six, sizeof(six) }, { &mapped, sizeof(mapped) } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) * 4; i++) {
        const struct sockaddr *address = cases[i / 4].address;
        struct peer peer;
        int accepted, fd = connected(address->sa_family, address, cases[i / 4].len, &accepted);

        peer_of(accepted, false, &peer);
        assert_true(peer_is_us(&peer));
        ends[i % 4](fd, accepted);
        assert_false(peer_is_us(&peer));
        struct peer other = peer;
        other.mark++;
        assert_false(peer_is_us(&other));
        close(accepted);
        if (i % 4 == 1 || i % 4 == 3)
            close(fd);
    }
}

static void addresses_are_read_as_people_write_them(void **state)
{
    static const char *const cases[][2] = { { "203.0.113.7", "203.0.113.7" },
                                            { "2001:DB8:0::1", "2001:db8::1" },
                                            { "::ffff:10.0.0.1", "10.0.0.1" } };
    static const char *const wrong[] = { "",
                                         "1.2.3",
                                         "1.2.3.4.5",
                                         "[::1]",
                                         "::1%lo",
                                         "localhost",
                                         "2001:db8:0000:0000:0000:0000:0000:0000:0000:0000:0001" };
    struct peer peer;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(peer_parse(str_of(cases[i][0]), &peer));
        assert_true(written_as(&peer, cases[i][1]));
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (peer_parse(str_of(wrong[i]), &peer))
            fail_msg("took %s", wrong[i]);
    assert_false(peer_parse(STR("127.0.0.1\0x"), &peer));
}

SUBJECT(peer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_of_this_user_is_known_on_a_unix_socket),
        cmocka_unit_test(the_address_of_a_connection_is_told),
        cmocka_unit_test(only_an_open_socket_is_this_users),
        cmocka_unit_test(addresses_are_read_as_people_write_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
