/* tests/unit/store/redis_server: see redis_server.h. */
#include "redis_server.h"
#include "../runner.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS_MAX = 32 };

static void must(bool truth, const char *what)
{
    if (truth)
        return;
    fprintf(stderr, "redis_server: %s: %s\n", what, strerror(errno));
    abort();
}

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* A node of a Cluster listens 10000 above its port too. */
enum { PORT_MOST = 65535 - 10000, PORT_TRIES = 200 };

int server_free_port(void)
{
    for (int i = 0; i < PORT_TRIES; i++) {
        struct sockaddr_in at = loopback(0);
        socklen_t len = sizeof(at);
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        must(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0, "bind");
        must(getsockname(fd, (struct sockaddr *)&at, &len) == 0, "getsockname");
        close(fd);
        if (ntohs(at.sin_port) <= PORT_MOST)
            return ntohs(at.sin_port);
    }
    must(false, "no free port");
    return 0;
}

/* --- talking --- */

static size_t split(char *text, char **words)
{
    size_t count = 0;

    while (*text && count < WORDS_MAX) {
        char end = ' ';
        while (*text == ' ')
            text++;
        if (!*text)
            break;
        if (*text == '\'') {
            end = '\'';
            text++;
        }
        words[count++] = text;
        while (*text && *text != end)
            text++;
        if (*text)
            *text++ = '\0';
    }
    return count;
}

static size_t add_command(char *out, size_t room, char *text)
{
    char *words[WORDS_MAX];
    size_t count = split(text, words);
    size_t len = (size_t)snprintf(out, room, "*%zu\r\n", count);

    for (size_t i = 0; i < count; i++)
        len +=
            (size_t)snprintf(out + len, room - len, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
    return len;
}

/* Reads until nothing has come for a moment. */
static size_t read_reply(int fd, char *reply, size_t room)
{
    size_t len = 0;

    for (int wait = PATIENCE_MS; len + 1 < room;) {
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        if (poll(&ready, 1, wait) <= 0)
            break;
        ssize_t got = read(fd, reply + len, room - len - 1);
        if (got <= 0)
            break;
        len += (size_t)got;
        wait = 20;
    }
    reply[len] = '\0';
    return len;
}

bool server_say(struct redis_server *server, const char *command, char *reply, size_t room)
{
    struct sockaddr_in at = loopback(server->port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char text[4096], out[8192];
    size_t len = 0;

    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0) {
        close(fd);
        return false;
    }
    if (server->password[0]) {
        snprintf(text, sizeof(text), "AUTH %s", server->password);
        len = add_command(out, sizeof(out), text);
    }
    snprintf(text, sizeof(text), "%s", command);
    len += add_command(out + len, sizeof(out) - len, text);
    bool said = write(fd, out, len) == (ssize_t)len && read_reply(fd, reply, room) > 0;
    close(fd);
    if (said && server->password[0]) { /* the reply to AUTH stands before it */
        char *own = strstr(reply, "\r\n");
        if (own)
            memmove(reply, own + 2, strlen(own + 2) + 1);
    }
    return said;
}

void server_do(struct redis_server *server, const char *command)
{
    char reply[512] = "";

    must(server_say(server, command, reply, sizeof(reply)), command);
    if (reply[0] != '-')
        return;
    fprintf(stderr, "redis_server: %s: %s\n", command, reply);
    abort();
}

/* --- its life --- */

static void run(struct redis_server *server)
{
    const char *args[SERVER_ARGS_MAX + 32];
    char port[16], tls_port[16];
    size_t n = 0;

    snprintf(port, sizeof(port), "%d", server->port);
    snprintf(tls_port, sizeof(tls_port), "%d", server->tls_port);
    const char *const fixed[] = {
        "redis-server", "--port",      port, "--bind",       "127.0.0.1",    "--dir",
        server->folder, "--save",      "",   "--unixsocket", server->socket, "--logfile",
        "log",          "--daemonize", "no", "--tls-port",   tls_port
    };
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        args[n++] = fixed[i];
    for (size_t i = 0; i < SERVER_ARGS_MAX && server->args[i]; i++)
        args[n++] = server->args[i];
    args[n] = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(args[0], (char *const *)(uintptr_t)args);
    perror("redis-server");
    _exit(127);
}

void server_start(struct redis_server *server)
{
    char reply[256];

    if (!server->folder[0]) {
        must(scratch_make(server->folder, sizeof(server->folder)), "scratch_make");
        server->port = server_free_port();
    }
    snprintf(server->socket, sizeof(server->socket), "%s/socket", server->folder);
    server->pid = fork();
    must(server->pid >= 0, "fork");
    if (server->pid == 0)
        run(server);
    for (int i = 0; i < PATIENCE_MS / 5; i++) {
        if (server_say(server, "PING", reply, sizeof(reply)) && reply[0] == '+')
            return;
        must(waitpid(server->pid, NULL, WNOHANG) == 0, "redis-server ended at once");
        usleep(5000);
    }
    must(false, "redis-server does not answer");
}

void server_kill(struct redis_server *server)
{
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

void server_stop(struct redis_server *server)
{
    char command[128];

    if (server->pid)
        server_kill(server);
    snprintf(command, sizeof(command), "rm -rf '%s'", server->folder);
    must(system(command) == 0, "rm");
    server->folder[0] = '\0';
}

/* --- certificates --- */

static X509 *certificate(EVP_PKEY *key, const char *name, X509 *issuer, EVP_PKEY *issuer_key,
                         const char *alternative)
{
    X509 *made = X509_new();
    X509V3_CTX context;

    X509_set_version(made, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made), issuer ? 2 : 1);
    X509_gmtime_adj(X509_getm_notBefore(made), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made), 24 * 3600);
    X509_set_pubkey(made, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(made, X509_get_subject_name(issuer ? issuer : made));
    X509V3_set_ctx(&context, issuer ? issuer : made, made, NULL, NULL, 0);
    X509_EXTENSION *more =
        alternative ? X509V3_EXT_conf_nid(NULL, &context, NID_subject_alt_name, alternative)
                    : X509V3_EXT_conf_nid(NULL, &context, NID_basic_constraints, "CA:TRUE");
    must(more && X509_add_ext(made, more, -1) == 1, "extension");
    X509_EXTENSION_free(more);
    must(X509_sign(made, issuer ? issuer_key : key, EVP_sha256()) > 0, "sign");
    return made;
}

static FILE *open_in(const char *folder, const char *name)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    must(file != NULL, path);
    return file;
}

static void save_certificate(const char *folder, const char *name, X509 *what)
{
    FILE *file = open_in(folder, name);

    must(PEM_write_X509(file, what) == 1, name);
    fclose(file);
}

void certificates_make(const char *folder)
{
    EVP_PKEY *ca_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
    X509 *ca = certificate(ca_key, "test authority", NULL, NULL, NULL);
    X509 *cert = certificate(key, "test server", ca, ca_key, "IP:127.0.0.1,DNS:localhost");
    FILE *file = open_in(folder, "key.pem");

    must(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1, "key.pem");
    fclose(file);
    save_certificate(folder, "ca.pem", ca);
    save_certificate(folder, "cert.pem", cert);
    X509_free(ca);
    X509_free(cert);
    EVP_PKEY_free(ca_key);
    EVP_PKEY_free(key);
}
