/*
 * net/http_names: headers by name.
 *
 * Every request is asked for the same few headers. The parser recognises them as it reads the head
 * and notes where they are, so that asking for one needs no search. All others are searched for by
 * name. Both ways give the same answer.
 */
#include "net/http.h"

static const struct str names[HTTP_NAMES] = {
    [HTTP_NAME_HOST] = STR_INIT("Host"),
    [HTTP_NAME_CONTENT_LENGTH] = STR_INIT("Content-Length"),
    [HTTP_NAME_TRANSFER_ENCODING] = STR_INIT("Transfer-Encoding"),
    [HTTP_NAME_CONNECTION] = STR_INIT("Connection"),
    [HTTP_NAME_EXPECT] = STR_INIT("Expect"),
    [HTTP_NAME_ACCEPT] = STR_INIT("Accept"),
    [HTTP_NAME_AUTHORIZATION] = STR_INIT("Authorization"),
    [HTTP_NAME_CONTENT_TYPE] = STR_INIT("Content-Type"),
    [HTTP_NAME_LAST_EVENT_ID] = STR_INIT("Last-Event-ID"),
    [HTTP_NAME_MCP_SESSION_ID] = STR_INIT("Mcp-Session-Id"),
    [HTTP_NAME_MCP_PROTOCOL_VERSION] = STR_INIT("MCP-Protocol-Version"),
    [HTTP_NAME_ORIGIN] = STR_INIT("Origin"),
    [HTTP_NAME_SEC_FETCH_SITE] = STR_INIT("Sec-Fetch-Site"),
    [HTTP_NAME_X_PAGE_KEY] = STR_INIT("X-Page-Key"),
};

/* Length and first letter leave one possible name. The case of the letter does not matter. */
enum { LENGTHS = 21, LETTERS = 8 };

#define LETTER(c)             ((unsigned char)(c) >> 2 & (LETTERS - 1))
#define NAMED(text, c, which) [sizeof(text) - 1][LETTER(c)] = (which) + 1

static const uint8_t slots[LENGTHS][LETTERS] = {
    NAMED("Host", 'H', HTTP_NAME_HOST),
    NAMED("Content-Length", 'C', HTTP_NAME_CONTENT_LENGTH),
    NAMED("Transfer-Encoding", 'T', HTTP_NAME_TRANSFER_ENCODING),
    NAMED("Connection", 'C', HTTP_NAME_CONNECTION),
    NAMED("Expect", 'E', HTTP_NAME_EXPECT),
    NAMED("Accept", 'A', HTTP_NAME_ACCEPT),
    NAMED("Authorization", 'A', HTTP_NAME_AUTHORIZATION),
    NAMED("Content-Type", 'C', HTTP_NAME_CONTENT_TYPE),
    NAMED("Last-Event-ID", 'L', HTTP_NAME_LAST_EVENT_ID),
    NAMED("Mcp-Session-Id", 'M', HTTP_NAME_MCP_SESSION_ID),
    NAMED("MCP-Protocol-Version", 'M', HTTP_NAME_MCP_PROTOCOL_VERSION),
    NAMED("Origin", 'O', HTTP_NAME_ORIGIN),
    NAMED("Sec-Fetch-Site", 'S', HTTP_NAME_SEC_FETCH_SITE),
    NAMED("X-Page-Key", 'X', HTTP_NAME_X_PAGE_KEY),
};

enum http_name http_name_of(struct str name)
{
    if (name.len == 0 || name.len >= LENGTHS)
        return HTTP_NAMES;
    uint8_t which = slots[name.len][LETTER(name.at[0])];
    if (!which || !str_eq_nocase(name, names[which - 1]))
        return HTTP_NAMES;
    return (enum http_name)(which - 1);
}

struct str http_name_text(enum http_name name)
{
    return names[name];
}

const struct http_header *http_find(const struct http_request *request, struct str name,
                                    bool *again)
{
    const struct http_header *found = NULL;

    *again = false;
    for (size_t i = 0; i < request->header_count; i++) {
        struct str one = request->headers[i].name;
        if (one.len != name.len || !str_eq_nocase(one, name))
            continue;
        if (found) {
            *again = true;
            break;
        }
        found = &request->headers[i];
    }
    return found;
}

const struct http_header *http_find_named(const struct http_request *request, enum http_name name,
                                          bool *again)
{
    if (!request->index.filled)
        return http_find(request, names[name], again);
    *again = request->index.again >> name & 1;
    size_t place = request->index.first[name];
    return place ? &request->headers[place - 1] : NULL;
}

struct str http_header(const struct http_request *request, struct str name)
{
    bool again;
    const struct http_header *header = http_find(request, name, &again);

    return header ? header->value : STR_NONE;
}
