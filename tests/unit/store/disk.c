/*
 * tests/unit/store/disk: a disk that is small, and files that are removed.
 *
 * A SQLite VFS limits the room of the store's file and its log together. What a second process
 * does, or one that is killed, is done by this program itself, started again with the name of the
 * act and the path (see main).
 *
 * The tests use only small records: they are about the file, not about what is in it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/loop.h"
#include "store/sqlite.h"
#include "../runner.h"

enum {
    PAGE = 4096,
    STEP = 64 << 10,      /* bytes by which the file grows */
    LOG_MOST = 12 << 20,  /* bytes that are still "a few megabytes" */
    VALUE = 8000,         /* bytes of one record */
    AMPLE = 1 << 30,      /* room that is never used up */
    FILLED_MOST = 100000, /* records that a disk is filled with */
};

extern char **environ;

/* --- the disk --- */

struct small_file {
    sqlite3_file base;
    sqlite3_file *real;
    atomic_llong *size; /* NULL: not one that counts */
};

static atomic_llong room = AMPLE;
static atomic_llong sizes[2]; /* the file, its log */
static sqlite3_vfs *real_vfs;
static char folder[64], path[96], log_path[128];

#define FILE_OF(f) ((struct small_file *)(void *)(f))
#define REAL(f)    (FILE_OF(f)->real)

static int small_close(sqlite3_file *f)
{
    return REAL(f)->pMethods->xClose(REAL(f));
}

static int small_read(sqlite3_file *f, void *to, int len, sqlite3_int64 at)
{
    return REAL(f)->pMethods->xRead(REAL(f), to, len, at);
}

static int small_write(sqlite3_file *f, const void *from, int len, sqlite3_int64 at)
{
    atomic_llong *size = FILE_OF(f)->size;

    if (size && at + len > atomic_load(size)) {
        long long more = at + len - atomic_load(size);
        if (atomic_load(&sizes[0]) + atomic_load(&sizes[1]) + more > atomic_load(&room))
            return SQLITE_FULL;
        atomic_store(size, at + len);
    }
    return REAL(f)->pMethods->xWrite(REAL(f), from, len, at);
}

static int small_truncate(sqlite3_file *f, sqlite3_int64 to)
{
    int result = REAL(f)->pMethods->xTruncate(REAL(f), to);
    sqlite3_int64 now = to; /* or more: a file can grow in steps */

    REAL(f)->pMethods->xFileSize(REAL(f), &now);
    if (result == SQLITE_OK && FILE_OF(f)->size)
        atomic_store(FILE_OF(f)->size, now);
    return result;
}

static int small_sync(sqlite3_file *f, int flags)
{
    return REAL(f)->pMethods->xSync(REAL(f), flags);
}

static int small_size(sqlite3_file *f, sqlite3_int64 *size)
{
    return REAL(f)->pMethods->xFileSize(REAL(f), size);
}

static int small_lock(sqlite3_file *f, int level)
{
    return REAL(f)->pMethods->xLock(REAL(f), level);
}

static int small_unlock(sqlite3_file *f, int level)
{
    return REAL(f)->pMethods->xUnlock(REAL(f), level);
}

static int small_reserved(sqlite3_file *f, int *out)
{
    return REAL(f)->pMethods->xCheckReservedLock(REAL(f), out);
}

/* A file that is told the size to come takes that room, in steps, or has none. */
static int small_control(sqlite3_file *f, int op, void *arg)
{
    atomic_llong *size = FILE_OF(f)->size;

    if (op == SQLITE_FCNTL_SIZE_HINT && size) {
        long long to = (*(sqlite3_int64 *)arg + STEP - 1) / STEP * STEP;
        long long more = to - atomic_load(size);
        if (more > 0 && atomic_load(&sizes[0]) + atomic_load(&sizes[1]) + more > atomic_load(&room))
            return SQLITE_IOERR_WRITE;
        if (more > 0)
            atomic_store(size, to);
    }
    return REAL(f)->pMethods->xFileControl(REAL(f), op, arg);
}

static int small_sector(sqlite3_file *f)
{
    return REAL(f)->pMethods->xSectorSize(REAL(f));
}

static int small_traits(sqlite3_file *f)
{
    return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f));
}

static int small_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
    return REAL(f)->pMethods->xShmMap(REAL(f), page, size, extend, out);
}

static int small_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    return REAL(f)->pMethods->xShmLock(REAL(f), at, n, flags);
}

static void small_shm_barrier(sqlite3_file *f)
{
    REAL(f)->pMethods->xShmBarrier(REAL(f));
}

static int small_shm_unmap(sqlite3_file *f, int remove)
{
    return REAL(f)->pMethods->xShmUnmap(REAL(f), remove);
}

static const sqlite3_io_methods small_methods = {
    .iVersion = 2,
    .xClose = small_close,
    .xRead = small_read,
    .xWrite = small_write,
    .xTruncate = small_truncate,
    .xSync = small_sync,
    .xFileSize = small_size,
    .xLock = small_lock,
    .xUnlock = small_unlock,
    .xCheckReservedLock = small_reserved,
    .xFileControl = small_control,
    .xSectorSize = small_sector,
    .xDeviceCharacteristics = small_traits,
    .xShmMap = small_shm_map,
    .xShmLock = small_shm_lock,
    .xShmBarrier = small_shm_barrier,
    .xShmUnmap = small_shm_unmap,
};

static long long bytes_of(const char *name)
{
    struct stat about;

    return stat(name, &about) == 0 ? (long long)about.st_size : 0;
}

static atomic_llong *size_of(const char *name)
{
    if (!name)
        return NULL;
    return strcmp(name, path) == 0 ? &sizes[0] : strcmp(name, log_path) == 0 ? &sizes[1] : NULL;
}

static int small_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
    struct small_file *file = FILE_OF(f);

    (void)vfs;
    file->real = (sqlite3_file *)(void *)(file + 1);
    file->size = size_of(name);
    int result = real_vfs->xOpen(real_vfs, name, file->real, flags, out);
    file->base.pMethods = result == SQLITE_OK ? &small_methods : NULL;
    if (file->size)
        atomic_store(file->size, bytes_of(name));
    return result;
}

static int small_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    if (size_of(name))
        atomic_store(size_of(name), 0);
    return real_vfs->xDelete(real_vfs, name, sync);
}

static void small_register(void)
{
    static sqlite3_vfs vfs;

    real_vfs = sqlite3_vfs_find(NULL);
    vfs = *real_vfs;
    vfs.zName = "small";
    vfs.pNext = NULL;
    vfs.szOsFile = (int)sizeof(struct small_file) + real_vfs->szOsFile;
    vfs.xOpen = small_open;
    vfs.xDelete = small_delete;
    if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK)
        exit(3);
}

/* --- the store --- */

static struct loop *loop;
static struct store *store;
static char why_not[LITE_WHY_MAX];
static char value[VALUE];

static bool store_open(void)
{
    store = sqlite_store_open(
        &(struct sqlite_opts){
            .path = path, .loop = loop, .vfs = "small", .synchronous = LITE_SYNC_NORMAL },
        why_not);
    return store != NULL;
}

static void store_close(void)
{
    if (store)
        store->ops->destroy(store);
    store = NULL;
    loop_turn(loop, 0);
}

static void must_open(void)
{
    if (!store_open())
        fail_msg("%s", why_not);
}

struct told {
    bool done;
    nod_status status;
    bool same; /* the value is what was put */
};

static void on_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct told *told = data;

    told->done = true;
    told->status = status;
    told->same = status == NOD_OK && str_eq(reply->value, str_n(value, VALUE));
}

static nod_status told_wait(struct told *told)
{
    for (int i = 0; !told->done && i < PATIENCE_MS / 10; i++)
        loop_turn(loop, 10);
    return told->done ? told->status : NOD_E_TIMEOUT;
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* It gets the time to say something else. */
static void let_it_look(void)
{
    for (int64_t until = now_ms() + 1500; now_ms() < until;)
        loop_turn(loop, 10);
}

static struct str key_of(int n)
{
    static char text[16];

    snprintf(text, sizeof(text), "%d", n);
    return str_of(text);
}

static nod_status put(int n)
{
    struct told told = { 0 };

    store->ops->put(store, STR("k"), key_of(n), str_n(value, VALUE), STR_NONE, 0, 0, on_done,
                    &told);
    return told_wait(&told);
}

static nod_status get(int n)
{
    struct told told = { 0 };

    store->ops->get(store, STR("k"), key_of(n), on_done, &told);
    nod_status status = told_wait(&told);
    return status == NOD_OK && !told.same ? NOD_E_PARSE : status;
}

static bool is_ready(struct str *why)
{
    *why = STR_NONE;
    return store->ops->ready(store, why);
}

/* Nobody asks it for anything meanwhile. */
static struct str wait_ready(bool wanted)
{
    struct str why = STR_NONE;

    for (int i = 0; i < PATIENCE_MS / 10 && is_ready(&why) != wanted; i++)
        loop_turn(loop, 10);
    if (is_ready(&why) != wanted)
        fail_msg("still %s: " STR_FMT, wanted ? "not ready" : "ready", STR_ARG(why));
    return why;
}

static bool says(struct str why, const char *text)
{
    return str_find(why, str_of(text)) >= 0;
}

static int filled; /* records so far */

/* Until one is not taken any more, and it is not for a moment that there is no room. */
static bool fill(void)
{
    struct str why;

    for (int rounds = 0; rounds < 40; rounds++) {
        while (filled < FILLED_MOST && put(filled) == NOD_OK)
            filled++;
        let_it_look();
        if (!is_ready(&why))
            return true;
    }
    return false;
}

static const char *beside(const char *tail)
{
    static char name[128];

    snprintf(name, sizeof(name), "%s%s", path, tail);
    return name;
}

static int setup(void **state)
{
    (void)state;
    assert_true(scratch_make(folder, sizeof(folder)));
    snprintf(path, sizeof(path), "%s/store.db", folder);
    snprintf(log_path, sizeof(log_path), "%s-wal", path);
    atomic_store(&room, AMPLE);
    filled = 0;
    loop = loop_create();
    return 0;
}

static int teardown(void **state)
{
    static const char *const tails[] = { "",           "-wal",        "-shm",
                                         ".lock",      ".other",      ".other-wal",
                                         ".other-shm", ".other.lock", ".away" };
    (void)state;

    store_close();
    loop_destroy(loop);
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++)
        unlink(beside(tails[i]));
    return rmdir(folder);
}

/* --- the other process --- */

/* Runs this program again; its exit code. */
static int another(const char *act, const char *file)
{
    static char self[] = "/proc/self/exe", subject[] = "disk";
    char act_text[32], file_text[128], room_text[32];
    char *argv[] = { self, subject, act_text, file_text, room_text, NULL };
    pid_t process;
    int status = -1;

    snprintf(act_text, sizeof(act_text), "%s", act);
    snprintf(file_text, sizeof(file_text), "%s", file);
    snprintf(room_text, sizeof(room_text), "%lld", atomic_load(&room));
    assert_int_equal(posix_spawn(&process, self, NULL, NULL, argv, environ), 0);
    assert_int_equal(waitpid(process, &status, 0), process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

enum { OPENED = 10, REFUSED = 11, FAILED = 12 };

static int act_open(void)
{
    if (!store_open()) {
        fprintf(stderr, "%s\n", why_not);
        return REFUSED;
    }
    store_close();
    return OPENED;
}

/* A disk fills up, and the process is killed. */
static int act_fill(void)
{
    if (!store_open())
        return REFUSED;
    _exit(fill() ? OPENED : FAILED);
}

/* Two records are stored, the log is taken away, and the process is killed as soon as it knows. */
static int act_lose_log(void)
{
    struct str why;

    if (!store_open() || put(1) != NOD_OK || put(2) != NOD_OK)
        return REFUSED;
    unlink(log_path);
    for (int i = 0; i < PATIENCE_MS / 10 && is_ready(&why); i++)
        loop_turn(loop, 10);
    _exit(is_ready(&why) ? FAILED : OPENED);
}

/* A log that somebody has left long. */
static int act_long_log(void)
{
    sqlite3 *db = NULL;
    char *problem = NULL;

    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(
            db,
            "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;"
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)"
            " INSERT INTO small (kind, key, version, value)"
            " SELECT x'6b', CAST('long' || i AS BLOB), i, zeroblob(8000) FROM n",
            NULL, NULL, &problem) != SQLITE_OK)
        return FAILED;
    _exit(OPENED);
}

/* --- the log --- */

static void line16_the_log_stays_at_a_few_megabytes_whatever_the_load(void **state)
{
    enum { PUTS = 2400, AT_ONCE = 8 };
    struct told puts[AT_ONCE], reads[AT_ONCE];
    long long most = 0;
    (void)state;

    must_open();
    for (int n = 0; n < PUTS; n += AT_ONCE) {
        memset(puts, 0, sizeof(puts));
        memset(reads, 0, sizeof(reads));
        for (int i = 0; i < AT_ONCE; i++) {
            store->ops->put(store, STR("k"), key_of((n + i) % 500), str_n(value, VALUE), STR_NONE,
                            0, 0, on_done, &puts[i]);
            store->ops->get(store, STR("k"), key_of((n + i) % 500), on_done, &reads[i]);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            assert_int_equal(told_wait(&puts[i]), NOD_OK);
            assert_true(told_wait(&reads[i]) == NOD_OK || reads[i].status == NOD_E_NOT_FOUND);
        }
        long long now = bytes_of(log_path);
        most = now > most ? now : most;
    }
    printf("%d records of %d bytes: the log was never longer than %lld KiB\n", PUTS, VALUE,
           most >> 10);
    assert_true(most < LOG_MOST);
}

static void line16_a_log_that_was_long_is_truncated(void **state)
{
    (void)state;

    must_open();
    store_close();
    assert_int_equal(another("long-log", path), OPENED);
    assert_true(bytes_of(log_path) > LOG_MOST);
    must_open(); /* a server that was killed has left it */
    assert_int_equal(put(1), NOD_OK);
    assert_true(bytes_of(log_path) < LOG_MOST);
    for (int i = 2; i < 300; i++) /* and one that was busy */
        assert_int_equal(put(i), NOD_OK);
    for (int i = 0; bytes_of(log_path) > 64 * PAGE && i < PATIENCE_MS / 10; i++)
        loop_turn(loop, 10);
    assert_true(bytes_of(log_path) <= 64 * PAGE);
    assert_int_equal(get(299), NOD_OK);
}

/* --- a disk that is full --- */

static void line16_a_full_disk_is_said_and_heals_when_there_is_room(void **state)
{
    (void)state;

    must_open();
    for (int round = 0; round < 2; round++) {
        atomic_store(&room, bytes_of(path) + bytes_of(log_path) + (2 << 20) * round + (256 << 10));
        assert_true(fill());
        struct str why = wait_ready(false);
        assert_true(says(why, "full"));
        for (int i = 0; i < filled; i += 7)
            assert_int_equal(get(i), NOD_OK);
        assert_int_not_equal(put(FILLED_MOST), NOD_OK);
        assert_false(is_ready(&why));
        atomic_fetch_add(&room, 8 << 20);
        wait_ready(true);
        for (int i = 0; i < 100; i++)
            assert_int_equal(put(filled++), NOD_OK);
    }
}

static void line16_a_log_that_fills_the_disk_makes_room_by_itself(void **state)
{
    int refused = 0;
    (void)state;

    must_open();
    assert_int_equal(put(1), NOD_OK);
    store_close();
    must_open();
    atomic_store(&room, bytes_of(path) + bytes_of(log_path) + (1 << 20));
    for (int i = 0; i < 1000; i++) /* the same record: the file needs no more */
        for (int tries = 0; put(1) != NOD_OK; tries++, refused++)
            assert_true(tries < 3);
    printf("%d of 1000 had to be sent again\n", refused);
    struct str why;
    assert_true(is_ready(&why));
}

static void line16_a_log_never_takes_the_room_that_moving_it_needs(void **state)
{
    (void)state;

    must_open();
    atomic_store(&room, bytes_of(path) + bytes_of(log_path) + (3 << 20));
    while (put(filled) == NOD_OK)
        filled++;
    assert_true(bytes_of(path) > 2 << 20); /* it is in the file */
    atomic_fetch_add(&room, 512 << 10);    /* far less than the log has taken meanwhile */
    wait_ready(true);
    assert_int_equal(put(filled++), NOD_OK);
    for (int i = 0; i < filled; i += 7)
        assert_int_equal(get(i), NOD_OK);
}

static void line16_a_server_starts_on_a_full_disk_says_so_and_heals(void **state)
{
    (void)state;

    must_open();
    store_close();
    atomic_store(&room, bytes_of(path) + (3 << 20));
    assert_int_equal(another("fill", path), OPENED);
    for (int round = 0; round < 3; round++) {
        /* Not one byte more than there is. */
        atomic_store(&room, bytes_of(path) + bytes_of(log_path));
        must_open();
        struct str why = STR_NONE;
        assert_int_equal(get(0), NOD_OK);
        if (put(FILLED_MOST) != NOD_OK) {
            why = wait_ready(false);
            assert_true(says(why, "full"));
        }
        store_close();
    }
    must_open();
    atomic_fetch_add(&room, 8 << 20);
    wait_ready(true);
    assert_int_equal(put(0), NOD_OK);
    assert_int_equal(get(0), NOD_OK);
}

/* --- files that are taken away --- */

/* What happens when the file with this tail is taken away from a server that has it open. */
static void taken_away(const char *tail, const char *reason)
{
    must_open();
    assert_int_equal(put(1), NOD_OK);
    struct str why;
    assert_true(is_ready(&why));
    assert_int_equal(unlink(beside(tail)), 0);
    why = wait_ready(false); /* nobody had to ask it for anything */
    if (!says(why, reason))
        fail_msg("it says: " STR_FMT, STR_ARG(why));
    assert_int_equal(put(2), NOD_E_STORE); /* it would be acknowledged, and lost */
    assert_int_equal(another("open", path), REFUSED);
    assert_int_equal(put(2), NOD_E_STORE);
    assert_false(is_ready(&why));
    store_close();
    must_open(); /* started again, it is whole */
    assert_true(is_ready(&why));
    assert_int_equal(get(1), NOD_OK);
    assert_int_equal(put(2), NOD_OK);
}

static void line15_a_lock_that_was_removed_is_not_ready_and_lets_nobody_in(void **state)
{
    (void)state;
    taken_away(".lock", "lock");
}

static void line15_a_log_that_was_removed_is_not_ready_and_lets_nobody_in(void **state)
{
    (void)state;
    taken_away("-wal", "log");
}

static void line15_an_index_that_was_removed_is_not_ready_and_lets_nobody_in(void **state)
{
    (void)state;
    taken_away("-shm", "index");
}

static void line15_what_was_stored_before_the_log_was_removed_outlives_a_kill(void **state)
{
    (void)state;

    assert_int_equal(another("lose-log", path), OPENED);
    must_open();
    assert_int_equal(get(1), NOD_OK);
    assert_int_equal(get(2), NOD_OK);
}

static void line15_a_file_by_another_name_is_not_opened_twice(void **state)
{
    char other[128];
    (void)state;

    snprintf(other, sizeof(other), "%s.other", path);
    must_open();
    assert_int_equal(link(path, other), 0);
    assert_int_equal(another("open", other), REFUSED);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(symlink(path, other), 0);
    assert_int_equal(another("open", other), REFUSED);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(rename(path, other), 0); /* with its log left behind */
    assert_int_equal(another("open", other), REFUSED);
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(put(1), NOD_OK);
}

/* A process that was killed still has its locks while the system takes it down. */
static void a_file_whose_process_is_dying_is_waited_for(void **state)
{
    const struct timespec dying = { .tv_nsec = 300000000 };
    int said[2];
    char byte;
    (void)state;

    assert_int_equal(pipe(said), 0);
    pid_t process = fork();
    if (process == 0) {
        int file = open(path, O_RDWR | O_CREAT, 0600),
            lock = open(beside(".lock"), O_RDWR | O_CREAT, 0600);
        bool locked =
            flock(file, LOCK_EX) == 0 && flock(lock, LOCK_EX) == 0 && write(said[1], "", 1) == 1;
        nanosleep(&dying, NULL);
        _exit(!locked);
    }
    assert_int_equal(read(said[0], &byte, 1), 1);
    must_open();
    int status = -1;
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_int_equal(status, 0);
    assert_int_equal(put(1), NOD_OK);
    close(said[0]);
    close(said[1]);
}

static void line15_a_file_that_is_put_back_is_ready_again(void **state)
{
    static const char *const tails[] = { "", "-wal", "-shm", ".lock" };
    char away[128];
    (void)state;

    snprintf(away, sizeof(away), "%s.away", path);
    must_open();
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        assert_int_equal(rename(beside(tails[i]), away), 0);
        wait_ready(false);
        assert_int_equal(rename(away, beside(tails[i])), 0);
        wait_ready(true);
        assert_int_equal(put((int)i), NOD_OK);
    }
}

/* --- a page that is damaged --- */

/* Those that hold the records: what a server reads at its start is left as it is. */
static void damage_pages(void)
{
    char page[PAGE];
    long long all = bytes_of(path);
    int damaged = 0, fd = open(path, O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    for (long long at = 0; at < all; at += PAGE) {
        assert_int_equal(pread(fd, page, PAGE, at), PAGE);
        if (memcmp(page + PAGE / 2, value, PAGE / 4) != 0)
            continue;
        memset(page, 0xa5, sizeof(page));
        assert_int_equal(pwrite(fd, page, PAGE, at), PAGE);
        damaged++;
    }
    close(fd);
    assert_true(damaged > 0);
}

static void line15_a_damaged_page_is_not_ready_and_acknowledges_nothing(void **state)
{
    (void)state;

    must_open();
    for (int i = 0; i < 400; i++)
        assert_int_equal(put(i), NOD_OK);
    store_close();
    damage_pages();
    must_open(); /* it cannot be seen before it is met */
    nod_status status = NOD_OK;
    for (int i = 0; i < 400 && status != NOD_E_STORE; i++)
        status = get(i);
    assert_int_equal(status, NOD_E_STORE);
    struct str why = wait_ready(false);
    assert_true(says(why, "damaged"));
    let_it_look();
    assert_false(is_ready(&why)); /* for it does not go away */
    assert_int_equal(put(500), NOD_E_STORE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct {
    const char *name;
    int (*act)(void);
} acts[] = {
    { "open", act_open },
    { "fill", act_fill },
    { "lose-log", act_lose_log },
    { "long-log", act_long_log },
};

SUBJECT(disk)
{
    const struct CMUnitTest tests[] = {
        TEST(line16_the_log_stays_at_a_few_megabytes_whatever_the_load),
        TEST(line16_a_log_that_was_long_is_truncated),
        TEST(line16_a_full_disk_is_said_and_heals_when_there_is_room),
        TEST(line16_a_log_that_fills_the_disk_makes_room_by_itself),
        TEST(line16_a_log_never_takes_the_room_that_moving_it_needs),
        TEST(line16_a_server_starts_on_a_full_disk_says_so_and_heals),
        TEST(line15_a_lock_that_was_removed_is_not_ready_and_lets_nobody_in),
        TEST(line15_a_log_that_was_removed_is_not_ready_and_lets_nobody_in),
        TEST(line15_an_index_that_was_removed_is_not_ready_and_lets_nobody_in),
        TEST(line15_what_was_stored_before_the_log_was_removed_outlives_a_kill),
        TEST(line15_a_file_by_another_name_is_not_opened_twice),
        TEST(a_file_whose_process_is_dying_is_waited_for),
        TEST(line15_a_file_that_is_put_back_is_ready_again),
        TEST(line15_a_damaged_page_is_not_ready_and_acknowledges_nothing),
    };

    memset(value, 'v', sizeof(value));
    small_register();
    if (argc < 4)
        return cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(path, sizeof(path), "%s", argv[2]);
    snprintf(log_path, sizeof(log_path), "%s-wal", path);
    atomic_store(&room, atoll(argv[3]));
    loop = loop_create();
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
        if (strcmp(acts[i].name, argv[1]) == 0)
            _exit(acts[i].act()); /* the first process looks for leaks */
    return 2;
}
