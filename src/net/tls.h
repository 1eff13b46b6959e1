/*
 * net/tls: TLS as a stream over any other stream.
 *
 * tls_client and tls_server own the lower stream, and return a stream with the same contract
 * (stream.h). The handshake runs by itself; what is written before it is done waits for it. TLS 1.2
 * and 1.3.
 *
 * A client accepts only a certificate that a known authority has signed and that names the host it
 * meant to reach; this cannot be switched off. A connection that ends without TLS's own end is
 * broken (on_end with a negative error), so nobody can shorten a message unseen by cutting the
 * connection.
 */
#ifndef NOD_NET_TLS_H
#define NOD_NET_TLS_H

#include "net/stream.h"

struct tls_context;

enum {
    TLS_WHY_MAX = 256,        /* bytes of an error message */
    TLS_EARLY_MAX = 64 << 20, /* bytes written before the handshake is done */
};

struct tls_opts {
    const char *ca_file;   /* authorities of the other side; NULL: the system's */
    const char *cert_file; /* our certificate and its chain; a server needs one */
    const char *key_file;  /* NULL: in cert_file */
    bool ask_client;       /* server: a client without a certificate is refused */
};

/* NULL, and a message: a file cannot be used. Streams made with it may outlive it. */
struct tls_context *tls_context_create(const struct tls_opts *opts, char why[TLS_WHY_MAX]);
void tls_context_destroy(struct tls_context *context);

/* `host` is whom the certificate has to name: a name or an address. */
struct stream *tls_client(struct loop *loop, struct tls_context *context, struct stream *lower,
                          struct str host);
struct stream *tls_server(struct loop *loop, struct tls_context *context, struct stream *lower);

/* Why it broke, as a sentence; "" if it did not, or if the lower stream broke. */
const char *tls_why(const struct stream *stream);

#endif
