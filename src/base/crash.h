/*
 * base/crash: named points at which a test build can be told to die.
 *
 *     CRASH_POINT(ask_after);
 *
 * With the build option crash_points each of these checks whether NOD_CRASH_AT names it, and if so
 * ends the process with SIGKILL: nothing is flushed, closed or told, as when the machine stops.
 * Without the option, which is how everything but the tests is built, they do nothing.
 *
 *     NOD_CRASH_AT=ask_after        dies at this point
 *     NOD_CRASH_AT=ask_after:3      dies there the third time
 *     NOD_CRASH_AT=list             prints all names, one in each line, and ends
 *
 * There is a point on either side of each durable transition: before it is handed to the store, and
 * after the store has committed it and before the next thing begins. docs/inside/crashes.md says
 * what becomes of a call at each of them.
 */
#ifndef NOD_BASE_CRASH_H
#define NOD_BASE_CRASH_H

#define CRASH_POINTS(X)                                                                            \
    X(ask_before)           /* questions are made, and the store has not been told */              \
    X(ask_after)            /* they are stored, and nobody has been told */                        \
    X(priming_after)        /* 2025: the client has been sent an event id, and no question */      \
    X(told_after)           /* the client and the surfaces have been told */                       \
    X(answer_before)        /* an answer is checked, and the store has not been told */            \
    X(answer_after)         /* it is stored, and neither answerer nor call know */                 \
    X(take_before)          /* a call that became runnable elsewhere is about to be taken */       \
    X(take_after)           /* it was taken, and has not been run */                               \
    X(rerun_before)         /* its answers are there, and the handler is about to run again */     \
    X(intent_before)        /* at most once: the intent has not been stored */                     \
    X(intent_after)         /* at most once: it is stored, and nothing was done */                 \
    X(effect_before)        /* a step is about to be done */                                       \
    X(effect_after)         /* it was done, and nobody knows */                                    \
    X(step_after)           /* its result is stored, and the handler has not gone on */            \
    X(result_before)        /* the call has a result, and the store has not been told */           \
    X(result_after)         /* the result is stored, and the client was not told */                \
    X(reply_after)          /* the reply has been handed to the connection */                      \
    X(cancel_before)        /* a cancel is about to be stored */                                   \
    X(cancel_after)         /* it is stored, and nobody has been told */                           \
    X(secret_before)        /* a secret is sealed, and the store has not been told */              \
    X(secret_after)         /* it is stored, and its question is still open */                     \
    X(page_before)          /* a page was submitted, and its answer has not been given */          \
    X(page_after)           /* the answer is stored, and the browser was not told */               \
    X(return_before)        /* a foreign page has sent the person back, and nothing was taken */   \
    X(task_before)          /* the record of a task is about to be stored */                       \
    X(task_after)           /* it is stored, and the client does not know its id */                \
    X(open_before)          /* the call of a task is about to be stored */                         \
    X(open_after)           /* it is stored, and the client does not know the task's id */         \
    X(task_told_after)      /* the client has been sent the id, and the call has not begun */      \
    X(handle_before)        /* the record of a pending result is about to be stored */             \
    X(handle_after)         /* it is stored, and nobody has been told */                           \
    X(pended_after)         /* the pending result has been handed to the connection */             \
    X(collect_before)       /* a result is due that the store does not know to be handed out */    \
    X(collect_after)        /* the store knows, and the client was not told */                     \
    X(attach_after)         /* an answer counts, and its request has not found the call */         \
    X(flow_before)          /* credentials: a person is about to be sent to connect an account */  \
    X(flow_after)           /* the verifier of that is stored, and nobody was sent */              \
    X(connect_before)       /* the service has given tokens for a code, and nobody has them */     \
    X(connect_held)         /* they are stored for the question, which is not answered */          \
    X(connect_replaces)     /* it was accepted, and what it replaces is kept */                    \
    X(connect_after)        /* it was accepted, and they are the account now */                    \
    X(lease_before)         /* a token is about to be refreshed, and no other node knows */        \
    X(lease_after)          /* the lease is stored, and the service was not asked */               \
    X(refresh_before)       /* the service has given new tokens, and nobody has them */            \
    X(refresh_after)        /* they are stored, and no call was given them */                      \
    X(revoke_before)        /* an account is about to be marked as revoked */                      \
    X(revoke_marked)        /* it is marked, and its service was not told */                       \
    X(revoke_after)         /* its service was told, and the record is gone */                     \
    X(view_before)          /* a question is about to be stored for views to fetch */              \
    X(view_after)           /* it is stored, and no view has it */                                 \
    X(sqlite_commit_before) /* SQLite: a batch has been written, and not committed */              \
    X(sqlite_commit_after)  /* SQLite: it is committed, and no completion has left */              \
    X(redis_send_before)    /* Redis: an operation is about to be sent */                          \
    X(redis_send_after)     /* Redis: what gathered was sent, and no reply was read */             \
    X(redis_reply_after)    /* Redis: a reply was read, and nobody has been told */

#ifdef NOD_CRASH_POINTS

#define CRASH_NAMED(name) CRASH_##name,
enum crash_point { CRASH_POINTS(CRASH_NAMED) CRASH_POINT_COUNT };
#undef CRASH_NAMED

/* From any thread. Does not return if this is the chosen point. */
void crash_reached(enum crash_point point);

#define CRASH_POINT(name) crash_reached(CRASH_##name)
#else
#define CRASH_POINT(name) ((void)0)
#endif

#endif
