/*
 * net/curl_words: what went wrong with a transfer, in words for people.
 *
 * libcurl's own words are for programmers ("SSL peer certificate or SSH remote key was not OK",
 * "Failed to connect to h port 1 after 0 ms"). They stand on pages, in the terminal and in the log,
 * behind "cannot be reached:", so each cause has the end of such a sentence here, without numbers
 * and addresses.
 */
#ifndef NOD_NET_CURL_WORDS_H
#define NOD_NET_CURL_WORDS_H

#include <curl/curl.h>

/* After a transfer that ended with `code`, which is not CURLE_OK. It is a constant. */
const char *curl_words(CURL *easy, CURLcode code);
/* A name that could not be looked up; `status` as libuv has it. */
const char *lookup_words(int status);

#endif
