/*
 * store/reseal: what a store reports when its records were sealed with the newest secret.
 */
#ifndef NOD_STORE_RESEAL_H
#define NOD_STORE_RESEAL_H

#include <stdint.h>

struct reseal_counts {
    uint64_t records;
    uint64_t resealed;
    uint64_t refused; /* no secret opens them: they stay as they are */
};

#endif
