/*
 * tests/unit/mcp/task_talk: what the tests of tasks share: tools that are tasks, and single
 * exchanges.
 *
 * Every exchange has its own connection: only the task's id leads from one to the next.
 */
#ifndef NOD_TESTS_TASK_TALK_H
#define NOD_TESTS_TASK_TALK_H

#include "world.h"

enum { TEXT_MAX = 65536, ID_TEXT = 64 };

#define PLAIN    "\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{},\"roots\":{}"
#define EXTENDED "{" PLAIN ",\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"
#define ONLY     "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"
#define WITHOUT  "{" PLAIN "}"
#define MISSING                                                                                    \
    "\"code\":-32021,\"message\":\"The client does not declare the extension "                     \
    "io.modelcontextprotocol/tasks.\",\"data\":{\"requiredCapabilities\":{\"extensions\":{"        \
    "\"io.modelcontextprotocol/tasks\":{}}}}"
#define UNKNOWN   "\"code\":-32602,\"message\":\"There is no such task, or it is no longer kept.\""
#define ACK       "\"result\":{\"resultType\":\"complete\",\"_meta\":"
#define AGE(n)    "{\"action\":\"accept\",\"content\":{\"age\":" n "}}"
#define WORKING   "\"status\":\"working\""
#define ASKS      "\"status\":\"input_required\""
#define COMPLETED "\"status\":\"completed\""
#define FAILED    "\"status\":\"failed\""
#define CANCELLED "\"status\":\"cancelled\""
#define REFUSAL   "Invalid or expired requestState: make the call again, without it"

extern struct world world;
extern char id[ID_TEXT], other[ID_TEXT]; /* of tasks */
extern char text[TEXT_MAX];              /* the last response */
extern char more[TEXT_MAX];
extern const char *token_now;     /* whose exchanges they are; NULL: nobody is asked */
extern struct store_ops survivor; /* with setup_survivor */

struct exchange {
    const char *method;
    const char *name;         /* the header Mcp-Name; NULL: none */
    const char *params;       /* members, before _meta */
    const char *capabilities; /* NULL: EXTENDED */
    const char *token;
};

void set_task(const char *name, enum target_detach mode, bool asks_first);
int setup(void **state);
int setup_tokens(void **state);
int setup_survivor(void **state);
int teardown(void **state);
int teardown_tokens(void **state);
void post(struct talk *talk, const struct exchange *exchange);
void expect(const struct exchange *given, int status, const char *has);
void has_not(const char *what);
void cut(const char *from, const char *before, const char *after, char *out, size_t room);
void cut_task(char *out);
void begin(const char *tool, const char *args, char *into);
void of_task(const char *method, const char *task, const char *further, int status,
             const char *has);
void get(const char *task, const char *has);
void update(const char *task, const char *responses, int status, const char *has);
void cancel(const char *task);

#endif
