/*
 * net/remote: see remote.h. libcurl does the work.
 */
#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "net/remote_inside.h"

enum { REMOTE_TOKEN_FILE_MAX = 4096 }; /* bytes of a file with a token */

static bool set_base(struct remote *remote, const char *address, char why[REMOTE_WHY_MAX])
{
    struct str given = str_of(address);
    const char *scheme = strstr(address, "://") ? "" : "http://";
    bool local = str_starts(given, STR("unix:"));

    if (local)
        snprintf(remote->base, sizeof(remote->base), "http://localhost");
    else
        snprintf(remote->base, sizeof(remote->base), "%s%s", scheme, address);
    for (size_t len = strlen(remote->base); len && remote->base[len - 1] == '/'; len--)
        remote->base[len - 1] = '\0';
    bool fits = given.len && given.len < REMOTE_URL_MAX / 2 &&
                (!local || curl_easy_setopt(remote->easy, CURLOPT_UNIX_SOCKET_PATH,
                                            address + strlen("unix:")) == CURLE_OK);
    if (!fits)
        snprintf(why, REMOTE_WHY_MAX,
                 "this is no address of a server; give http://HOST:PORT, https://HOST or "
                 "unix:PATH");
    return fits;
}

static bool add_header(struct remote *remote, const char *line)
{
    struct curl_slist *longer = curl_slist_append(remote->headers, line);

    if (longer)
        remote->headers = longer;
    return longer != NULL;
}

static bool set_headers(struct remote *remote, const char *token, const char *extra)
{
    char line[REMOTE_HEADER_MAX];

    if (!add_header(remote, "Accept: application/json") ||
        !add_header(remote, "Content-Type: application/json") || !add_header(remote, "Expect:") ||
        (extra && !add_header(remote, extra)))
        return false;
    if (!token)
        return true;
    int len = snprintf(line, sizeof(line), "Authorization: Bearer %s", token);
    bool fine = len > 0 && (size_t)len < sizeof(line) && add_header(remote, line);
    explicit_bzero(line, sizeof(line));
    return fine;
}

struct remote *remote_open(const struct remote_opts *opts, char why[REMOTE_WHY_MAX])
{
    struct remote *remote = MEM_NEW(struct remote);
    CURL *easy = remote->easy = curl_easy_init();
    bool fine = easy != NULL;

    snprintf(why, REMOTE_WHY_MAX, "the library for HTTP cannot be used, or the token is too long");
#define SET(option, value) (fine = fine && curl_easy_setopt(easy, (option), (value)) == CURLE_OK)
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_NOPROXY, "*");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_TIMEOUT_MS, (long)REMOTE_MS);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_ERRORBUFFER, remote->error);
    if (opts->ca_file)
        SET(CURLOPT_CAINFO, opts->ca_file);
    fine = fine && set_headers(remote, opts->token, opts->header);
    SET(CURLOPT_HTTPHEADER, remote->headers);
#undef SET
    if (fine && set_base(remote, opts->address, why))
        return remote;
    remote_close(remote);
    return NULL;
}

void remote_close(struct remote *remote)
{
    if (!remote)
        return;
    curl_easy_cleanup(remote->easy);
    curl_slist_free_all(remote->headers);
    mem_free(remote);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *data)
{
    struct buf *reply = data;

    return buf_add(reply, str_n(bytes, size * count)) ? size * count : 0;
}

int remote_send(struct remote *remote, const char *method, const char *path, struct str body,
                struct buf *reply, char why[REMOTE_WHY_MAX])
{
    CURL *easy = remote->easy;
    char url[REMOTE_URL_MAX + REMOTE_URL_MAX];
    bool fine = snprintf(url, sizeof(url), "%s%s", remote->base, path) < (int)sizeof(url);
    bool sends = strcmp(method, "POST") == 0;
    long status = 0;

    remote->error[0] = '\0';
#define SET(option, value) (fine = fine && curl_easy_setopt(easy, (option), (value)) == CURLE_OK)
    SET(CURLOPT_URL, url);
    SET(CURLOPT_HTTPGET, 1L);
    if (sends) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
        SET(CURLOPT_COPYPOSTFIELDS, body.len ? body.at : "");
    }
    SET(CURLOPT_CUSTOMREQUEST, sends || strcmp(method, "GET") == 0 ? NULL : method);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, reply);
#undef SET
    CURLcode code = fine ? curl_easy_perform(easy) : CURLE_OUT_OF_MEMORY;
    if (code == CURLE_OK)
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    else
        snprintf(why, REMOTE_WHY_MAX, "%s",
                 remote->error[0] ? remote->error : curl_easy_strerror(code));
    return (int)status;
}

struct str remote_token(const char *file, struct buf *text, char why[REMOTE_WHY_MAX])
{
    FILE *from = strcmp(file, "-") == 0 ? stdin : fopen(file, "r");
    size_t begin = 0, end;

    if (!from) {
        snprintf(why, REMOTE_WHY_MAX, "%s: cannot be read: %s", file, strerror(errno));
        return STR_NONE;
    }
    buf_init(text, REMOTE_TOKEN_FILE_MAX);
    char *to = buf_reserve(text, REMOTE_TOKEN_FILE_MAX - 1);
    text->len = fread(to, 1, REMOTE_TOKEN_FILE_MAX - 1, from);
    if (from != stdin)
        fclose(from);
    while (begin < text->len && (unsigned char)text->at[begin] <= ' ')
        begin++;
    for (end = begin; end < text->len && (unsigned char)text->at[end] > ' ';)
        end++;
    text->at[end] = '\0';
    if (begin == end)
        snprintf(why, REMOTE_WHY_MAX, "%s: there is no token in it", file);
    return str_n(text->at + begin, end - begin);
}
