/*
 * mcp/wire/revision: what each revision of the 2025 era knows.
 *
 * Providers describe their targets and results as revision 2025-11-25 does. For an older client,
 * one table (revision.c) leaves out the members it does not know, or replaces them by some that it
 * knows.
 */
#ifndef NOD_MCP_WIRE_REVISION_H
#define NOD_MCP_WIRE_REVISION_H

#include "json/form.h"
#include "json/write.h"

/* Oldest first. Later revisions know at least what earlier ones do. */
enum revision {
    REVISION_2025_03_26,
    REVISION_2025_06_18,
    REVISION_2025_11_25,
    REVISION_NEWEST = REVISION_2025_11_25,
};

enum {
    REVISION_COUNT = 3,
    REVISION_2026_07_28 = REVISION_COUNT, /* of the other era: not in the table */
};

struct revision_facts {
    struct str name;
    enum form_revision form; /* if there is elicitation at all */
    bool batches;            /* several messages in one array */
    bool elicitation;
    bool modes;   /* elicitation names its mode, and may be a URL */
    bool priming; /* a stream begins with an event that has an id and no data */
    bool titles;  /* the server itself has a title */
};

const struct revision_facts *revision_facts(enum revision revision);
/* False: the version is not of this era. */
bool revision_find(struct str name, enum revision *out);

/* What a JSON object is, for the table. */
enum revision_part {
    PART_TOOL,
    PART_RESOURCE, /* templates as well */
    PART_PROMPT,
    PART_TOOL_RESULT,
    PART_PROMPT_RESULT,
    PART_RESOURCE_RESULT,
    /* found inside those */
    PART_PROMPT_ARGUMENT,
    PART_PROMPT_MESSAGE,
    PART_BLOCK,
    PART_CONTENTS,
    PART_ANNOTATIONS,
    PART_COUNT,
};

/*
 * Writes an object that is given as in 2025-11-25. False, and nothing is written: it has to be
 * changed for this revision, but is not a JSON object within the limits.
 */
bool revision_write(struct json_writer *w, enum revision revision, enum revision_part part,
                    struct str text);

#endif
