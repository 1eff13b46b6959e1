/*
 * net/curl_words: see curl_words.h. What is not in the tables is said as libcurl says it, in short.
 */
#include "net/curl_words.h"

#include <errno.h>
#include <openssl/x509_vfy.h>
#include <uv.h>

struct words {
    long number;
    const char *text;
};

static const char *words_of(const struct words *table, size_t count, long number)
{
    for (size_t i = 0; i < count; i++)
        if (table[i].number == number)
            return table[i].text;
    return NULL;
}

#define WORDS_OF(table, number) words_of((table), sizeof(table) / sizeof((table)[0]), (number))

static const struct words causes[] = {
    { CURLE_COULDNT_RESOLVE_HOST, "nobody knows this name" },
    { CURLE_COULDNT_RESOLVE_PROXY, "nobody knows the name of the proxy" },
    { CURLE_COULDNT_CONNECT, "no connection could be made" },
    { CURLE_OPERATION_TIMEDOUT, "it did not answer in time" },
    { CURLE_SSL_CONNECT_ERROR, "no secure connection could be agreed on (TLS)" },
    { CURLE_PEER_FAILED_VERIFICATION, "its certificate is not trusted" },
    { CURLE_SSL_CACERT_BADFILE, "the file of trusted authorities cannot be read" },
    { CURLE_SSL_CERTPROBLEM, "the client's certificate cannot be used" },
    { CURLE_GOT_NOTHING, "it hung up without an answer" },
    { CURLE_SEND_ERROR, "the connection was lost" },
    { CURLE_RECV_ERROR, "the connection was lost" },
    { CURLE_PARTIAL_FILE, "the connection was lost in the middle of its answer" },
    { CURLE_WEIRD_SERVER_REPLY, "what it answers is not HTTP" },
    { CURLE_UNSUPPORTED_PROTOCOL, "what it answers is not HTTP" },
    { CURLE_BAD_CONTENT_ENCODING, "its answer cannot be unpacked" },
    { CURLE_OUT_OF_MEMORY, "there is not enough memory" },
};

static const struct words connections[] = {
    { ECONNREFUSED, "nothing listens there (connection refused)" },
    { EHOSTUNREACH, "there is no way to this machine" },
    { ENETUNREACH, "there is no way to this network" },
    { ENETDOWN, "the network is down" },
    { ETIMEDOUT, "it did not answer in time" },
    { ECONNRESET, "it hung up" },
    { ENOENT, "there is no such socket" },
    { EACCES, "this user may not open it" },
    { EPERM, "this machine does not allow the connection" },
    { EMFILE, "too many files are open" },
    { EADDRNOTAVAIL, "no port of this machine is free" },
};

static const struct words certificates[] = {
    { X509_V_ERR_CERT_HAS_EXPIRED, "its certificate has expired" },
    { X509_V_ERR_CERT_NOT_YET_VALID, "its certificate is not valid yet" },
    { X509_V_ERR_HOSTNAME_MISMATCH, "its certificate is for another name" },
    { X509_V_ERR_IP_ADDRESS_MISMATCH, "its certificate is for another address" },
    { X509_V_ERR_CERT_REVOKED, "its certificate was revoked" },
    { X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
      "its certificate is not trusted: it has signed itself" },
    { X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
      "its certificate is not trusted: no known authority has signed it" },
    { X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
      "its certificate is not trusted: no known authority has signed it" },
    { X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
      "its certificate is not trusted: no known authority has signed it" },
    { X509_V_OK, "its certificate is for another name" }, /* libcurl itself compares the names */
};

const char *curl_words(CURL *easy, CURLcode code)
{
    const char *words = NULL;
    long number = 0;

    if (code == CURLE_COULDNT_CONNECT &&
        curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number) == CURLE_OK)
        words = WORDS_OF(connections, number);
    if (code == CURLE_PEER_FAILED_VERIFICATION &&
        curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &number) == CURLE_OK)
        words = WORDS_OF(certificates, number);
    if (!words)
        words = WORDS_OF(causes, (long)code);
    return words ? words : curl_easy_strerror(code);
}

const char *lookup_words(int status)
{
    static const struct words lookups[] = {
        { UV_EAI_NONAME, "nobody knows this name" },
        { UV_EAI_NODATA, "this name has no address" },
        { UV_EAI_AGAIN, "names cannot be looked up at the moment" },
        { UV_EAI_FAIL, "names cannot be looked up" },
        { UV_ENOENT, "nobody knows this name" },
    };
    const char *words = WORDS_OF(lookups, status);

    return words ? words : "the name cannot be looked up";
}
