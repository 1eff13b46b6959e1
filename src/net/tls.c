/*
 * net/tls: OpenSSL between two streams.
 *
 * OpenSSL sees only memory: what the lower stream brings is put into one BIO, and what OpenSSL
 * wants to send is taken out of the other. So it never blocks, and knows no socket.
 *
 * Holds always: an op makes no up-call. What an op finds out (a write that fails, bytes that were
 * decrypted before reading was stopped) is told by a deferred turn. The object is freed when the
 * lower stream is closed and no turn is under way.
 */
#include "net/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/buf.h"
#include "base/mem.h"

enum {
    PLAIN_BYTES = 16 * 1024, /* bytes handed up in one piece: what a TLS record holds */
    HOST_MAX = 255,          /* bytes of a name */
};

struct tls_context {
    SSL_CTX *ssl;
};

struct tls {
    struct stream stream; /* first */
    struct loop *loop;
    struct stream *lower;
    SSL *ssl;
    BIO *in;
    BIO *out;
    struct buf early; /* plain bytes that wait for the handshake */
    bool shaken;      /* the handshake is done */
    bool reading;     /* the owner wants bytes */
    bool shutting;    /* the owner writes no more */
    bool lower_ended; /* no more bytes come from below */
    bool ended;       /* on_end(0) was told */
    bool broken;      /* on_end(negative) was told */
    bool closed;      /* by the owner */
    bool lower_gone;
    bool turning; /* a deferred turn is on its way */
    bool busy;    /* inside a callback: must not be freed */
    int failed;   /* negative: an error that is still to be told */
    char why[TLS_WHY_MAX];
};

static struct tls *tls_of(struct stream *stream)
{
    return (struct tls *)(void *)stream;
}

static void tls_release(struct tls *tls)
{
    if (!tls->lower_gone || tls->turning || tls->busy)
        return;
    if (tls->stream.events)
        tls->stream.events->on_closed(&tls->stream);
    SSL_free(tls->ssl); /* and its BIOs */
    buf_finish(&tls->early);
    mem_free(tls);
}

/* --- failures --- */

static void note_failure(struct tls *tls, int error, const char *what)
{
    if (tls->failed)
        return;
    tls->failed = error;
    snprintf(tls->why, sizeof(tls->why), "%s", what);
}

/* Notes what OpenSSL says went wrong. */
static void note_ssl_failure(struct tls *tls)
{
    long verdict = SSL_get_verify_result(tls->ssl);
    unsigned long code = ERR_peek_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    char what[TLS_WHY_MAX];

    if (!tls->shaken && verdict != X509_V_OK)
        snprintf(what, sizeof(what), "its certificate was refused: %s",
                 X509_verify_cert_error_string(verdict));
    else
        snprintf(what, sizeof(what), "TLS failed: %s", reason ? reason : "the other side left");
    ERR_clear_error();
    note_failure(tls, UV_EPROTO, what);
}

/* --- downwards --- */

/* What OpenSSL wants to send. */
static void flush(struct tls *tls)
{
    char *at;
    long len = BIO_get_mem_data(tls->out, &at);

    if (len <= 0)
        return;
    stream_write(tls->lower, &(struct str){ at, (size_t)len }, 1);
    (void)BIO_reset(tls->out);
}

static void encrypt(struct tls *tls, struct str plain)
{
    size_t written;

    if (!plain.len || tls->failed)
        return;
    ERR_clear_error();
    if (SSL_write_ex(tls->ssl, plain.at, plain.len, &written) != 1)
        note_ssl_failure(tls);
}

static void say_goodbye(struct tls *tls)
{
    if (tls->shaken && !tls->failed) {
        ERR_clear_error();
        SSL_shutdown(tls->ssl);
        ERR_clear_error();
        flush(tls);
    }
}

/* --- upwards --- */

static void shake(struct tls *tls)
{
    ERR_clear_error();
    int done = SSL_do_handshake(tls->ssl);

    if (done == 1) {
        tls->shaken = true;
        encrypt(tls, buf_str(&tls->early));
        buf_finish(&tls->early);
        buf_init(&tls->early, TLS_EARLY_MAX);
    } else if (SSL_get_error(tls->ssl, done) != SSL_ERROR_WANT_READ) {
        note_ssl_failure(tls);
    }
    flush(tls); /* including the alert that says why not */
    if (tls->shaken && tls->shutting) {
        say_goodbye(tls);
        stream_shutdown(tls->lower);
    }
}

/* The other side has said that it sends no more, or is silent for now. */
static void read_nothing(struct tls *tls, int got)
{
    int error = SSL_get_error(tls->ssl, got);

    if (error == SSL_ERROR_ZERO_RETURN) {
        if (!tls->ended && !tls->closed) {
            tls->ended = true;
            tls->stream.events->on_end(&tls->stream, 0);
        }
    } else if (error != SSL_ERROR_WANT_READ) {
        note_ssl_failure(tls);
    }
    flush(tls); /* answers of the protocol itself */
}

static void decrypt(struct tls *tls)
{
    char plain[PLAIN_BYTES];

    while (tls->reading && !tls->closed && !tls->failed && !tls->ended) {
        ERR_clear_error();
        int got = SSL_read(tls->ssl, plain, sizeof(plain));
        if (got <= 0) {
            read_nothing(tls, got);
            return;
        }
        tls->stream.events->on_read(&tls->stream, str_n(plain, (size_t)got));
    }
}

/* Goes on with the handshake, or with decrypting, as far as the bytes go. */
static void advance(struct tls *tls)
{
    tls->busy = true;
    if (!tls->shaken && !tls->failed && !tls->closed)
        shake(tls);
    if (tls->shaken)
        decrypt(tls);
    if (tls->lower_ended && !tls->ended && !tls->failed && (tls->reading || !tls->shaken))
        note_failure(tls, UV_ECONNABORTED, "the connection ended without TLS's own end");
    if (tls->failed && !tls->broken && !tls->closed) {
        tls->broken = true;
        tls->stream.events->on_end(&tls->stream, tls->failed);
    }
    tls->busy = false;
    tls_release(tls);
}

static void turn(void *data)
{
    struct tls *tls = data;

    tls->turning = false;
    advance(tls);
}

static void turn_later(struct tls *tls)
{
    if (tls->turning)
        return;
    tls->turning = true;
    loop_defer(tls->loop, turn, tls);
}

static void lower_read(struct stream *lower, struct str bytes)
{
    struct tls *tls = lower->owner;

    if (tls->failed || tls->closed)
        return;
    if (BIO_write(tls->in, bytes.at, (int)bytes.len) != (int)bytes.len)
        note_failure(tls, UV_ENOMEM, "TLS failed: no memory");
    advance(tls);
}

static void lower_end(struct stream *lower, int error)
{
    struct tls *tls = lower->owner;

    if (tls->closed || tls->broken)
        return;
    tls->lower_ended = true;
    if (error) {
        tls->failed = error;
        tls->broken = true;
        tls->stream.events->on_end(&tls->stream, error);
        return;
    }
    advance(tls);
}

static void lower_drain(struct stream *lower)
{
    struct tls *tls = lower->owner;

    if (!tls->closed && tls->stream.events->on_drain)
        tls->stream.events->on_drain(&tls->stream);
}

static void lower_closed(struct stream *lower)
{
    struct tls *tls = lower->owner;

    tls->lower_gone = true;
    tls_release(tls);
}

static const struct stream_events lower_events = { lower_read, lower_end, lower_drain,
                                                   lower_closed };

/* --- the ops --- */

static void tls_read_start(struct stream *stream)
{
    struct tls *tls = tls_of(stream);

    if (tls->closed || tls->ended || tls->broken)
        return;
    tls->reading = true;
    stream_read_start(tls->lower);
    if (tls->shaken) /* some may have come before */
        turn_later(tls);
}

static void tls_read_stop(struct stream *stream)
{
    struct tls *tls = tls_of(stream);

    tls->reading = false;
    if (tls->shaken && !tls->closed)
        stream_read_stop(tls->lower);
}

static void tls_write(struct stream *stream, const struct str *parts, size_t count)
{
    struct tls *tls = tls_of(stream);

    if (tls->closed || tls->failed || tls->shutting)
        return;
    for (size_t i = 0; i < count; i++) {
        if (tls->shaken)
            encrypt(tls, parts[i]);
        else if (!buf_add(&tls->early, parts[i]))
            note_failure(tls, UV_ENOBUFS, "too much was written before TLS began");
    }
    flush(tls);
    if (tls->failed)
        turn_later(tls);
}

static size_t tls_queued(const struct stream *stream)
{
    const struct tls *tls = (const struct tls *)(const void *)stream;

    return tls->lower_gone ? 0 : tls->early.len + stream_queued(tls->lower);
}

static void tls_shutdown(struct stream *stream)
{
    struct tls *tls = tls_of(stream);

    if (tls->closed || tls->failed || tls->shutting)
        return;
    tls->shutting = true;
    if (tls->shaken) {
        say_goodbye(tls);
        stream_shutdown(tls->lower);
    }
}

static void tls_close(struct stream *stream)
{
    struct tls *tls = tls_of(stream);

    if (tls->closed)
        return;
    tls->closed = true;
    if (!tls->shutting)
        say_goodbye(tls);
    stream_close(tls->lower);
}

static size_t tls_unacknowledged(const struct stream *stream)
{
    const struct tls *tls = (const struct tls *)(const void *)stream;

    return tls->lower_gone ? 0 : stream_unacknowledged(tls->lower);
}

static const struct stream_ops tls_ops = {
    .read_start = tls_read_start,
    .read_stop = tls_read_stop,
    .write = tls_write,
    .queued = tls_queued,
    .unacknowledged = tls_unacknowledged,
    .shutdown = tls_shutdown,
    .close = tls_close,
};

/* --- making one --- */

static bool is_address(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* Whom the certificate has to name. False: this cannot be a name. */
static bool expect_host(SSL *ssl, struct str host)
{
    char name[HOST_MAX + 1];

    if (host.len == 0 || host.len > HOST_MAX || memchr(host.at, '\0', host.len))
        return false;
    memcpy(name, host.at, host.len);
    name[host.len] = '\0';
    if (is_address(name))
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

static struct tls *tls_create(struct loop *loop, struct tls_context *context, struct stream *lower)
{
    struct tls *tls = MEM_NEW(struct tls);

    tls->stream.ops = &tls_ops;
    tls->loop = loop;
    tls->lower = lower;
    buf_init(&tls->early, TLS_EARLY_MAX);
    tls->ssl = SSL_new(context->ssl);
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(tls->in, -1); /* an empty BIO means "later", not "the end" */
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    stream_own(lower, &lower_events, tls);
    return tls;
}

static struct stream *tls_begin(struct tls *tls)
{
    stream_read_start(tls->lower);
    turn_later(tls);
    return &tls->stream;
}

struct stream *tls_client(struct loop *loop, struct tls_context *context, struct stream *lower,
                          struct str host)
{
    struct tls *tls = tls_create(loop, context, lower);

    SSL_set_connect_state(tls->ssl);
    SSL_set_verify(tls->ssl, SSL_VERIFY_PEER, NULL);
    if (!expect_host(tls->ssl, host))
        note_failure(tls, UV_EINVAL, "the host has no name that a certificate could carry");
    return tls_begin(tls);
}

struct stream *tls_server(struct loop *loop, struct tls_context *context, struct stream *lower)
{
    struct tls *tls = tls_create(loop, context, lower);

    SSL_set_accept_state(tls->ssl);
    return tls_begin(tls);
}

const char *tls_why(const struct stream *stream)
{
    return stream->ops == &tls_ops ? ((const struct tls *)(const void *)stream)->why : "";
}

/* --- contexts --- */

/* OpenSSL says "system lib" for a file that is not there, and "no start line" for one that is not
 * PEM. */
static const char *file_problem(const char *file)
{
    int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    struct stat about;

    if (!file)
        return NULL;
    if (fd < 0)
        return strerror(errno);
    bool folder = fstat(fd, &about) == 0 && S_ISDIR(about.st_mode);
    close(fd);
    return folder ? "it is a folder" : NULL;
}

/* Nothing in the file looks like it. OpenSSL looks for keys in every format that it knows. */
static bool nothing_in_pem(unsigned long first)
{
    int lib = first ? ERR_GET_LIB(first) : 0;

    return (lib == ERR_LIB_PEM && ERR_GET_REASON(first) == PEM_R_NO_START_LINE) ||
           (lib == ERR_LIB_OSSL_DECODER && ERR_GET_REASON(first) == ERR_R_UNSUPPORTED);
}

static bool refuse(char *why, const char *what, const char *file)
{
    unsigned long first = ERR_peek_error(), code = ERR_peek_last_error();
    const char *reason = file_problem(file);

    if (!reason && nothing_in_pem(first))
        reason = "it has nothing of the kind in PEM";
    if (!reason && code)
        reason = ERR_reason_error_string(code);
    snprintf(why, TLS_WHY_MAX, "%s: %s: %s", what, file ? file : "the system's",
             reason ? reason : "it cannot be read");
    ERR_clear_error();
    return false;
}

static bool context_fill(SSL_CTX *ssl, const struct tls_opts *opts, char *why)
{
    if (opts->ca_file ? SSL_CTX_load_verify_file(ssl, opts->ca_file) != 1
                      : SSL_CTX_set_default_verify_paths(ssl) != 1)
        return refuse(why, "the file of authorities cannot be used", opts->ca_file);
    const char *key = opts->key_file ? opts->key_file : opts->cert_file;
    if (opts->cert_file && SSL_CTX_use_certificate_chain_file(ssl, opts->cert_file) != 1)
        return refuse(why, "the certificate cannot be used", opts->cert_file);
    if (key && SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1)
        return refuse(why, "the private key cannot be used", key);
    return true;
}

struct tls_context *tls_context_create(const struct tls_opts *opts, char why[TLS_WHY_MAX])
{
    SSL_CTX *ssl = SSL_CTX_new(TLS_method());

    why[0] = '\0';
    if (!ssl) {
        refuse(why, "TLS cannot be used", "OpenSSL");
        return NULL;
    }
    SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(ssl, SSL_OP_CLEANSE_PLAINTEXT); /* a body may be a secret */
    if (opts->ask_client)
        SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    if (!context_fill(ssl, opts, why)) {
        SSL_CTX_free(ssl);
        return NULL;
    }
    struct tls_context *context = MEM_NEW(struct tls_context);
    context->ssl = ssl;
    return context;
}

void tls_context_destroy(struct tls_context *context)
{
    if (!context)
        return;
    SSL_CTX_free(context->ssl);
    mem_free(context);
}
