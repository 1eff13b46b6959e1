#ifndef NOD_NOD_H
#define NOD_NOD_H

#ifdef __cplusplus
extern "C" {
#endif

/* 0 is success; everything else is negative. */
typedef enum nod_status {
    NOD_OK = 0,
    NOD_PENDING = -1,               /* not an error: the call waits; return it (NOD_TRY does) */
    NOD_E_INVALID = -2,             /* data does not fit what was asked for */
    NOD_E_TIMEOUT = -3,             /* nobody answered in time */
    NOD_E_NOT_SUPPORTED = -4,       /* no surface can put this question to a person */
    NOD_E_BAD_SCHEMA = -5,          /* a schema that is not valid, or not a form */
    NOD_E_NOT_DETERMINISTIC = -6,   /* a replay asked something else under the same key */
    NOD_E_OUTCOME_UNKNOWN = -7,     /* a step may or may not have happened */
    NOD_E_LIMIT = -8,               /* a named limit was reached */
    NOD_E_CANCELLED = -9,           /* the call was cancelled */
    NOD_E_STORE = -10,              /* the store cannot be reached or refused */
    NOD_E_STALE = -11,              /* an old epoch, or somebody else was first */
    NOD_E_NOT_FOUND = -12,
    NOD_E_USAGE = -13,              /* the program calls nod in a way it does not allow */
    NOD_E_PARSE = -14,              /* bytes that are not what they should be */
    NOD_E_IO = -15,
    NOD_E_REFUSED = -16,            /* not allowed for this principal */
    NOD_E_FAILED = -17,             /* the tool's own failure */
} nod_status;

#ifdef __cplusplus
}
#endif

#endif
