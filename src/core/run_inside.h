/* core/run_inside: what the files that look at a run from inside the core share. */
#ifndef NOD_CORE_RUN_INSIDE_H
#define NOD_CORE_RUN_INSIDE_H

#include "core/run.h"

/* A person has declined or dismissed it. */
bool entry_is_no(const struct entry *entry);
/* The kinds that can be asked, if an answer is to count for this. */
unsigned run_supports(const struct run *run, const struct ask_spec *spec);
/* The form of a question. For consent no required box is ticked by anybody but the person: one that
 * the author has preset starts empty. */
struct str run_form_unticked(struct run *run, const struct ask_spec *spec);
/* It could be asked, but for the roles of whoever made the call: the fault says so. */
bool run_lacks_role(struct run *run, const struct ask_spec *spec);
nod_status run_fail_fmt(struct run *run, nod_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- run_question.c --- */

/* Can it be asked? `digest` is that of the question. Otherwise the run says why (run->fault,
 * run->unasked). */
nod_status run_check_question(struct run *run, const struct ask_spec *spec,
                              const unsigned char digest[DIGEST_BYTES]);
/* The mode of elicitation, or what else the client needs for it, as the protocol calls it. */
const char *run_mode_name(enum ask_kind kind);

/* --- live.c --- */

/* Was the question with this key committed by this live run, and has not ended? */
bool live_waits_for(const struct run *run, struct str key);

/* --- run_room.c --- */

/* May this run ask one more question in its round? */
nod_status run_room_in_round(struct run *run);
/* Is there room for so many entries, and for the result of a step? Its size is not known, so a part
 * is kept free. */
nod_status run_room_for_step(struct run *run, size_t more);
/* What it takes of the journal's room. */
size_t run_item_bytes(const struct run_item *item);
/* Adds an entry or ask to what is new, if there is room. */
nod_status run_record(struct run *run, struct run_item *item);

#endif
