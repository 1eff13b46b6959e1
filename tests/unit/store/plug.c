/*
 * tests/unit/store/plug: the plug is pulled, again and again.
 *
 * A SQLite VFS is between the store and its files. What was written reaches the next process only
 * if it was synced. At a random write the power goes: nothing more can be written, and the files
 * become what was synced before, with some of the later writes or none. Then the store is opened
 * again. This is done 200 times, and everything that was acknowledged has to be there.
 *
 * The same VFS can report that the disk is full, or that it fails, for a while.
 *
 * The seed is printed; NOD_SEED sets it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "crypto/seal.h"
#include "net/loop.h"
#include "store/sqlite.h"
#include "../runner.h"

enum {
    ROUNDS = 200,
    CALLS_MOST = 40000,
    IN_FLIGHT = 24,
    RESEAL_PUSHES = 1500,
    LOST_WRITES_MOST = 100000
};

static uint64_t seed = 20260728;

static uint64_t random_next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/*
 * --- the disk ---
 *
 * One image for each file: what is synced, and the writes since. Both files of the store pass
 * through here. The shared memory does not: it dies with the process anyway.
 */

struct lost_write {
    sqlite3_int64 at;
    size_t len;
    char *bytes; /* NULL: the file was cut at `at` */
};

struct image {
    char path[128];
    char *synced;
    size_t len, room;
    struct lost_write *writes;
    size_t count;
};

struct plug_file {
    sqlite3_file base;
    sqlite3_file *real;
    struct image *image; /* NULL: not one that matters */
};

static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;
static struct image images[2];
static long writes_left = -1; /* until the plug is pulled; -1: it stays in */
static atomic_bool dead;
static atomic_int failing; /* a SQLite error that every write gives; 0: none */
static sqlite3_vfs *real_vfs;

static void image_put(struct image *image, sqlite3_int64 at, const char *bytes, size_t len)
{
    size_t end = (size_t)at + len;

    if (end > image->room) {
        image->room = end * 2;
        image->synced = mem_realloc(image->synced, image->room);
    }
    if ((size_t)at > image->len)
        memset(image->synced + image->len, 0, (size_t)at - image->len);
    memcpy(image->synced + at, bytes, len);
    if (end > image->len)
        image->len = end;
}

static void image_apply(struct image *image, const struct lost_write *write)
{
    if (write->bytes)
        image_put(image, write->at, write->bytes, write->len);
    else if ((size_t)write->at < image->len)
        image->len = (size_t)write->at;
}

static void image_forget(struct image *image)
{
    for (size_t i = 0; i < image->count; i++)
        mem_free(image->writes[i].bytes);
    image->count = 0;
}

static void image_note(struct image *image, sqlite3_int64 at, const void *bytes, size_t len)
{
    assert_true(image->count < LOST_WRITES_MOST);
    if (!image->writes)
        image->writes = mem_alloc(LOST_WRITES_MOST * sizeof(struct lost_write));
    struct lost_write *write = &image->writes[image->count++];
    *write = (struct lost_write){ .at = at, .len = len };
    if (bytes) {
        write->bytes = mem_alloc(len);
        memcpy(write->bytes, bytes, len);
    }
}

/* With the disk locked: may this write happen? */
static int write_allowed(void)
{
    int error = atomic_load(&failing);

    if (error)
        return error;
    if (writes_left > 0 && --writes_left == 0)
        dead = true;
    return dead ? SQLITE_IOERR_WRITE : SQLITE_OK;
}

#define FILE_OF(f) ((struct plug_file *)(void *)(f))
#define REAL(f)    (FILE_OF(f)->real)

static int plug_close(sqlite3_file *f)
{
    return REAL(f)->pMethods->xClose(REAL(f));
}

static int plug_read(sqlite3_file *f, void *to, int len, sqlite3_int64 at)
{
    return REAL(f)->pMethods->xRead(REAL(f), to, len, at);
}

static int plug_write(sqlite3_file *f, const void *from, int len, sqlite3_int64 at)
{
    struct image *image = FILE_OF(f)->image;

    pthread_mutex_lock(&disk);
    int result = image ? write_allowed() : SQLITE_OK;
    if (result == SQLITE_OK) {
        result = REAL(f)->pMethods->xWrite(REAL(f), from, len, at);
        if (image)
            image_note(image, at, from, (size_t)len);
    }
    pthread_mutex_unlock(&disk);
    return result;
}

static int plug_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    struct image *image = FILE_OF(f)->image;

    pthread_mutex_lock(&disk);
    int result = image && dead ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
    if (result == SQLITE_OK) {
        result = REAL(f)->pMethods->xTruncate(REAL(f), size);
        if (image)
            image_note(image, size, NULL, 0);
    }
    pthread_mutex_unlock(&disk);
    return result;
}

/* Nothing is asked of the real disk: the image is what counts. */
static int plug_sync(sqlite3_file *f, int flags)
{
    struct image *image = FILE_OF(f)->image;

    (void)flags;
    if (!image)
        return SQLITE_OK;
    pthread_mutex_lock(&disk);
    int result = dead ? SQLITE_IOERR_FSYNC : SQLITE_OK;
    if (result == SQLITE_OK) {
        for (size_t i = 0; i < image->count; i++)
            image_apply(image, &image->writes[i]);
        image_forget(image);
    }
    pthread_mutex_unlock(&disk);
    return result;
}

static int plug_size(sqlite3_file *f, sqlite3_int64 *size)
{
    return REAL(f)->pMethods->xFileSize(REAL(f), size);
}

static int plug_lock(sqlite3_file *f, int level)
{
    return REAL(f)->pMethods->xLock(REAL(f), level);
}

static int plug_unlock(sqlite3_file *f, int level)
{
    return REAL(f)->pMethods->xUnlock(REAL(f), level);
}

static int plug_reserved(sqlite3_file *f, int *out)
{
    return REAL(f)->pMethods->xCheckReservedLock(REAL(f), out);
}

static int plug_control(sqlite3_file *f, int op, void *arg)
{
    return REAL(f)->pMethods->xFileControl(REAL(f), op, arg);
}

static int plug_sector(sqlite3_file *f)
{
    return REAL(f)->pMethods->xSectorSize(REAL(f));
}

/* Nothing is promised: not that a write is whole, not that writes keep their order. */
static int plug_traits(sqlite3_file *f)
{
    (void)f;
    return 0;
}

static int plug_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
    return REAL(f)->pMethods->xShmMap(REAL(f), page, size, extend, out);
}

static int plug_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    return REAL(f)->pMethods->xShmLock(REAL(f), at, n, flags);
}

static void plug_shm_barrier(sqlite3_file *f)
{
    REAL(f)->pMethods->xShmBarrier(REAL(f));
}

static int plug_shm_unmap(sqlite3_file *f, int remove)
{
    return REAL(f)->pMethods->xShmUnmap(REAL(f), remove);
}

static const sqlite3_io_methods plug_methods = {
    .iVersion = 2,
    .xClose = plug_close,
    .xRead = plug_read,
    .xWrite = plug_write,
    .xTruncate = plug_truncate,
    .xSync = plug_sync,
    .xFileSize = plug_size,
    .xLock = plug_lock,
    .xUnlock = plug_unlock,
    .xCheckReservedLock = plug_reserved,
    .xFileControl = plug_control,
    .xSectorSize = plug_sector,
    .xDeviceCharacteristics = plug_traits,
    .xShmMap = plug_shm_map,
    .xShmLock = plug_shm_lock,
    .xShmBarrier = plug_shm_barrier,
    .xShmUnmap = plug_shm_unmap,
};

static struct image *image_of(const char *path)
{
    for (size_t i = 0; i < 2; i++)
        if (path && strcmp(images[i].path, path) == 0)
            return &images[i];
    return NULL;
}

static int plug_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
    struct plug_file *file = FILE_OF(f);

    (void)vfs;
    file->real = (sqlite3_file *)(void *)(file + 1);
    file->image = image_of(name);
    int result = real_vfs->xOpen(real_vfs, name, file->real, flags, out);
    file->base.pMethods = result == SQLITE_OK ? &plug_methods : NULL;
    return result;
}

static int plug_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    struct image *image = image_of(name);

    (void)vfs;
    pthread_mutex_lock(&disk);
    int result = image && dead ? SQLITE_IOERR_DELETE : SQLITE_OK;
    if (result == SQLITE_OK && image) {
        image_forget(image);
        image->len = 0;
    }
    pthread_mutex_unlock(&disk);
    return result == SQLITE_OK ? real_vfs->xDelete(real_vfs, name, sync) : result;
}

static void plug_register(void)
{
    static sqlite3_vfs vfs;

    real_vfs = sqlite3_vfs_find(NULL);
    vfs = *real_vfs;
    vfs.zName = "plug";
    vfs.pNext = NULL;
    vfs.szOsFile = (int)sizeof(struct plug_file) + real_vfs->szOsFile;
    vfs.xOpen = plug_open;
    vfs.xDelete = plug_delete;
    assert_int_equal(sqlite3_vfs_register(&vfs, 0), SQLITE_OK);
}

/* What the disk holds after the power went: of the writes that were not synced none, or some. */
static void disk_settle(void)
{
    bool some = random_next() % 2;

    for (size_t i = 0; i < 2; i++) {
        struct image *image = &images[i];
        for (size_t j = 0; some && j < image->count; j++)
            if (random_next() % 2)
                image_apply(image, &image->writes[j]);
        image_forget(image);
        FILE *file = fopen(image->path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(image->synced ? image->synced : "", 1, image->len, file),
                         image->len);
        fclose(file);
    }
    dead = false;
    writes_left = -1;
}

/* --- the store --- */

static char folder[64], path[96];
static struct loop *loop;
static struct store *store;
static struct keyring *ring; /* NULL: nothing is sealed */

/* How far a call has come, as far as anybody was told. */
enum known { KNOWN_NOTHING, KNOWN_ASKED, KNOWN_ANSWERED, KNOWN_FINISHED };

struct history {
    struct id call, ask;
    enum known told;  /* acknowledged */
    enum known tried; /* sent, and perhaps done */
    bool busy;
};

static struct history *histories;
static size_t history_count;
static size_t in_flight;
static long acknowledged, checked, maybe_done;

static void acked(void *data, nod_status status, const struct store_reply *reply)
{
    struct history *history = data;

    (void)reply;
    in_flight--;
    history->busy = false;
    if (status == NOD_OK) {
        history->told = history->tried;
        acknowledged++;
    } else {
        assert_int_equal(status, NOD_E_STORE);
    }
}

/* Sends the next transition of this history. */
static void push(struct history *history)
{
    struct id token;

    id_random(&token);
    history->busy = true;
    in_flight++;
    history->tried = history->told + 1;
    if (history->told == KNOWN_NOTHING) {
        struct call_record open = { .id = id_str(&history->call),
                                    .principal = STR("ada"),
                                    .scope = STR("ada"),
                                    .target = STR("tool"),
                                    .args = STR("{}") };
        struct ask_record ask = { .id = id_str(&history->ask),
                                  .call_id = id_str(&history->call),
                                  .key = STR("#1"),
                                  .message = STR("Go on?"),
                                  .ttl_ms = 3600000 };
        store->ops->park(store,
                         &(struct park_spec){ .token = id_str(&token),
                                              .open = &open,
                                              .node = STR("node"),
                                              .call_id = id_str(&history->call),
                                              .epoch = 1,
                                              .asks = &ask,
                                              .ask_count = 1,
                                              .handed = true },
                         acked, history);
    } else if (history->told == KNOWN_ASKED) {
        store->ops->claim(
            store,
            &(struct claim_spec){ .token = id_str(&token),
                                  .items = &(struct claim_item){ .ask_id = id_str(&history->ask),
                                                                 .outcome = ASK_ACCEPTED,
                                                                 .content = STR("{\"n\":1}") },
                                  .count = 1,
                                  .by = STR("ada"),
                                  .take_for = STR("node") },
            acked, history);
    } else {
        store->ops->finish(store,
                           &(struct finish_spec){ .token = id_str(&token),
                                                  .call_id = id_str(&history->call),
                                                  .epoch = 2,
                                                  .result = STR("result") },
                           acked, history);
    }
}

static struct history *history_fresh(void)
{
    assert_true(history_count < CALLS_MOST);
    struct history *fresh = &histories[history_count++];
    *fresh = (struct history){ 0 };
    id_random(&fresh->call);
    id_random(&fresh->ask);
    return fresh;
}

static struct history *history_next(void)
{
    if (history_count && random_next() % 3) {
        struct history *old = &histories[random_next() % history_count];
        if (!old->busy && old->told == old->tried && old->told != KNOWN_FINISHED)
            return old;
    }
    return history_fresh();
}

struct loaded {
    bool done;
    nod_status status;
    enum call_state state;
    size_t entries;
    bool result;
};

static void on_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct loaded *loaded = data;

    loaded->done = true;
    loaded->status = status;
    if (status != NOD_OK)
        return;
    loaded->state = reply->call->state;
    loaded->entries = reply->call->entry_count;
    loaded->result = str_eq(reply->call->result, STR("result"));
}

/* How far the store says that it has come; whatever that is, it is whole. */
static enum known stored(const struct history *history)
{
    struct loaded loaded = { 0 };

    store->ops->load_call(store, id_str(&history->call), on_loaded, &loaded);
    for (int i = 0; !loaded.done && i < PATIENCE_MS / 10; i++)
        loop_turn(loop, 10);
    assert_true(loaded.done);
    if (loaded.status == NOD_E_NOT_FOUND)
        return KNOWN_NOTHING;
    assert_int_equal(loaded.status, NOD_OK);
    if (loaded.state == CALL_STORED_WAITING) {
        assert_int_equal(loaded.entries, 0);
        return KNOWN_ASKED;
    }
    assert_int_equal(loaded.entries, 1);
    if (loaded.state == CALL_STORED_RUNNING)
        return KNOWN_ANSWERED;
    assert_int_equal(loaded.state, CALL_STORED_FINISHED);
    assert_true(loaded.result);
    return KNOWN_FINISHED;
}

static void store_open(void)
{
    char why[LITE_WHY_MAX];

    store = sqlite_store_open(
        &(struct sqlite_opts){ .path = path, .loop = loop, .vfs = "plug", .ring = ring }, why);
    if (!store)
        fail_msg("%s", why);
}

static void check_since(size_t first)
{
    for (size_t i = 0; i < history_count; i++) {
        struct history *history = &histories[i];
        bool moved = i >= first || history->told != history->tried;
        if (!moved && random_next() % 16) /* the older ones now and then */
            continue;
        enum known known = stored(history);
        if (known != history->told && known != history->tried)
            fail_msg("call %zu: acknowledged up to %d, stored up to %d", i, history->told, known);
        checked++;
        maybe_done += known != history->told;
        history->told = history->tried = known;
    }
}

static int setup(void **state)
{
    (void)state;
    assert_true(scratch_make(folder, sizeof(folder)));
    snprintf(path, sizeof(path), "%s/store.db", folder);
    snprintf(images[0].path, sizeof(images[0].path), "%s", path);
    snprintf(images[1].path, sizeof(images[1].path), "%s-wal", path);
    histories = mem_zalloc(CALLS_MOST * sizeof(*histories));
    history_count = 0;
    loop = loop_create();
    return 0;
}

static int teardown(void **state)
{
    static const char *const tails[] = { "", "-wal", "-shm", ".lock" };
    char name[128];
    (void)state;

    loop_destroy(loop);
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "%s%s", path, tails[i]);
        unlink(name);
    }
    rmdir(folder);
    for (size_t i = 0; i < 2; i++) {
        image_forget(&images[i]);
        mem_free(images[i].synced);
        mem_free(images[i].writes);
        images[i] = (struct image){ 0 };
    }
    mem_free(histories);
    return 0;
}

static void work_until_dead(void)
{
    for (int i = 0; i < 2000 && !dead; i++) {
        while (in_flight < IN_FLIGHT)
            push(history_next());
        loop_turn(loop, 10);
    }
    for (int i = 0; in_flight && i < PATIENCE_MS / 10; i++)
        loop_turn(loop, 10);
    assert_int_equal(in_flight, 0);
}

static void forget_shared_memory(void)
{
    char shm[128];

    snprintf(shm, sizeof(shm), "%s-shm", path);
    unlink(shm);
}

static void whatever_was_acknowledged_survives_the_plug(void **state)
{
    (void)state;

    printf("seed %llu\n", (unsigned long long)seed);
    store_open();
    for (int round = 0; round < ROUNDS; round++) {
        size_t first = history_count;
        pthread_mutex_lock(&disk);
        writes_left = 1 + (long)(random_next() % 400);
        pthread_mutex_unlock(&disk);
        work_until_dead();
        store->ops->destroy(store);
        loop_turn(loop, 0);
        forget_shared_memory();
        disk_settle();
        store_open();
        check_since(first > IN_FLIGHT ? first - IN_FLIGHT : 0);
    }
    store->ops->destroy(store);
    printf("%d reopenings, %ld acknowledged, %ld checked, %ld done though nobody heard of it\n",
           ROUNDS, acknowledged, checked, maybe_done);
    assert_true(acknowledged > ROUNDS);
}

static void a_disk_that_is_full_is_said_and_nothing_is_half_done(void **state)
{
    static const int errors[] = { SQLITE_FULL, SQLITE_IOERR_WRITE };
    (void)state;

    store_open();
    for (size_t i = 0; i < 2; i++) {
        struct history *history = history_fresh();
        atomic_store(&failing, errors[i]);
        push(history);
        for (int j = 0; in_flight && j < 1000; j++)
            loop_turn(loop, 10);
        assert_int_equal(history->told, KNOWN_NOTHING);
        struct str why = STR_NONE;
        assert_false(store->ops->ready(store, &why));
        assert_true(str_eq(why, str_of(sqlite3_errstr(errors[i]))));
        atomic_store(&failing, 0);
        assert_int_equal(stored(history), KNOWN_NOTHING);
        history->tried = KNOWN_NOTHING;
        push(history);
        for (int j = 0; in_flight && j < 1000; j++)
            loop_turn(loop, 10);
        assert_int_equal(history->told, KNOWN_ASKED);
        assert_int_equal(stored(history), KNOWN_ASKED);
        assert_true(store->ops->ready(store, &why));
    }
    store->ops->destroy(store);
}

/* --- another secret --- */

static struct keyring *ring_of(const struct str *secrets, size_t count)
{
    struct keyring *made = NULL;
    const char *why;

    assert_int_equal(keyring_create(secrets, count, &made, &why), NOD_OK);
    return made;
}

/* One try; false: the plug was pulled. */
static bool reseal(const struct keyring *with, struct reseal_counts *counts)
{
    char why[LITE_WHY_MAX];
    bool done = sqlite_store_reseal(
        &(struct sqlite_opts){ .path = path, .vfs = "plug", .ring = with }, false, counts, why);

    if (!done)
        assert_true(dead);
    assert_int_equal(counts->refused, 0);
    forget_shared_memory();
    disk_settle();
    return done;
}

static void a_reseal_that_is_cut_off_is_run_again_and_loses_nothing(void **state)
{
    static const struct str old = STR_INIT("the-older-secret-the-older-secret-the-older");
    static const struct str new = STR_INIT("the-newer-secret-the-newer-secret-the-newer");
    struct keyring *first = ring_of(&old, 1), *both = ring_of((struct str[]){ new, old }, 2),
                   *last = ring_of(&new, 1);
    struct reseal_counts counts;
    int cut_off = 0;
    (void)state;

    ring = first;
    store_open();
    for (int i = 0; i < RESEAL_PUSHES; i++) {
        push(history_next());
        for (int j = 0; in_flight >= IN_FLIGHT && j < 1000; j++)
            loop_turn(loop, 10);
    }
    for (int j = 0; in_flight && j < 1000; j++)
        loop_turn(loop, 10);
    store->ops->destroy(store);
    loop_turn(loop, 0);
    do {
        pthread_mutex_lock(&disk);
        writes_left = 20 + 60 * cut_off + (long)(random_next() % 60);
        pthread_mutex_unlock(&disk);
    } while (!reseal(both, &counts) && ++cut_off < 1000);
    assert_true(cut_off > 0 && cut_off < 1000);
    assert_true(reseal(last, &counts)); /* the older one is not needed any more */
    assert_int_equal(counts.resealed, 0);
    assert_true(counts.records > history_count);
    printf("cut off %d times, %llu records\n", cut_off, (unsigned long long)counts.records);
    ring = last;
    store_open();
    for (size_t i = 0; i < history_count; i++)
        assert_int_equal(stored(&histories[i]), histories[i].told);
    store->ops->destroy(store);
    ring = NULL;
    keyring_destroy(first);
    keyring_destroy(both);
    keyring_destroy(last);
}

SUBJECT(plug)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whatever_was_acknowledged_survives_the_plug, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_disk_that_is_full_is_said_and_nothing_is_half_done, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_reseal_that_is_cut_off_is_run_again_and_loses_nothing,
                                        setup, teardown),
    };
    const char *given = getenv("NOD_SEED");

    if (given && atoll(given) > 0)
        seed = (uint64_t)atoll(given);
    plug_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
