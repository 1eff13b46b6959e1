/* tests/unit/runner: the main of every unit test program; see runner.h. */
#include "runner.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct subject *subjects;

void subject_add(struct subject *subject)
{
    subject->next = subjects;
    subjects = subject;
}

bool scratch_make(char *folder, size_t size)
{
    const char *in = getenv("TMPDIR");
    int length = snprintf(folder, size, "%s/nod-unit-XXXXXX", in && *in ? in : "/tmp");

    return length > 0 && (size_t)length < size && mkdtemp(folder);
}

int main(int argc, char **argv)
{
    /* Whoever started it may ignore this one (nohup does), and that is inherited. */
    signal(SIGHUP, SIG_DFL);
    /* Tests write outside of the turns of a loop as well; nod does not. own_loop has it otherwise.
     */
    signal(SIGPIPE, SIG_IGN);
    for (const struct subject *s = subjects; argc > 1 && s; s = s->next)
        if (strcmp(s->name, argv[1]) == 0)
            return s->main(argc - 1, argv + 1);
    fprintf(stderr, "usage: %s SUBJECT; the subjects are:\n", argv[0]);
    for (const struct subject *s = subjects; s; s = s->next)
        fprintf(stderr, "  %s\n", s->name);
    return 2;
}
