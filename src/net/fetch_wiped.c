/*
 * net/fetch_wiped: what libcurl has read and written is wiped when it gives the memory back.
 *
 * A token that a service answers with goes through buffers of libcurl, and of the TLS library below
 * it, before a fetch has it. Whoever reads the memory of this process later, such as a core dump,
 * must not find it there. So libcurl's pieces of memory are wiped as they are freed, and OpenSSL
 * wipes each record of plaintext once it was read.
 *
 * A program that has initialised libcurl before us has chosen where its memory is from: then ours
 * is not asked, and nothing else changes. On a system that does not say how large a piece is, it is
 * freed as it is.
 */
#include "net/fetch_inside.h"

#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/str.h"

enum { TLS_NAME_MAX = 32 }; /* bytes of the name of a TLS library, with its major version */

static void wiped_free(void *piece)
{
    size_t size = piece ? os_piece_size(piece) : 0;

    if (size)
        explicit_bzero(piece, size);
    free(piece);
}

static void *wiped_realloc(void *piece, size_t size)
{
    size_t old = piece ? os_piece_size(piece) : 0;

    if (piece && !old)
        return realloc(piece, size);
    void *moved = malloc(size);
    if (moved && piece) {
        memcpy(moved, piece, old < size ? old : size);
        wiped_free(piece);
    }
    return moved;
}

bool fetch_wiped_init(void)
{
    return curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, wiped_free, wiped_realloc, strdup,
                                calloc) == CURLE_OK;
}

static CURLcode wipe_records(CURL *easy, void *context, void *data)
{
    (void)easy;
    (void)data;
    SSL_CTX_set_options(context, SSL_OP_CLEANSE_PLAINTEXT);
    return CURLE_OK;
}

/* Is the TLS library of libcurl the one that we are built with? */
static bool is_our_openssl(void)
{
    char ours[TLS_NAME_MAX];
    const char *theirs = curl_version_info(CURLVERSION_NOW)->ssl_version;

    snprintf(ours, sizeof(ours), "OpenSSL/%d.", OPENSSL_VERSION_MAJOR);
    return theirs && str_starts(str_of(theirs), str_of(ours));
}

bool fetch_wiped_tls(CURL *easy)
{
    return !is_our_openssl() ||
           curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, wipe_records) == CURLE_OK;
}
