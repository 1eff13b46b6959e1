/*
 * net/remote_inside: what remote.c and remote_stream.c share.
 */
#ifndef NOD_NET_REMOTE_INSIDE_H
#define NOD_NET_REMOTE_INSIDE_H

#include <curl/curl.h>

#include "net/remote.h"

enum { REMOTE_HEADER_MAX = 1024 }; /* bytes of a header of a request */

struct remote {
    CURL *easy;
    struct curl_slist *headers;
    char base[REMOTE_URL_MAX];  /* without a slash at its end */
    char named[REMOTE_URL_MAX]; /* as a message names it: the base, or the socket */
    char error[CURL_ERROR_SIZE];
};

/* Why a transfer failed, in words about the server that was named. */
void remote_explain(const struct remote *remote, CURL *easy, CURLcode code, const char *error,
                    char why[REMOTE_WHY_MAX]);

#endif
