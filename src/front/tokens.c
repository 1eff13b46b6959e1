/*
 * front/tokens: the file of bearer tokens.
 *
 * A token is looked up by its SHA-256. So somebody who tries tokens learns nothing from the time a
 * lookup takes: what is compared is a digest that they cannot choose. The tokens themselves are
 * forgotten once the file is read.
 *
 * Requests point to their principal while they are worked on. So principals stay when the file is
 * read again, and one that exists already, with the same roles, is not made twice.
 *
 * Holds always: a file counts whole or not at all.
 */
#include "front/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "crypto/digest.h"

enum {
    TOKENS_ARENA_MAX = 64 << 20,
    TOKENS_OWNERS_MAX = 100000, /* names that a server has seen in its token file while it ran */
};

struct token_entry {
    struct digest digest; /* the key in the map */
    const struct principal *owner;
};

struct owner {
    struct owner *next; /* another of the same name, with other roles */
    struct principal principal;
};

/* The result of one reading of the file. */
struct token_set {
    struct arena arena;
    struct map by_digest; /* struct token_entry */
    struct map roles;     /* name -> struct named_roles */
};

struct named_roles { /* of all tokens of that name */
    role_set roles;
};

struct tokens {
    struct token_set set;
    struct arena arena; /* for the owners */
    struct map owners;  /* name -> struct owner */
};

struct line {
    struct str from;
    size_t number;
    struct arena *arena;
    struct str *problem;
};

static bool line_wrong(const struct line *line, const char *what)
{
    *line->problem =
        arena_fmt(line->arena, STR_FMT ":%zu: %s", STR_ARG(line->from), line->number, what);
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of *rest, or an empty one. */
static struct str next_word(struct str *rest)
{
    size_t from = 0, to;

    while (from < rest->len && is_blank(rest->at[from]))
        from++;
    for (to = from; to < rest->len && !is_blank(rest->at[to]);)
        to++;
    struct str word = str_n(rest->at ? rest->at + from : NULL, to - from);
    *rest = str_skip(*rest, to);
    if (word.len && word.at[0] == '#') {
        *rest = STR_NONE;
        return STR_NONE;
    }
    return word;
}

static bool read_roles(const struct line *line, struct str rest, role_set *roles)
{
    for (struct str word = next_word(&rest); word.len; word = next_word(&rest)) {
        role_set role = role_named(word);
        if (!role) {
            /* A line in the wrong order has its token here: what is as long as one is not shown. */
            char what[160];
            bool shown = word.len < TOKENS_SECRET_MIN && str_is_visible(word);

            snprintf(what, sizeof(what),
                     "%s" STR_FMT "%s is no role; there are ask, answer, approve and admin",
                     shown ? "\"" : "", STR_ARG(shown ? word : STR("a word after the name")),
                     shown ? "\"" : "");
            return line_wrong(line, what);
        }
        *roles |= role;
    }
    if (!*roles)
        *roles = ROLE_ASK;
    return true;
}

/* NULL: there is no room for one more. */
static const struct principal *owner_of(struct tokens *tokens, struct str name, role_set roles)
{
    struct owner *first = map_get(&tokens->owners, name);

    for (struct owner *owner = first; owner; owner = owner->next)
        if (owner->principal.roles == roles)
            return &owner->principal;
    struct owner *owner = ARENA_NEW(&tokens->arena, struct owner);
    if (!owner)
        return NULL;
    owner->principal.roles = roles;
    /* No name has a blank in it. */
    owner->principal.share = roles == ROLE_ASK
                                 ? arena_str(&tokens->arena, name)
                                 : arena_fmt(&tokens->arena, STR_FMT " answers", STR_ARG(name));
    if (first) {
        owner->principal.name = first->principal.name;
        owner->next = first->next;
        first->next = owner;
        return &owner->principal;
    }
    owner->principal.name = arena_str(&tokens->arena, name);
    return owner->principal.name.len == name.len && owner->principal.share.len &&
                   map_set(&tokens->owners, owner->principal.name, owner)
               ? &owner->principal
               : NULL;
}

static bool add_roles(struct token_set *set, const struct principal *owner)
{
    struct named_roles *named = map_get(&set->roles, owner->name);

    if (!named && (!(named = ARENA_NEW(&set->arena, struct named_roles)) ||
                   !map_set(&set->roles, owner->name, named)))
        return false;
    named->roles |= owner->roles;
    return true;
}

/* Whoever had such a name could be taken for somebody else, where it says who has answered. */
static const char *const reserved[] = { "local", "nod", "client", "clock", NULL };

static bool read_line(struct tokens *tokens, struct token_set *set, const struct line *line,
                      struct str text)
{
    role_set roles = 0;
    struct str secret = next_word(&text);

    if (secret.len == 0)
        return true;
    struct str name = next_word(&text);
    if (secret.len < TOKENS_SECRET_MIN)
        return line_wrong(line, "the token is shorter than 16 characters; make a longer one, e.g. "
                                "with `openssl rand -hex 32`");
    if (secret.len > TOKENS_SECRET_MAX || !str_is_visible(secret))
        return line_wrong(line,
                          "a token is at most 512 characters of visible ASCII, without blanks");
    if (name.len == 0)
        return line_wrong(line,
                          "a name is missing after the token; a line is `token name role...`");
    if (name.len > TOKENS_NAME_MAX || !str_is_visible(name))
        return line_wrong(line, "a name is at most 128 characters of visible ASCII");
    if (str_among(name, reserved))
        return line_wrong(line, "nobody may be called `local`, `nod`, `client` or `clock`: so nod "
                                "calls the local user, itself, and what has answered; give this "
                                "one another name");

    struct token_entry *entry = ARENA_NEW(&set->arena, struct token_entry);
    if (!entry)
        return line_wrong(line, "the file is too large");
    digest_of(secret, &entry->digest);
    if (map_get(&set->by_digest, digest_str(&entry->digest)))
        return line_wrong(line, "this token is in the file twice");
    if (!read_roles(line, text, &roles))
        return false;
    entry->owner = owner_of(tokens, name, roles);
    if (!entry->owner)
        return line_wrong(line, "the file has been read again too often, with too many names; "
                                "restart the server");
    _Static_assert(TOKENS_MAX == 10000, "as the message says");
    if (!map_set(&set->by_digest, digest_str(&entry->digest), entry) ||
        !add_roles(set, entry->owner))
        return line_wrong(line, "the file has more than 10000 tokens");
    return true;
}

static void set_finish(struct token_set *set)
{
    map_finish(&set->by_digest);
    map_finish(&set->roles);
    arena_finish(&set->arena);
}

/* False with *problem: the set is empty. */
static bool set_read(struct tokens *tokens, struct token_set *set, struct str text, struct str from,
                     struct arena *arena, struct str *problem)
{
    struct line line = { .from = from, .arena = arena, .problem = problem };
    bool fine = true, more = text.len > 0;

    arena_init(&set->arena, TOKENS_ARENA_MAX);
    map_init(&set->by_digest, TOKENS_MAX);
    map_init(&set->roles, TOKENS_MAX);
    while (fine && more) {
        struct str one;
        line.number++;
        more = str_cut(text, '\n', &one, &text);
        fine = read_line(tokens, set, &line, one);
    }
    if (fine && set->by_digest.count == 0) {
        *problem = arena_fmt(arena, STR_FMT ": no token in it; a line is `token name role...`",
                             STR_ARG(from));
        fine = false;
    }
    if (!fine)
        set_finish(set);
    return fine;
}

static struct tokens *tokens_create(void)
{
    struct tokens *tokens = MEM_NEW(struct tokens);

    arena_init(&tokens->arena, TOKENS_ARENA_MAX);
    map_init(&tokens->owners, TOKENS_OWNERS_MAX);
    return tokens;
}

static void tokens_free(struct tokens *tokens)
{
    map_finish(&tokens->owners);
    arena_finish(&tokens->arena);
    mem_free(tokens);
}

struct tokens *tokens_parse(struct str text, struct str from, struct arena *arena,
                            struct str *problem)
{
    struct tokens *tokens = tokens_create();

    if (set_read(tokens, &tokens->set, text, from, arena, problem))
        return tokens;
    tokens_free(tokens);
    return NULL;
}

static bool read_all(int fd, struct buf *text)
{
    for (;;) {
        char *to = buf_reserve(text, 4096);
        if (!to) {
            errno = EFBIG;
            return false;
        }
        ssize_t n = read(fd, to, 4096);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        text->len += (size_t)n;
    }
}

/* Into *set. Its principals belong to `tokens`. */
static bool file_read(struct tokens *tokens, struct token_set *set, const char *path,
                      struct arena *arena, struct str *problem)
{
    struct buf text;
    struct stat facts;
    bool fine = false;

    buf_init(&text, TOKENS_FILE_MAX);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &facts) < 0 || !read_all(fd, &text)) {
        *problem = arena_fmt(arena, "%s: cannot be read: %s", path, strerror(errno));
        goto out;
    }
    if (facts.st_mode & (S_IRGRP | S_IROTH))
        LOG_WARN("token file can be read by others; chmod 600 it", LOG_CSTR("path", path));
    fine = set_read(tokens, set, buf_str(&text), str_of(path), arena, problem);
out:
    if (fd >= 0)
        close(fd);
    if (text.at)
        explicit_bzero(text.at, text.len);
    buf_finish(&text);
    return fine;
}

struct tokens *tokens_load(const char *path, struct arena *arena, struct str *problem)
{
    struct tokens *tokens = tokens_create();

    if (file_read(tokens, &tokens->set, path, arena, problem))
        return tokens;
    tokens_free(tokens);
    return NULL;
}

bool tokens_reload(struct tokens *tokens, const char *path, struct arena *arena,
                   struct str *problem)
{
    struct token_set fresh;

    if (!file_read(tokens, &fresh, path, arena, problem))
        return false;
    set_finish(&tokens->set);
    tokens->set = fresh;
    return true;
}

void tokens_destroy(struct tokens *tokens)
{
    if (!tokens)
        return;
    set_finish(&tokens->set);
    tokens_free(tokens);
}

size_t tokens_count(const struct tokens *tokens)
{
    return tokens->set.by_digest.count;
}

role_set tokens_roles_of(const struct tokens *tokens, struct str name)
{
    const struct named_roles *named = map_get(&tokens->set.roles, name);

    return named ? named->roles : ROLES_NONE;
}

const struct principal *tokens_find(const struct tokens *tokens, struct str token)
{
    struct digest digest;

    digest_of(token, &digest);
    return tokens_find_digest(tokens, &digest);
}

const struct principal *tokens_find_digest(const struct tokens *tokens, const struct digest *digest)
{
    const struct token_entry *entry =
        tokens ? map_get(&tokens->set.by_digest, digest_str(digest)) : NULL;

    return entry && digest_eq(&entry->digest, digest) ? entry->owner : NULL;
}
