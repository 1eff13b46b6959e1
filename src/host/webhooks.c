/*
 * host/webhooks: the webhooks of the command line.
 *
 * Their secret is in a file or in the environment, never on the command line, which other users of
 * the machine can read.
 */
#include <stdio.h>

#include "base/log.h"
#include "host/host.h"

enum { SECRET_FILE_MAX = 4096 }; /* bytes of the file of secrets */

static const char variable[] = "NOD_WEBHOOK_SECRET";

static bool refuse(const char *where, const char *why)
{
    LOG_ERROR("the secret of the webhooks cannot be used", LOG_CSTR("where", where),
              LOG_CSTR("why", why));
    return false;
}

static bool read_file(const char *path, char *text, size_t *len)
{
    FILE *file = fopen(path, "re");

    if (!file)
        return false;
    *len = fread(text, 1, SECRET_FILE_MAX + 1, file);
    bool fine = !ferror(file);
    fclose(file);
    return fine;
}

static bool read_keys(struct signing_keys *keys, const struct settings *settings)
{
    const char *path = settings->opts.webhook_secret_file, *where = path ? path : variable, *why;
    char text[SECRET_FILE_MAX + 1];
    struct str secrets = str_of(settings->webhook_secret);
    size_t len = 0;

    if (path && !read_file(path, text, &len))
        return refuse(path, "the file cannot be read");
    if (path)
        secrets = str_n(text, len);
    else if (!secrets.len)
        return refuse(variable, "webhooks are signed, and there is no secret: set it, or give "
                                "--webhook-secret; make one with: "
                                "echo whsec_$(openssl rand -base64 32)");
    return signing_keys_read(keys, secrets, &why) || refuse(where, why);
}

bool host_open_webhooks(nod_server *server)
{
    const struct settings *settings = &server->settings;
    struct webhook_opts opts = { .loop = server->loop,
                                 .engine = server->engine,
                                 .front = server->inbox ? server->front : NULL,
                                 .urls = settings->opts.webhooks,
                                 .allow = settings->opts.webhook_allow,
                                 .ca_file = settings->ca_file,
                                 .content = settings->opts.webhook_content };

    if (!settings->opts.webhooks)
        return true;
    if (!read_keys(&opts.keys, settings))
        return false;
    server->webhooks = webhooks_create(&opts);
    signing_keys_forget(&opts.keys);
    return server->webhooks != NULL;
}
