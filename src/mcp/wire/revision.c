/*
 * mcp/wire/revision: the table of what each revision knows, and the walk that applies it.
 *
 * Two tables decide everything: in which revision each member of an object appeared, and which
 * members hold objects with rules of their own. Two members are not just left out but replaced: a
 * tool's title becomes annotations.title, and a resource_link becomes a line of text with its name
 * and address.
 *
 * In this era structured results, and their schemas, must be objects. Others are left out; the text
 * block beside such a result says the same.
 *
 * A text in which nothing has to change is written through untouched. It is searched for the names
 * that would have to go, and parsed only if one of them is found.
 */
#include "mcp/wire/revision.h"

enum { REVISION_ARENA_MAX = 64 << 20 };

static const struct revision_facts facts[REVISION_COUNT] = {
    [REVISION_2025_03_26] = { .name = STR_INIT("2025-03-26"), .batches = true },
    [REVISION_2025_06_18] = { .name = STR_INIT("2025-06-18"),
                              .form = FORM_2025_06_18,
                              .elicitation = true,
                              .titles = true },
    [REVISION_2025_11_25] = { .name = STR_INIT("2025-11-25"),
                              .form = FORM_2025_11_25,
                              .elicitation = true,
                              .modes = true,
                              .priming = true,
                              .titles = true },
};

#define IN(part) (1u << (part))
#define LISTED   (IN(PART_TOOL) | IN(PART_RESOURCE) | IN(PART_PROMPT))

/* A member, the object it is in, and the first revision that knows it there. */
static const struct rule {
    struct str member;
    unsigned parts;
    enum revision since;
} rules[] = {
    { STR_INIT("title"), LISTED | IN(PART_PROMPT_ARGUMENT), REVISION_2025_06_18 },
    { STR_INIT("_meta"), LISTED | IN(PART_BLOCK) | IN(PART_CONTENTS), REVISION_2025_06_18 },
    { STR_INIT("outputSchema"), IN(PART_TOOL), REVISION_2025_06_18 },
    { STR_INIT("structuredContent"), IN(PART_TOOL_RESULT), REVISION_2025_06_18 },
    { STR_INIT("lastModified"), IN(PART_ANNOTATIONS), REVISION_2025_06_18 },
    { STR_INIT("icons"), LISTED | IN(PART_BLOCK), REVISION_2025_11_25 },
    { STR_INIT("execution"), IN(PART_TOOL), REVISION_2025_11_25 },
};

enum { RULE_COUNT = sizeof(rules) / sizeof(rules[0]) };

static const enum revision link_since = REVISION_2025_06_18;

/* Members whose value, or each item of it, has rules of its own. */
static const struct nested {
    enum revision_part part;
    struct str member;
    enum revision_part inner;
} nested[] = {
    { PART_RESOURCE, STR_INIT("annotations"), PART_ANNOTATIONS },
    { PART_PROMPT, STR_INIT("arguments"), PART_PROMPT_ARGUMENT },
    { PART_TOOL_RESULT, STR_INIT("content"), PART_BLOCK },
    { PART_PROMPT_RESULT, STR_INIT("messages"), PART_PROMPT_MESSAGE },
    { PART_PROMPT_MESSAGE, STR_INIT("content"), PART_BLOCK },
    { PART_RESOURCE_RESULT, STR_INIT("contents"), PART_CONTENTS },
    { PART_BLOCK, STR_INIT("resource"), PART_CONTENTS },
    { PART_BLOCK, STR_INIT("annotations"), PART_ANNOTATIONS },
};

const struct revision_facts *revision_facts(enum revision revision)
{
    return &facts[revision];
}

bool revision_find(struct str name, enum revision *out)
{
    for (int i = 0; i < REVISION_COUNT; i++) {
        if (str_eq(facts[i].name, name)) {
            *out = (enum revision)i;
            return true;
        }
    }
    return false;
}

static bool knows(enum revision revision, enum revision_part part, struct str member)
{
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (rules[i].since > revision && (rules[i].parts & IN(part)) &&
            str_eq(rules[i].member, member))
            return false;
    return true;
}

static bool is_object_member(struct str member, const struct json *value)
{
    if (str_eq(member, STR("structuredContent")))
        return json_is(value, JSON_OBJECT);
    if (str_eq(member, STR("outputSchema")))
        return str_eq(json_get_str(value, STR("type")), STR("object"));
    return true;
}

/* The member is there, with a value that not every revision since 2025-06-18 takes. */
static bool has_other_than(struct str text, struct str member, struct str plain)
{
    for (ptrdiff_t at; (at = str_find(text, member)) >= 0;) {
        text = str_skip(text, (size_t)at);
        if (!str_starts(text, plain))
            return true;
        text = str_skip(text, member.len);
    }
    return false;
}

static bool structured_otherwise(enum revision_part part, struct str text)
{
    if (part == PART_TOOL_RESULT)
        return has_other_than(text, STR("\"structuredContent\":"), STR("\"structuredContent\":{"));
    return part == PART_TOOL && has_other_than(text, STR("\"outputSchema\":"),
                                               STR("\"outputSchema\":{\"type\":\"object\""));
}

/* May the text hold something that has to go? A name inside a string costs a parse, no more. */
static bool touched(enum revision revision, struct str text)
{
    if (revision < link_since && str_find(text, STR("\"resource_link\"")) >= 0)
        return true;
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (rules[i].since > revision && str_find(text, rules[i].member) >= 0)
            return true;
    return false;
}

static void write_part(struct json_writer *w, enum revision revision, enum revision_part part,
                       const struct json *value);

/* For a revision without links: the same in words. */
static void write_link(struct json_writer *w, const struct json *link)
{
    struct str name = json_get_str(link, STR("name")), uri = json_get_str(link, STR("uri"));
    struct buf text;

    buf_init(&text, name.len + uri.len + 2);
    buf_add(&text, name);
    if (name.len && uri.len)
        buf_add(&text, STR(": "));
    buf_add(&text, uri);
    jw_object(w);
    jw_key_str(w, STR("type"), STR("text"));
    jw_key_str(w, STR("text"), buf_str(&text));
    jw_end(w);
    buf_finish(&text);
}

/* A tool's title, for revisions in which only its annotations may have one. */
static void write_tool_title(struct json_writer *w, const struct json *tool)
{
    const struct json *annotations = json_get(tool, STR("annotations"));
    const struct json *title = json_get(tool, STR("title"));

    if (!annotations && !title)
        return;
    jw_key(w, STR("annotations"));
    jw_object(w);
    JSON_EACH (member, annotations)
        jw_key_value(w, member->key, member);
    if (title && !json_get(annotations, STR("title")))
        jw_key_value(w, STR("title"), title);
    jw_end(w);
}

static void write_member(struct json_writer *w, enum revision revision, enum revision_part part,
                         const struct json *value)
{
    const struct nested *inner = nested, *end = nested + sizeof(nested) / sizeof(nested[0]);

    while (inner < end && !(inner->part == part && str_eq(inner->member, value->key)))
        inner++;
    if (inner == end) {
        jw_value(w, value);
        return;
    }
    if (!json_is(value, JSON_ARRAY)) {
        write_part(w, revision, inner->inner, value);
        return;
    }
    jw_array(w);
    JSON_EACH (item, value)
        write_part(w, revision, inner->inner, item);
    jw_end(w);
}

static void write_part(struct json_writer *w, enum revision revision, enum revision_part part,
                       const struct json *value)
{
    if (!json_is(value, JSON_OBJECT)) {
        jw_value(w, value);
        return;
    }
    if (part == PART_BLOCK && revision < link_since &&
        str_eq(json_get_str(value, STR("type")), STR("resource_link"))) {
        write_link(w, value);
        return;
    }

    bool move_title = part == PART_TOOL && !knows(revision, PART_TOOL, STR("title"));
    jw_object(w);
    JSON_EACH (member, value) {
        if (!knows(revision, part, member->key) ||
            ((part == PART_TOOL || part == PART_TOOL_RESULT) &&
             !is_object_member(member->key, member)) ||
            (move_title && str_eq(member->key, STR("annotations"))))
            continue;
        jw_key(w, member->key);
        write_member(w, revision, part, member);
    }
    if (move_title)
        write_tool_title(w, value);
    jw_end(w);
}

bool revision_write(struct json_writer *w, enum revision revision, enum revision_part part,
                    struct str text)
{
    if (!structured_otherwise(part, text) &&
        (revision == REVISION_NEWEST || !touched(revision, text))) {
        jw_raw(w, text);
        return true;
    }

    struct arena arena;
    arena_init(&arena, REVISION_ARENA_MAX);
    const struct json *value = json_parse(&arena, text, NULL, NULL);
    bool fine = json_is(value, JSON_OBJECT);
    if (fine)
        write_part(w, revision, part, value);
    arena_finish(&arena);
    return fine;
}
