/* tests/kit/renewals: a test of an example with many questions, a refusal, and crashes. */
#define main serve
int serve(int argc, char **argv);
#include "../../examples/renewals.c"
#undef main
#include <nod/test.h>

static void start_over(void)
{
    domains[0].days = 12;
    domains[1].days = 3;
}

static void two_of_three(nod_test *t, void *data)
{
    (void)data;
    start_over();
    nod_test_accept(t, "renew-0", NULL);
    nod_test_expire(t, "renew-1");
    nod_test_accept(t, "renew-2", NULL);
    nod_test_call(t, "renew_domains", NULL);
    NOD_EXPECT_TEXT(t, "example.org: renewed\nexample.net: not renewed\n"
                       "example.edu: failed, the registry has locked it");
    NOD_EXPECT_STEPS(t, 3); /* which run out, and two domains */
    NOD_EXPECT_QUESTIONS(t, 3);
}

int main(void)
{
    nod_test *t = nod_test_new(tools);

    two_of_three(t, NULL);
    NOD_EXPECT(t, domains[0].days == 12 + 365 && domains[1].days == 3);
    NOD_EXPECT(t, nod_test_every_crash(t, two_of_three, NULL) >= 12);

    start_over();
    for (int i = 0; i < 3; i++)
        nod_test_decline(t, NULL);
    nod_test_call(t, "renew_domains", "{}");
    NOD_EXPECT_STEPS(t, 1);
    NOD_EXPECT_MATCH(t, "example.org: not renewed");
    return nod_test_end(t);
}
