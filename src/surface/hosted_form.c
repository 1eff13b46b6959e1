/*
 * surface/hosted_form: a form on a page of this server.
 *
 * The script of the page draws it as the inbox does (web/form.js). What is entered is checked
 * against the schema when the answer is given, as everywhere (core/claim_content.c).
 */
#include "surface/hosted.h"

static void form_draw(struct hosted_visit *visit, struct json_writer *w)
{
    jw_key_raw(w, STR("schema"), visit->ask.detail);
}

static void form_submitted(struct hosted_visit *visit, const struct json *content)
{
    hosted_answer(visit, ASK_ACCEPTED, content);
}

const struct hosted_kind hosted_form = { .name = STR_INIT("form"),
                                         .done =
                                             STR_INIT("This was answered, and the tool goes on."),
                                         .draw = form_draw,
                                         .submitted = form_submitted };
