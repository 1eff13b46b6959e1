/* tests/kit/delete_account: the shortest test of a server: one of the examples, as its file is. */
#define main serve
int serve(int argc, char **argv);
#include "../../examples/delete-account.c"
#undef main
#include <nod/test.h>

int main(void)
{
    nod_test *t = nod_test_new(tools);

    nod_test_accept(t, NULL, "{\"confirmed\":true}");
    nod_test_call(t, "delete_account", "{\"userId\":\"ada\"}");
    NOD_EXPECT_TEXT(t, "Deleted ada.");
    NOD_EXPECT_STEPS(t, 1);
    return nod_test_end(t);
}
