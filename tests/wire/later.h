/*
 * later: clocks that a test puts ahead while its processes run.
 *
 * The file NOD_LATER_FILE has eight bytes: by how many milliseconds the clocks are ahead. Whoever
 * maps it sees each change at once.
 */
#ifndef LATER_H
#define LATER_H

#include <stdint.h>

/* How far ahead the clocks are now; 0 if there is no such file. */
int64_t later_ms(void);

#endif
