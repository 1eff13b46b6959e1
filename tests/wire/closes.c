/*
 * closes: somebody who sends a request and closes their end, in every way and at every moment that
 * a process has, for open-socket.test.js.
 *
 *   closes PORT FILE TRIES        FILE has the bytes of a request. Prints which statuses came back
 *   closes PORT FILE TRIES blind  only in ways that read nothing
 *   closes PORT FILE 0            it is sent once, and nothing is closed before the answer is there
 *   closes PORT FILE leave FROM   from that port: has one answer, says so, and when its input ends
 *                                 sends the request and resets the connection
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum way {
    CLOSE, /* both directions */
    DEAF,  /* the same, and what it would read was closed before it sent anything */
    RESET, /* with an RST */
    HALF,  /* one direction: it reads on */
    TWICE, /* the same, with a second request behind the first */
    WAYS
};

/* At once, after a moment, and when the server may be reading: in microseconds. */
static const useconds_t moments[] = { 0, 200, 2000 };
enum { MOMENTS = sizeof(moments) / sizeof(moments[0]), CUTS = 3 };

static int port;

static struct sockaddr_in loopback(int at)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)at),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int connected(int from)
{
    struct sockaddr_in own = loopback(from), server = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        (from && bind(fd, (struct sockaddr *)&own, sizeof(own)) != 0) ||
        connect(fd, (struct sockaddr *)&server, sizeof(server)) != 0)
        err(1, "cannot connect");
    return fd;
}

/* The server may have closed its end by then. */
static void put(int fd, const char *bytes, size_t len)
{
    if (len && send(fd, bytes, len, MSG_NOSIGNAL) < 0)
        return;
}

/* Prints the statuses of what can be read, to its end or to the end of one head. */
static void answers(int fd, bool one)
{
    char text[65536];
    size_t len = 0;
    ssize_t got;

    text[0] = '\0';
    while (!(one && strstr(text, "\r\n\r\n")) && len < sizeof(text) - 1 &&
           (got = recv(fd, text + len, sizeof(text) - 1 - len, 0)) > 0)
        text[len += (size_t)got] = '\0';
    for (const char *at = text; (at = strstr(at, "HTTP/1.1 ")); at += 9)
        printf("%.3s\n", at + 9);
}

static void end(int fd, enum way way)
{
    struct linger at_once = { .l_onoff = 1 };

    if (way == RESET)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    if (way == HALF || way == TWICE) {
        shutdown(fd, SHUT_WR);
        answers(fd, false);
    }
    close(fd);
}

/* In two pieces, with the moment in between; the second may be empty. */
static void attempt(enum way way, useconds_t moment, const char *request, size_t len, size_t cut)
{
    int fd = connected(0);

    if (way == DEAF)
        shutdown(fd, SHUT_RD);
    put(fd, request, cut);
    if (moment)
        usleep(moment);
    put(fd, request + cut, len - cut);
    if (way == TWICE)
        put(fd, request, len);
    end(fd, way);
}

static void leave(int from, const char *request, size_t len)
{
    char head[128], byte;
    int fd = connected(from);

    snprintf(head, sizeof(head), "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", port);
    put(fd, head, strlen(head));
    answers(fd, true);
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    put(fd, request, len);
    end(fd, RESET);
}

int main(int argc, char **argv)
{
    char request[8192] = "";
    FILE *file = argc > 3 ? fopen(argv[2], "r") : NULL;
    size_t len = file ? fread(request, 1, sizeof(request) - 1, file) : 0;

    if (!len)
        errx(2, "closes PORT FILE TRIES, or leave FROM");
    fclose(file);
    port = atoi(argv[1]);
    size_t cuts[CUTS] = { len, (size_t)(strstr(request, "\r\n\r\n") - request) + 4, len - 1 };
    int ways = argc > 4 ? RESET + 1 : WAYS;
    if (!strcmp(argv[3], "leave") && argc > 4)
        leave(atoi(argv[4]), request, len);
    else if (!atoi(argv[3])) {
        int fd = connected(0);
        put(fd, request, len);
        answers(fd, true);
    }
    for (int i = 0; i < atoi(argv[3]); i++)
        attempt((enum way)(i % ways), moments[i / ways % MOMENTS], request, len,
                cuts[i / ways / MOMENTS % CUTS]);
    return 0;
}
