/*
 * connect-github: a tool that acts in its person's name at GitHub.
 *
 *     who_am_i   says which account is connected; asks its person to connect one first
 *
 * The person is never asked for a token or a password. They are sent to GitHub, agree there, and
 * come back; from then on the tool is given an access token that is fresh. Register an OAuth app at
 * GitHub, with the callback URL that your people reach this server under:
 *
 *     http://127.0.0.1:8080/a/return
 *
 * and start the server with what GitHub tells you:
 *
 *     GITHUB_CLIENT_ID=... GITHUB_CLIENT_SECRET=... ./connect-github --http 8080
 *
 * The handler talks to GitHub with libcurl, which blocks: so it says .blocking.
 */
#include <curl/curl.h>
#include <nod/nod.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct profile {
    const char *token;
    char text[65536]; /* what GitHub answers */
    size_t len;
};

static const char *api(void)
{
    const char *set = getenv("GITHUB_API");

    return set ? set : "https://api.github.com";
}

static size_t take(char *at, size_t size, size_t count, void *data)
{
    struct profile *profile = data;

    if (size * count >= sizeof(profile->text) - profile->len)
        return 0;
    memcpy(profile->text + profile->len, at, size * count);
    profile->len += size * count;
    return size * count;
}

/* GET /user, as whoever the token is of. False: GitHub does not answer, or not with 200. */
static bool read_profile(struct profile *profile)
{
    CURL *curl = curl_easy_init();
    char url[512];
    long status = 0;

    if (!curl)
        return false;
    snprintf(url, sizeof(url), "%s/user", api());
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "nod-connect-github");
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
    curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, profile->token);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 10L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, profile);
    bool fine = curl_easy_perform(curl) == CURLE_OK &&
                curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK;
    curl_easy_cleanup(curl);
    return fine && status == 200;
}

static nod_status who_am_i(nod_call *call)
{
    struct profile profile = { 0 };

    NOD_TRY(nod_credential(call, &profile.token, "github", .scopes = "read:user",
                           .message =
                               "Connect your GitHub account, so that this tool can read your "
                               "profile."));
    if (!read_profile(&profile))
        return nod_reply_error(call, "GitHub did not answer.");
    const nod_json *user = nod_parse(call, profile.text);
    return nod_reply_textf(call, "You are %s, with %lld public repositories.",
                           nod_get_str(user, "login"),
                           (long long)nod_get_int(user, "public_repos"));
}

static const nod_tool tools[] = {
    { .name = "who_am_i",
      .handler = who_am_i,
      .title = "Who am I at GitHub?",
      .description = "Says which GitHub account the person has connected",
      .read_only = true,
      .blocking = true },
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "connect-github", .version = NOD_VERSION);
    const char *client_id = getenv("GITHUB_CLIENT_ID");

    if (server == NULL || nod_tools(server, tools) != NOD_OK)
        return 1;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    /* Without a client id of its own, --oauth FILE has to say what github is. */
    if (client_id && nod_oauth(server, .name = "github", .title = "GitHub",
                               .authorization_endpoint = "https://github.com/login/oauth/authorize",
                               .token_endpoint = "https://github.com/login/oauth/access_token",
                               .client_id = client_id, .client_secret_env = "GITHUB_CLIENT_SECRET",
                               .scopes = "read:user") != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
