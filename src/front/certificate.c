/*
 * front/certificate: TLS on the addresses that the server listens on.
 *
 * If there is a certificate, all TCP listeners speak TLS. Unix sockets do not: nobody can listen in
 * there. The files are read when the server begins, and again whenever front_reload is called.
 * Connections keep the certificate they began with.
 *
 * Holds always: files that cannot be used change nothing, so a certificate that was loaded stays.
 */
#include <sys/stat.h>

#include "base/log.h"
#include "front/front_inside.h"
#include "net/tls.h"

/* NULL, logged: they cannot be used. */
static struct tls_context *load(const char *cert, const char *own_key)
{
    const char *key = own_key ? own_key : cert;
    char why[TLS_WHY_MAX];
    struct tls_context *context =
        tls_context_create(&(struct tls_opts){ .cert_file = cert, .key_file = key }, why);

    if (!context) {
        LOG_ERROR("the certificate or its key cannot be used", LOG_CSTR("cert", cert),
                  LOG_CSTR("key", key), LOG_CSTR("why", why),
                  LOG_CSTR("named_by", own_key ? "--tls-cert and --tls-key"
                                                     : "--tls-cert; the key may be in a file of "
                                                       "its own, which --tls-key names"));
        return NULL;
    }
    struct stat facts;
    if (stat(key, &facts) == 0 && facts.st_mode & (S_IRGRP | S_IROTH))
        LOG_WARN("the private key can be read by others; chmod 600 it", LOG_CSTR("path", key));
    return context;
}

bool certificate_open(struct front *front)
{
    if (!front->opts.tls_cert)
        return true;
    front->tls = load(front->opts.tls_cert, front->opts.tls_key);
    return front->tls != NULL;
}

void certificate_close(struct front *front)
{
    tls_context_destroy(front->tls);
    front->tls = NULL;
}

bool front_reload_fits(struct front *front, const char *cert, const char *key)
{
    struct tls_context *fresh = front->tls ? load(cert, key) : NULL;
    bool fine = !front->tls || fresh;

    tls_context_destroy(fresh);
    return fine;
}

bool front_reload(struct front *front, const char *cert, const char *key)
{
    struct tls_context *fresh = front->tls ? load(cert, key) : NULL;

    if (!front->tls)
        return true;
    if (!fresh) {
        LOG_WARN("the certificate stays as it was");
        return false;
    }
    tls_context_destroy(front->tls); /* connections that were made with it keep what they need */
    front->tls = fresh;
    front->opts.tls_cert = cert;
    front->opts.tls_key = key;
    LOG_INFO("the certificate was read anew", LOG_CSTR("cert", cert));
    return true;
}

struct stream *certificate_wrap(struct front *front, struct stream *stream, const struct peer *peer)
{
    if (!front->tls || peer->kind == PEER_LOCAL)
        return stream;
    return tls_server(front->opts.loop, front->tls, stream);
}

bool front_has_tls(const struct front *front)
{
    return front->tls != NULL;
}
