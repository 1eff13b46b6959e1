/*
 * net/fetch_url: a URL as libcurl takes it, inside net/ only.
 */
#ifndef NOD_NET_FETCH_URL_H
#define NOD_NET_FETCH_URL_H

#include <curl/curl.h>

#include "base/str.h"

/* NULL: it does not fit, and *why says what is wrong with it. */
CURLU *fetch_url_parse(struct str text, const char **why);

#endif
