/* core/problems: see problems.h. */
#include "core/problems.h"

#include "base/buf.h"
#include "json/write.h"

enum {
    PROBLEMS_MAX = 64 * 1024,         /* bytes of what is wrong with an input, as JSON */
    PROBLEMS_SAID_MAX = 8,            /* problems in one sentence */
    PROBLEMS_SENTENCE_MAX = 8 * 1024, /* bytes of that sentence */
    PROBLEMS_CHOICES_MAX = 512,       /* bytes of the choices that it names */
};

/* The path up to its second slash: the field, and not what is inside it. */
static struct str field_of(struct str path)
{
    const char *slash = path.len > 1 ? memchr(path.at + 1, '/', path.len - 1) : NULL;

    return slash ? str_n(path.at, (size_t)(slash - path.at)) : path;
}

static const struct json *find_field(struct arena *arena, const struct json *schema,
                                     struct str path)
{
    struct str at = STR_NONE;

    if (schema && path.len)
        at = arena_fmt(arena, "/properties" STR_FMT, STR_ARG(field_of(path)));
    return at.at ? json_pointer(schema, at) : NULL;
}

/* The choices by their titles, as the form shows them. Empty: they have none. */
static struct str choices_of(struct arena *arena, const struct json *field)
{
    const struct json *many = json_get(json_get(field, STR("items")), STR("anyOf"));
    const struct json *choices = many ? many : json_get(field, STR("oneOf"));
    struct buf text;

    buf_init(&text, PROBLEMS_CHOICES_MAX);
    JSON_EACH (choice, choices) {
        struct str title = json_get_str(choice, STR("title"));
        if (text.len + title.len + 8 > PROBLEMS_CHOICES_MAX) {
            buf_add(&text, STR(", ..."));
            break;
        }
        buf_fmt(&text, "%s\"" STR_FMT "\"", text.len ? ", " : "", STR_ARG(title));
    }
    struct str all = arena_str(arena, buf_str(&text));
    buf_finish(&text);
    return all;
}

/* A person knows the choices by their titles; the values mean something to the handler only. */
static struct str message_for(struct arena *arena, const struct json *field, struct str message)
{
    const struct str start = STR("must be one of ");

    if (!field || !str_starts(message, start))
        return message;
    struct str choices = choices_of(arena, field);
    return choices.len ? arena_fmt(arena, STR_FMT STR_FMT, STR_ARG(start), STR_ARG(choices))
                       : message;
}

/* A name as a part of a JSON pointer. */
static struct str pointer_to(struct arena *arena, struct str name)
{
    struct buf path;

    buf_init(&path, SCHEMA_PATH_MOST);
    buf_add(&path, STR("/"));
    for (size_t i = 0; i < name.len; i++)
        buf_add(&path, name.at[i] == '~'   ? STR("~0")
                       : name.at[i] == '/' ? STR("~1")
                                           : str_n(name.at + i, 1));
    struct str text = arena_str(arena, buf_str(&path));
    buf_finish(&path);
    return text;
}

struct str problems_one(struct arena *arena, struct str path, struct str message)
{
    struct schema_problems problems = { .count = 1, .at = { { path, message } } };

    return problems_list(arena, &problems, NULL);
}

bool problems_no_nul(struct arena *arena, const struct json *value,
                     struct schema_problems *problems)
{
    struct schema_problem problem = {
        .path = STR_NONE, .message = STR("has a NUL character in it, which no text may have")
    };

    if (!json_has_nul(value))
        return true;
    JSON_EACH (member, value) {
        bool named = json_is(value, JSON_OBJECT) && !memchr(member->key.at, '\0', member->key.len);
        if (named && json_has_nul(member)) {
            problem.path = pointer_to(arena, member->key);
            break;
        }
    }
    problems->count = 1;
    problems->at[0] = problem;
    return false;
}

struct str problems_list(struct arena *arena, const struct schema_problems *problems,
                         const struct json *schema)
{
    struct buf buf;
    struct json_writer w;

    buf_init(&buf, PROBLEMS_MAX);
    json_writer_init(&w, &buf);
    jw_array(&w);
    for (size_t i = 0; i < problems->count; i++) {
        const struct json *field = find_field(arena, schema, problems->at[i].path);
        /* What the form calls the field: its title, or else its name. */
        struct str title = str_trim(json_get_str(field, STR("title")));
        if (field && !title.len)
            title = field->key;
        jw_object(&w);
        jw_key_str(&w, STR("path"), problems->at[i].path);
        if (title.len)
            jw_key_str(&w, STR("title"), title);
        jw_key_str(&w, STR("message"), message_for(arena, field, problems->at[i].message));
        jw_end(&w);
    }
    jw_end(&w);
    struct str text = json_writer_done(&w) ? arena_str(arena, buf_str(&buf)) : STR("[]");
    buf_finish(&buf);
    return text;
}

/* As the form calls it. An argument of a tool by its name or, deeper inside, where a name alone
 * says too little, by the pointer. */
static void add_label(struct buf *text, const struct json *problem)
{
    struct str title = json_get_str(problem, STR("title"));
    struct str path = json_get_str(problem, STR("path"));

    if (!title.len)
        title = field_of(path).len == path.len ? str_skip(path, 1) : path;
    if (!title.len)
        return;
    buf_add(text, title);
    buf_add(text, STR(": "));
}

struct str problems_sentence(struct arena *arena, struct str list)
{
    const struct json *problems = list.len ? json_parse(arena, list, NULL, NULL) : NULL;
    struct buf text;
    size_t said = 0;

    if (!json_is(problems, JSON_ARRAY) || !json_first(problems))
        return STR_NONE;
    buf_init(&text, PROBLEMS_SENTENCE_MAX);
    JSON_EACH (problem, problems) {
        if (said == PROBLEMS_SAID_MAX)
            break;
        if (said++)
            buf_add(&text, STR("; "));
        add_label(&text, problem);
        buf_add(&text, json_get_str(problem, STR("message")));
    }
    struct str sentence = arena_str(arena, buf_str(&text));
    buf_finish(&text);
    return sentence;
}
