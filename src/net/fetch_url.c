/*
 * net/fetch_url: which URLs a fetch takes.
 *
 * libcurl parses them, and makes its request from what it has parsed, so what is checked here and
 * what is asked for are the same. An IPv4 address in any of its odd forms (0x7f.1) has become the
 * usual one by then.
 */
#include "net/fetch_inside.h"

#include "net/fetch.h"

enum { URL_MAX = 2048 }; /* bytes of a URL */

static bool is_plain_host(const char *host)
{
    size_t len = strlen(host);

    for (size_t i = 0; i < len; i++)
        if ((unsigned char)host[i] <= ' ' || (unsigned char)host[i] > '~')
            return false;
    return len > 0 && host[len - 1] != '.';
}

/* libcurl would take the first part of the path for the host in http:///host, as browsers do. */
static bool has_two_slashes(struct str text)
{
    struct str scheme, rest;

    return str_cut(text, ':', &scheme, &rest) && str_starts(rest, STR("//")) &&
           !str_starts(rest, STR("///"));
}

/* What is wrong with the parts of a URL that libcurl has parsed; NULL: nothing. */
static const char *parts_wrong(CURLU *url)
{
    char *scheme = NULL, *user = NULL, *host = NULL;
    const char *wrong = NULL;

    if (curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
        wrong = "it has to begin with http:// or https://";
    else if (curl_url_get(url, CURLUPART_USER, &user, 0) == CURLUE_OK)
        wrong = "it must not hold a name or a password";
    else if (curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK || !is_plain_host(host))
        wrong =
            "its host has to be an address or a name in ASCII (an international one as xn--...),"
            " without a dot at its end";
    curl_free(scheme);
    curl_free(user);
    curl_free(host);
    return wrong;
}

CURLU *fetch_url_parse(struct str text, const char **why)
{
    char copy[URL_MAX + 1];
    CURLU *url;

    *why = "it is not a URL";
    if (text.len == 0 || text.len > URL_MAX || memchr(text.at, '\0', text.len))
        return NULL;
    if (!has_two_slashes(text)) {
        *why = "it has to begin with http:// or https://, with two slashes and then its host";
        return NULL;
    }
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    url = curl_url();
    if (!url)
        return NULL;
    if (curl_url_set(url, CURLUPART_URL, copy, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK)
        *why = parts_wrong(url);
    if (*why) {
        curl_url_cleanup(url);
        return NULL;
    }
    return url;
}

bool fetch_url_is_barred(struct str url, const struct reach *reach, struct peer *peer, int *port)
{
    char *host = NULL, *number = NULL;
    const char *why;
    CURLU *parsed = fetch_url_parse(url, &why);
    bool barred = false;
    int64_t value;

    if (parsed && curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(parsed, CURLUPART_PORT, &number, CURLU_DEFAULT_PORT) == CURLUE_OK &&
        str_to_i64(str_of(number), &value)) {
        struct str address = str_of(host);
        if (str_starts(address, STR("[")) && str_ends(address, STR("]")))
            address = str_n(address.at + 1, address.len - 2);
        *port = (int)value;
        barred = peer_parse(address, peer) && !reach_permits_peer(reach, peer, *port);
    }
    curl_free(host);
    curl_free(number);
    curl_url_cleanup(parsed);
    return barred;
}

bool fetch_url_fits(struct str url, const char **why)
{
    CURLU *parsed = fetch_url_parse(url, why);

    curl_url_cleanup(parsed);
    return parsed != NULL;
}
