/*
 * plugins/github: the issues of one repository at GitHub.
 *
 *     github.issues.list     reads
 *     github.issues.create   asks, then makes an issue, once
 *     github.issues.close    asks, then closes one
 *
 * What it shows: tools with paths; a person approves each change (nod_approve); it is made in their
 * name, with an account that they have connected (nod_credential), and in a step. GitHub knows no
 * idempotency key. So the step writes its key into the issue, and looks for it before it makes one:
 * after a crash in between, it finds the issue that is there already.
 *
 * Run it: register an OAuth app at GitHub, with the callback URL http://127.0.0.1:7600/a/return,
 * and write into the configuration of nod serve (docs/credentials.md):
 *
 *     [server]
 *     plugin = build/release/examples/plugins/github.so
 *
 *     [plugin github]
 *     repository = ada/engine
 *
 *     [oauth github]
 *     title = GitHub
 *     authorization_endpoint = https://github.com/login/oauth/authorize
 *     token_endpoint = https://github.com/login/oauth/access_token
 *     client_id = ...
 *     client_secret_file = /etc/nod/github
 */
#include <curl/curl.h>
#include <nod/nod.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REPLY_MAX = 4 * 1024 * 1024, /* bytes of what GitHub answers */
    LOOK_BACK = 30,              /* issues among which one is looked for that was made already */
};

static const char *api, *repository; /* settings */

/* --- talking to GitHub, which blocks: so the tools say .blocking --- */

struct request {
    const char *token;
    const char *method;
    const char *path; /* behind /repos/OWNER/NAME */
    const char *body; /* JSON, or NULL */
};

struct reply {
    char *text;
    size_t len;
};

static size_t take(char *at, size_t size, size_t count, void *data)
{
    struct reply *reply = data;
    size_t more = size * count;
    char *text = reply->len + more < REPLY_MAX ? realloc(reply->text, reply->len + more + 1) : NULL;

    if (text == NULL)
        return 0;
    memcpy(text + reply->len, at, more);
    reply->text = text;
    reply->len += more;
    text[reply->len] = '\0';
    return more;
}

static CURLcode perform(const struct request *request, const char *url, struct reply *reply,
                        long *status)
{
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Accept: application/vnd.github+json");

    if (curl == NULL || headers == NULL)
        return CURLE_OUT_OF_MEMORY;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "nod-plugin-github");
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
    curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, request->token);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 20L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
    if (request->body)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
    CURLcode code = curl_easy_perform(curl);
    if (code == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, status);
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    return code;
}

/* NOD_OK with what GitHub answers; else the call, or the step, has a sentence about it. */
static nod_status talk(nod_call *call, const struct request *request, const nod_json **answer)
{
    struct reply reply = { 0 };
    long status = 0;
    const char *url = nod_fmt(call, "%s/repos/%s%s", api, repository, request->path);
    CURLcode code = perform(request, url, &reply, &status);

    *answer = reply.text ? nod_parse(call, reply.text) : NULL;
    free(reply.text);
    if (code != CURLE_OK)
        nod_reply_error(call, "GitHub did not answer: %s.", curl_easy_strerror(code));
    else if (status / 100 != 2)
        nod_reply_error(call, "GitHub said no (%ld): %s", status, nod_get_str(*answer, "message"));
    else
        return NOD_OK;
    return NOD_E_FAILED;
}

/* --- the tools --- */

static nod_status credential(nod_call *call, const char **token)
{
    return nod_credential(call, token, "github", .scopes = "repo",
                          .message = nod_fmt(call,
                                             "Connect your GitHub account, for the issues of "
                                             "%s.",
                                             repository));
}

static nod_status list_issues(nod_call *call)
{
    struct request request = { .method = "GET", .path = "/issues?per_page=30" };
    const nod_json *issues;
    bool some = false;

    NOD_TRY(credential(call, &request.token));
    if (talk(call, &request, &issues) != NOD_OK)
        return NOD_OK; /* the reply says why */
    for (size_t i = 0; i < nod_count(issues); i++) {
        const nod_json *issue = nod_at(issues, i);
        if (nod_has(issue, "pull_request")) /* GitHub lists those as well */
            continue;
        nod_reply_textf(call, "#%lld %s", (long long)nod_get_int(issue, "number"),
                        nod_get_str(issue, "title"));
        some = true;
    }
    return some ? NOD_OK : nod_reply_textf(call, "%s has no open issues.", repository);
}

static nod_status number_of(nod_step_run *step, const nod_json *issue)
{
    nod_call *call = nod_step_call(step);
    nod_json *result = nod_object(call);

    nod_set_int(call, result, "number", nod_get_int(issue, "number"));
    nod_set_str(call, result, "url", nod_get_str(issue, "html_url"));
    nod_step_result(step, result);
    return NOD_OK;
}

/* Runs again, with the same key, if the process has died before its result was stored. */
static nod_status create_step(nod_step_run *step, void *token)
{
    nod_call *call = nod_step_call(step);
    const char *mark = nod_fmt(call, "<!-- nod: %s -->", nod_step_key(step));
    const nod_json *issues, *issue;

    NOD_TRY(
        talk(call,
             &(struct request){ .token = token,
                                .method = "GET",
                                .path = nod_fmt(call, "/issues?state=all&per_page=%d", LOOK_BACK) },
             &issues));
    for (size_t i = 0; i < nod_count(issues); i++)
        if (strstr(nod_get_str(nod_at(issues, i), "body"), mark))
            return number_of(step, nod_at(issues, i));
    nod_json *body = nod_object(call);
    nod_set_str(call, body, "title", nod_arg_str(call, "title"));
    nod_set_str(call, body, "body",
                nod_fmt(call, "%s\n\n%s", nod_arg_str_or(call, "body", ""), mark));
    NOD_TRY(talk(call,
                 &(struct request){ .token = token,
                                    .method = "POST",
                                    .path = "/issues",
                                    .body = nod_json_text(call, body) },
                 &issue));
    return number_of(step, issue);
}

static nod_status create_issue(nod_call *call)
{
    const char *token;
    const nod_json *issue;
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .tool_path = "github.issues.create",
                        .message = nod_fmt(call, "Create the issue \"%s\" in %s?",
                                           nod_arg_str(call, "title"), repository)));
    if (!approval.approved)
        return nod_reply_text(call, "No issue was created.");
    NOD_TRY(credential(call, &token));
    NOD_TRY(nod_step(call, "create", create_step, (void *)token, &issue));
    return nod_reply_textf(call, "Created #%lld: %s", (long long)nod_get_int(issue, "number"),
                           nod_get_str(issue, "url"));
}

static nod_status close_step(nod_step_run *step, void *token)
{
    nod_call *call = nod_step_call(step);
    const nod_json *issue;

    NOD_TRY(talk(call,
                 &(struct request){
                     .token = token,
                     .method = "PATCH",
                     .path = nod_fmt(call, "/issues/%lld", (long long)nod_arg_int(call, "number")),
                     .body = "{\"state\":\"closed\"}" },
                 &issue));
    return number_of(step, issue);
}

static nod_status close_issue(nod_call *call)
{
    long long number = nod_arg_int(call, "number");
    const char *token;
    nod_approval approval;

    NOD_TRY(nod_approve(call, &approval, .tool_path = "github.issues.close",
                        .message = nod_fmt(call, "Close #%lld in %s?", number, repository)));
    if (!approval.approved)
        return nod_reply_textf(call, "#%lld was left as it is.", number);
    NOD_TRY(credential(call, &token));
    NOD_TRY(nod_step(call, "close", close_step, (void *)token, NULL, .idempotent = true));
    return nod_reply_textf(call, "Closed #%lld.", number);
}

static const nod_tool tools[] = {
    { .name = "github.issues.list",
      .handler = list_issues,
      .title = "List issues",
      .description = "Lists the open issues of the repository",
      .read_only = true,
      .asks = true,
      .blocking = true },
    { .name = "github.issues.create",
      .handler = create_issue,
      .title = "Create an issue",
      .description = "Creates an issue in the repository, if a person agrees",
      .input = NOD_FORM(NOD_TEXT("title", .required = true, NOD_MIN(1), NOD_MAX(200)),
                        NOD_TEXT("body", NOD_MAX(20000))),
      .strict = true,
      .additive = true,
      .asks = true,
      .remember = NOD_REMEMBER_SESSION | NOD_REMEMBER_TIME | NOD_REMEMBER_TOOL,
      .blocking = true },
    { .name = "github.issues.close",
      .handler = close_issue,
      .title = "Close an issue",
      .description = "Closes an issue of the repository, if a person agrees",
      .input = NOD_FORM(NOD_INT("number", .required = true, NOD_MIN(1))),
      .strict = true,
      .destructive = true,
      .blocking = true },
};

static nod_status load(nod_server *server)
{
    api = nod_setting(server, "api");
    repository = nod_setting(server, "repository");
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return NOD_E_FAILED;
    return nod_tools(server, tools);
}

NOD_PLUGIN(.name = "github", .version = "1.0.0", .load = load,
           .settings = NOD_FORM(NOD_TEXT("repository", .required = true,
                                         .pattern = "^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$",
                                         .hint = "ada/engine", .description = "OWNER/NAME"),
                                NOD_TEXT("api", .preset = "https://api.github.com", .format = "uri",
                                         .description = "where its API is")));
