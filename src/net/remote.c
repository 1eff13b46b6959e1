/*
 * net/remote: see remote.h. libcurl does the work.
 */
#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "net/curl_words.h"
#include "net/remote_inside.h"

enum { REMOTE_TOKEN_FILE_MAX = 4096 }; /* bytes of a file with a token */

/* "HOST:PORT", which needs no scheme: the port makes it an address. */
static bool has_port(struct str host)
{
    size_t at = host.len;
    uint64_t port;

    while (at && host.at[at - 1] != ':')
        at--;
    return at > 1 && str_to_u64(str_skip(host, at), &port);
}

const char *remote_address_wrong(struct str address)
{
    static const char wrong[] =
        "is no address of a server: give http://HOST:PORT, https://HOST or unix:PATH";
    struct str rest = address, host, path = STR_NONE;
    ptrdiff_t at = str_find(address, STR("://"));

    if (!address.len || address.len >= REMOTE_URL_MAX / 2)
        return wrong;
    if (str_starts(address, STR("unix:")))
        return address.len > strlen("unix:") ? NULL : wrong;
    if (at >= 0 && !str_starts(address, STR("http://")) && !str_starts(address, STR("https://")))
        return wrong;
    if (at >= 0)
        rest = str_skip(address, (size_t)at + 3);
    str_cut(rest, '/', &host, &path);
    if (!host.len || (at < 0 && !has_port(host)))
        return wrong;
    while (str_ends(path, STR("/")))
        path.len--;
    if (str_eq(path, STR("mcp")) || str_ends(path, STR("/mcp")))
        return "is what MCP clients are given: leave /mcp off";
    return NULL;
}

static bool set_base(struct remote *remote, const char *address)
{
    const char *path = address + strlen("unix:");

    if (str_starts(str_of(address), STR("unix:"))) {
        snprintf(remote->base, sizeof(remote->base), "http://localhost");
        snprintf(remote->named, sizeof(remote->named), "the socket %s", path);
        return curl_easy_setopt(remote->easy, CURLOPT_UNIX_SOCKET_PATH, path) == CURLE_OK;
    }
    snprintf(remote->base, sizeof(remote->base), "%s%s", strstr(address, "://") ? "" : "http://",
             address);
    for (size_t len = strlen(remote->base); len && remote->base[len - 1] == '/'; len--)
        remote->base[len - 1] = '\0';
    snprintf(remote->named, sizeof(remote->named), "%s", remote->base);
    return true;
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
    if (fine && set_base(remote, opts->address))
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

void remote_explain(const struct remote *remote, CURL *easy, CURLcode code, const char *error,
                    char why[REMOTE_WHY_MAX])
{
    const char *named = remote->named, *how = "cannot be reached: ";
    const char *words = curl_words(easy, code);

    switch (code) {
    case CURLE_SSL_CONNECT_ERROR:
        if (strstr(error, "wrong version number")) {
            how = "does not speak TLS: ";
            words = "write http:// instead of https://";
        }
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
        how = "cannot be trusted, unless --ca-file names who signed for it: ";
        break;
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL: /* bytes that are not HTTP are taken for HTTP/0.9 */
        how = "does not answer in HTTP; if it speaks TLS, write https://: ";
        break;
    case CURLE_WRITE_ERROR:
        how = "sends too much: ";
        words = "its reply is larger than is taken here";
        break;
    default:
        break;
    }
    snprintf(why, REMOTE_WHY_MAX, "%.*s %s%s", REMOTE_WHY_MAX / 2, named, how, words);
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
        remote_explain(remote, easy, code, remote->error, why);
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
