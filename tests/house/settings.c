/*
 * tests/house/settings: prints what the documentation says of the table of settings; see
 * scripts/settings.
 *
 *     settings options        the options, a table for each group
 *     settings environment    the variables that have no option
 *     settings members        the members of struct nod_server_opts that have a row
 */
#include <stdio.h>
#include <string.h>

#include "host/settings.h"

static void print_said(const struct setting *row)
{
    struct buf text;

    buf_init(&text, 4096);
    buf_add(&text, str_of(row->help));
    setting_facts(row, true, &text);
    printf(STR_FMT "%s%s", STR_ARG(buf_str(&text)), row->more ? ". " : "",
           row->more ? row->more : "");
    buf_finish(&text);
}

static void print_value(const struct setting *row)
{
    struct buf text;

    buf_init(&text, 256);
    setting_value(row, true, &text);
    printf("| `%s%s" STR_FMT "` | ", row->option, buf_str(&text).len ? " " : "",
           STR_ARG(buf_str(&text)));
    buf_finish(&text);
}

static void print_options(enum setting_group group)
{
    bool any = false;

    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        if (row->group != group || !row->option)
            continue;
        if (!any)
            printf("\n### %s\n\n| option | |\n| --- | --- |\n", settings_groups[group]);
        any = true;
        print_value(row);
        print_said(row);
        printf(" |\n");
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "options";

    for (size_t group = 0; group < GROUPS && strcmp(what, "options") == 0; group++)
        print_options((enum setting_group)group);
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        if (strcmp(what, "members") == 0 && row->member)
            puts(row->member);
        if (strcmp(what, "environment") == 0 && row->env) {
            printf("\n`%s`: ", row->env);
            print_said(row);
            printf(".\n");
        }
    }
    return 0;
}
