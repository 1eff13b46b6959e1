/* tests/unit/runner: the main of every unit test program; see runner.h. */
#include "runner.h"

#include <stdio.h>
#include <string.h>

static const struct subject *subjects;

void subject_add(struct subject *subject)
{
    subject->next = subjects;
    subjects = subject;
}

int main(int argc, char **argv)
{
    for (const struct subject *s = subjects; argc > 1 && s; s = s->next)
        if (strcmp(s->name, argv[1]) == 0)
            return s->main(argc - 1, argv + 1);
    fprintf(stderr, "usage: %s SUBJECT; the subjects are:\n", argv[0]);
    for (const struct subject *s = subjects; s; s = s->next)
        fprintf(stderr, "  %s\n", s->name);
    return 2;
}
