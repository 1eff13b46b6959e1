/*
 * tests/fuzz/replay: runs a fuzz target over the files of a corpus folder, without libFuzzer:
 * `replay json tests/fuzz/corpus/json`.
 * Fails on an unreadable or empty corpus, so that it cannot pass by testing nothing.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"

static const struct fuzz_target *targets;

void fuzz_target_add(struct fuzz_target *target)
{
    target->next = targets;
    targets = target;
}

static int replay_file(const struct fuzz_target *target, const char *path)
{
    FILE *file = fopen(path, "rb");

    if (!file)
        return 0;
    uint8_t *bytes = malloc(1 << 20);
    size_t len = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    uint8_t *exact = malloc(len ? len : 1); /* so that ASan sees a read past the end */
    for (size_t i = 0; i < len; i++)
        exact[i] = bytes[i];
    target->run(exact, len);
    free(exact);
    free(bytes);
    return 1;
}

int main(int argc, char **argv)
{
    int replayed = 0;
    const struct fuzz_target *target = targets;
    DIR *folder = argc > 2 ? opendir(argv[2]) : NULL;

    while (target && argc > 1 && strcmp(target->name, argv[1]) != 0)
        target = target->next;
    if (!folder || !target) {
        fprintf(stderr, "usage: %s TARGET FOLDER; no such %s\n", argv[0],
                target ? "folder" : "target");
        return 1;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", argv[2], entry->d_name);
        replayed += replay_file(target, path);
    }
    closedir(folder);
    printf("%d inputs replayed\n", replayed);
    return replayed > 0 ? 0 : 1;
}
