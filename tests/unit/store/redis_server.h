/*
 * tests/unit/store/redis_server: a real redis-server for a test.
 *
 * It is on loopback, on a free port, in a folder that is removed with it. It dies with the test,
 * however that ends.
 */
#ifndef NOD_TESTS_REDIS_SERVER_H
#define NOD_TESTS_REDIS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SERVER_ARGS_MAX = 32 };

struct redis_server {
    pid_t pid;
    int port; /* plain; with TLS the port of that is one of its own */
    int tls_port;
    char folder[64];
    char socket[96];
    const char *args[SERVER_ARGS_MAX]; /* more settings: "--name", "value", ... NULL */
    char password[64];                 /* for server_say */
};

int server_free_port(void);
/* Starts it, again with what it has kept; ends the test if it does not come up. */
void server_start(struct redis_server *server);
/* SIGKILL; what it has kept is still there. */
void server_kill(struct redis_server *server);
void server_stop(struct redis_server *server); /* and nothing is left */

/* One command in words separated by spaces ('...' around a word with spaces); its reply as it came,
 * up to the room there is. False if nobody answers. */
bool server_say(struct redis_server *server, const char *command, char *reply, size_t room);
/* The same, and it has to be answered without an error. */
void server_do(struct redis_server *server, const char *command);

/* A certificate of an authority of its own, for 127.0.0.1 and localhost: FOLDER/ca.pem, cert.pem,
 * key.pem. */
void certificates_make(const char *folder);

#endif
