/*
 * bench/json_rivals: jansson and cJSON, separate from our own names (both sides have a json_equal).
 *
 * Each parses the text, writes it compactly into memory, frees everything, and returns how many
 * bytes it wrote; 0 if it could not.
 */
#ifndef NOD_BENCH_JSON_RIVALS_H
#define NOD_BENCH_JSON_RIVALS_H

#include <stddef.h>

size_t rival_jansson(const char *text, size_t len);
size_t rival_cjson(const char *text, size_t len);

#endif
