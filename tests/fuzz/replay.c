/*
 * tests/fuzz/replay: runs a fuzz target over the files of a corpus folder, without libFuzzer.
 * Fails on an unreadable or empty corpus, so that it cannot pass by testing nothing.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
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
    LLVMFuzzerTestOneInput(exact, len);
    free(exact);
    free(bytes);
    return 1;
}

int main(int argc, char **argv)
{
    int replayed = 0;
    DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;

    if (!folder) {
        fprintf(stderr, "no corpus folder %s\n", argc > 1 ? argv[1] : "(none given)");
        return 1;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        replayed += replay_file(path);
    }
    closedir(folder);
    printf("%d inputs replayed\n", replayed);
    return replayed > 0 ? 0 : 1;
}
