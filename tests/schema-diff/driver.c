/*
 * tests/schema-diff/driver: nod's validator over a pipe.
 *
 * Each line of the input is {"schema": ..., "instance": ..., "formats": bool}. Each line of the
 * output is true, false, or "error" with a message, for a schema that does not compile or a bound
 * that was hit.
 */
#include <stdio.h>
#include <stdlib.h>

#include "json/schema.h"

enum { ARENA_MOST = 64 * 1024 * 1024 };

static void say_error(const struct schema_problems *problems)
{
    const struct schema_problem *first = &problems->at[0];

    printf("error " STR_FMT " " STR_FMT "\n", STR_ARG(first->path), STR_ARG(first->message));
}

static void answer(struct arena *arena, const struct json *pair)
{
    const struct schema_opts opts = { .assert_formats = json_true(json_get(pair, STR("formats"))) };
    struct schema_problems problems;
    struct schema *schema = schema_compile(json_get(pair, STR("schema")), &opts, arena, &problems);

    if (!schema) {
        say_error(&problems);
        return;
    }
    nod_status status = schema_check(schema, json_get(pair, STR("instance")), arena, &problems);
    if (status == NOD_E_LIMIT)
        say_error(&problems);
    else
        puts(status == NOD_OK ? "true" : "false");
    schema_destroy(schema);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;

    for (ssize_t len; (len = getline(&line, &room, stdin)) > 0;) {
        struct json_error error = { 0 };
        struct arena arena;
        arena_init(&arena, ARENA_MOST);
        struct json *pair = json_parse(&arena, str_n(line, (size_t)len), NULL, &error);
        if (pair)
            answer(&arena, pair);
        else
            printf("error the line is not JSON: %s\n", error.what);
        arena_finish(&arena);
    }
    free(line);
    return 0;
}
