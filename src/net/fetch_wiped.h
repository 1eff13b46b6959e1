/*
 * net/fetch_wiped: what libcurl has read and written is wiped when it gives the memory back. Inside
 * net/ only.
 */
#ifndef NOD_NET_FETCH_WIPED_H
#define NOD_NET_FETCH_WIPED_H

#include <curl/curl.h>
#include <stdbool.h>

/* Initialises libcurl, which counts: curl_global_cleanup gives it back. */
bool fetch_wiped_init(void);
/* The same for what is read over TLS by this handle. */
bool fetch_wiped_tls(CURL *easy);

#endif
