/*
 * store/reseal: what a store says when its records were brought under the newest secret.
 */
#ifndef NOD_STORE_RESEAL_H
#define NOD_STORE_RESEAL_H

#include <stdint.h>

struct reseal_counts {
    uint64_t records;
    uint64_t resealed;
    uint64_t refused; /* none of the secrets opens them: they stay as they are */
};

#endif
