/*
 * net/fetch_inside: what the files of net/fetch share, inside net/ only.
 */
#ifndef NOD_NET_FETCH_INSIDE_H
#define NOD_NET_FETCH_INSIDE_H

#include <curl/curl.h>

#include "base/str.h"

/* A URL as libcurl takes it. NULL: it does not fit, and *why says what is wrong with it. */
CURLU *fetch_url_parse(struct str text, const char **why);

/* Initialises libcurl, which wipes what it has read and written when it gives the memory back. It
 * counts: curl_global_cleanup gives it back. */
bool fetch_wiped_init(void);
/* The same for what is read over TLS by this handle. */
bool fetch_wiped_tls(CURL *easy);

#endif
