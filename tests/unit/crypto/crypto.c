/* tests/unit/crypto/crypto: digests and encodings, sealing and rotation, signing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "crypto/digest.h"
#include "crypto/seal.h"
#include "crypto/signing.h"
#include "../runner.h"

enum { ARENA_CAP = 1 << 20, OUT_LIMIT = 1 << 16 };

#define SECRET_A STR("correct horse battery staple 0001")
#define SECRET_B STR("correct horse battery staple 0002")
#define SECRET_C STR("correct horse battery staple 0003")

#define assert_str(got, want)                                                                      \
    do {                                                                                           \
        struct str got_ = (got), want_ = (want);                                                   \
        if (!str_eq(got_, want_))                                                                  \
            fail_msg("got [" STR_FMT "], want [" STR_FMT "]", STR_ARG(got_), STR_ARG(want_));      \
    } while (0)

static int arena_begin(void **state)
{
    static struct arena arena;

    arena_init(&arena, ARENA_CAP);
    *state = &arena;
    return 0;
}

static int arena_end(void **state)
{
    arena_finish(*state);
    return 0;
}

static struct keyring *ring_of(const struct str *secrets, size_t count)
{
    struct keyring *ring;
    const char *why;

    assert_int_equal(keyring_create(secrets, count, &ring, &why), NOD_OK);
    assert_null(why);
    return ring;
}

static struct keyring *ring_one(struct str secret)
{
    return ring_of(&secret, 1);
}

static void assert_digest(const struct digest *digest, const char *hex)
{
    char text[DIGEST_HEX_LEN + 1];

    digest_hex(digest, text);
    assert_string_equal(text, hex);
}

/* --- digests --- */

static void sha256_gives_the_published_digests(void **state)
{
    struct digest digest;
    (void)state;

    digest_of(STR("abc"), &digest);
    assert_digest(&digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest_of(STR_NONE, &digest);
    assert_digest(&digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void a_digest_of_parts_knows_where_each_part_ends(void **state)
{
    struct digest ab_c, a_bc, abc, abc_none;
    (void)state;

    digest_of_parts((struct str[]){ STR("ab"), STR("c") }, 2, &ab_c);
    digest_of_parts((struct str[]){ STR("a"), STR("bc") }, 2, &a_bc);
    digest_of_parts((struct str[]){ STR("abc") }, 1, &abc);
    digest_of_parts((struct str[]){ STR("abc"), STR_NONE }, 2, &abc_none);
    assert_digest(&ab_c, "601d5476e2ccfe2c87a2bba7a322659734a05749d5b5aa781f513e4912db0d5f");
    assert_false(digest_eq(&ab_c, &a_bc));
    assert_false(digest_eq(&abc, &ab_c));
    assert_false(digest_eq(&abc, &abc_none));
}

static void secrets_are_compared_whole(void **state)
{
    (void)state;
    assert_true(secret_eq(STR("abc"), STR("abc")));
    assert_true(secret_eq(STR_NONE, STR("")));
    assert_false(secret_eq(STR("abc"), STR("abd")));
    assert_false(secret_eq(STR("abc"), STR("ab")));
    assert_false(secret_eq(STR("abc"), STR_NONE));
}

/* --- bytes as text --- */

static void base64url_gives_the_published_texts(void **state)
{
    static const char *const pairs[][2] = {
        { "", "" },
        { "f", "Zg" },
        { "fo", "Zm8" },
        { "foo", "Zm9v" },
        { "foob", "Zm9vYg" },
        { "fooba", "Zm9vYmE" },
        { "foobar", "Zm9vYmFy" },
        { "\xfb\xff\xbf", "-_-_" },
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct str text = base64url_text(*state, str_of(pairs[i][0]));
        assert_str(text, str_of(pairs[i][1]));
        assert_int_equal(base64url_len(strlen(pairs[i][0])), text.len);
        assert_str(base64url_bytes(*state, text), str_of(pairs[i][0]));
    }
}

static void base64url_takes_one_text_for_each_run_of_bytes(void **state)
{
    static const char *const bad[] = { "Z",      "Zg==",    "Zg=",    "Zh",   "Zm9",
                                       "Zm9v\n", " Zm9v",   "Zm+v",   "Zm/v", "Zm9vY",
                                       "Zm9vYh", "Zm9vYmF", "Zm\x80v" };
    uint8_t out[16];
    size_t len;
    (void)state;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (base64url_decode(str_of(bad[i]), out, sizeof(out), &len))
            fail_msg("was taken: %s", bad[i]);
    assert_false(base64url_decode(STR("Zm9vYmFy"), out, 5, &len));
    assert_true(base64url_decode(STR("Zm9vYmFy"), out, 6, &len));
}

/* Every place of a group, and every group of a text, says no. */
static void one_character_that_is_no_digit_is_refused_wherever_it_stands(void **state)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char text[64];
    uint8_t out[48];
    size_t len;

    (void)state;
    memcpy(text, digits, sizeof(text));
    assert_true(base64url_decode(str_n(text, sizeof(text)), out, sizeof(out), &len));
    assert_int_equal(len, sizeof(out));
    for (size_t i = 0; i < sizeof(out) / 3; i++) { /* 0, 1, 2 ... in six bits each */
        unsigned bits = (unsigned)(out[i * 3] << 16 | out[i * 3 + 1] << 8 | out[i * 3 + 2]);
        assert_int_equal(bits >> 18, i * 4);
        assert_int_equal(bits & 63, i * 4 + 3);
    }
    for (size_t at = 0; at < sizeof(text); at++) {
        for (int c = 0; c < 256; c++) {
            text[at] = (char)c;
            bool digit = c && strchr(digits, c);
            assert_true(base64url_decode(str_n(text, sizeof(text)), out, sizeof(out), &len) ==
                        digit);
        }
        text[at] = digits[at];
    }
}

static void every_length_survives_base64url(void **state)
{
    char bytes[200];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 37 + 11);
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        struct str in = str_n(bytes, len);
        assert_str(base64url_bytes(*state, base64url_text(*state, in)), in);
    }
}

static void hex_is_strict_about_length_and_digits(void **state)
{
    uint8_t out[2];
    char text[4];
    (void)state;

    assert_true(hex_decode(STR("aBcD"), out, 2));
    hex_encode(str_n((char *)out, 2), text);
    assert_str(str_n(text, 4), STR("abcd"));
    assert_false(hex_decode(STR("abc"), out, 1));
    assert_false(hex_decode(STR("abcd"), out, 1));
    assert_false(hex_decode(STR("abcg"), out, 2));
    assert_false(hex_decode(STR("ab d"), out, 2));
    assert_false(hex_decode(STR("ab\x10"
                                "1"),
                            out, 2)); /* 0x10 | 0x20 is '0' */
}

/* --- key derivation --- */

static struct str from_hex(struct arena *arena, const char *hex)
{
    size_t len = strlen(hex) / 2;
    uint8_t *bytes = arena_alloc(arena, len + 1);

    assert_true(hex_decode(str_of(hex), bytes, len));
    return str_n((char *)bytes, len);
}

/* RFC 5869, appendix A.1 to A.3. */
static void hkdf_gives_the_published_keys(void **state)
{
    static const struct {
        const char *secret, *salt, *info, *key;
    } cases[] = {
        { "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "000102030405060708090a0b0c",
          "f0f1f2f3f4f5f6f7f8f9",
          "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865" },
        { "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
          "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
          "404142434445464748494a4b4c4d4e4f",
          "606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f"
          "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
          "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf",
          "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecf"
          "d0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeef"
          "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
          "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
          "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
          "cc30c58179ec3e87c14c01d5c1f3434f1d87" },
        { "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
          "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8" },
    };
    uint8_t key[128];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct str want = from_hex(*state, cases[i].key);
        assert_true(hkdf_sha256(from_hex(*state, cases[i].secret), from_hex(*state, cases[i].salt),
                                from_hex(*state, cases[i].info), key, want.len));
        assert_memory_equal(key, want.at, want.len);
    }
}

/* --- sealing --- */

static const struct str alice_bound[] = { STR_INIT("alice"), STR_INIT("tools/call"), STR_INIT("") };
static const struct seal_for alice = {
    .purpose = STR_INIT("requestState"),
    .scope = STR_INIT("alice"),
    .bound = alice_bound,
    .bound_count = 3,
};

/*
 * Made with another implementation of HKDF, AES-256-GCM and the form: what version 1 has sealed
 * has to open for ever.
 */
static void a_known_sealed_text_opens(void **state)
{
    struct keyring *ring = ring_one(SECRET_A);
    struct str plain;

    assert_int_equal(
        seal_open_text(ring, &alice,
                       STR("AdmKjUMAAQIDBAUGBwgJCgvbBLU73dXL4KUktVyhLQBqb-VOQKOQKPtomzW8eME_KocY"),
                       *state, &plain),
        NOD_OK);
    assert_str(plain, STR("the journal so far"));
    keyring_destroy(ring);
}

static void what_is_sealed_opens_again_in_both_forms(void **state)
{
    struct keyring *ring = ring_one(SECRET_A);
    struct buf out;
    char bytes[300];
    struct str plain;

    memset(bytes, 'x', sizeof(bytes));
    buf_init(&out, OUT_LIMIT);
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        buf_clear(&out);
        buf_add(&out, STR("before"));
        assert_int_equal(seal_text(ring, &alice, str_n(bytes, len), &out), NOD_OK);
        assert_int_equal(out.len, 6 + base64url_len(len + SEAL_OVERHEAD));
        assert_true(str_starts(buf_str(&out), STR("before")));
        assert_int_equal(seal_open_text(ring, &alice, str_skip(buf_str(&out), 6), *state, &plain),
                         NOD_OK);
        assert_str(plain, str_n(bytes, len));

        buf_clear(&out);
        assert_int_equal(seal_bytes(ring, &alice, str_n(bytes, len), &out), NOD_OK);
        assert_int_equal(out.len, len + SEAL_OVERHEAD);
        assert_int_equal(seal_open_bytes(ring, &alice, buf_str(&out), *state, &plain), NOD_OK);
        assert_str(plain, str_n(bytes, len));
    }
    buf_finish(&out);
    keyring_destroy(ring);
}

static void assert_refused(struct keyring *ring, const struct seal_for *what, struct str sealed,
                           struct arena *arena)
{
    struct str plain = STR("old");

    assert_int_equal(seal_open_bytes(ring, what, sealed, arena, &plain), NOD_E_REFUSED);
    assert_int_equal(plain.len, 0);
    assert_null(plain.at);
}

static void any_flipped_bit_is_refused(void **state)
{
    struct keyring *ring = ring_one(SECRET_A);
    struct buf out;

    buf_init(&out, OUT_LIMIT);
    assert_int_equal(seal_bytes(ring, &alice, STR("delete everything"), &out), NOD_OK);
    for (size_t i = 0; i < out.len * 8; i++) {
        out.at[i / 8] = (char)(out.at[i / 8] ^ (1 << i % 8));
        assert_refused(ring, &alice, buf_str(&out), *state);
        out.at[i / 8] = (char)(out.at[i / 8] ^ (1 << i % 8));
    }
    struct str plain; /* and the undamaged one still opens on the same, much used, context */
    assert_int_equal(seal_open_bytes(ring, &alice, buf_str(&out), *state, &plain), NOD_OK);
    buf_finish(&out);
    keyring_destroy(ring);
}

static void a_changed_character_of_the_text_form_is_refused(void **state)
{
    struct keyring *ring = ring_one(SECRET_A);
    struct buf out;
    struct str plain;

    buf_init(&out, OUT_LIMIT);
    assert_int_equal(seal_text(ring, &alice, STR("delete everything"), &out), NOD_OK);
    for (size_t i = 0; i < out.len; i++) {
        char was = out.at[i];
        out.at[i] = was == 'A' ? 'B' : 'A';
        assert_int_equal(seal_open_text(ring, &alice, buf_str(&out), *state, &plain),
                         NOD_E_REFUSED);
        out.at[i] = '=';
        assert_int_equal(seal_open_text(ring, &alice, buf_str(&out), *state, &plain),
                         NOD_E_REFUSED);
        out.at[i] = was;
    }
    buf_add_char(&out, 'A');
    assert_int_equal(seal_open_text(ring, &alice, buf_str(&out), *state, &plain), NOD_E_REFUSED);
    buf_finish(&out);
    keyring_destroy(ring);
}

static void every_truncation_and_any_longer_form_is_refused(void **state)
{
    struct keyring *ring = ring_one(SECRET_A);
    struct buf out;

    buf_init(&out, OUT_LIMIT);
    assert_int_equal(seal_bytes(ring, &alice, STR("delete everything"), &out), NOD_OK);
    for (size_t len = 0; len < out.len; len++) {
        char *exact = str_dup(str_n(out.at, len)); /* so that a read past the end is seen */
        assert_refused(ring, &alice, str_n(exact, len), *state);
        free(exact);
    }
    assert_refused(ring, &alice, STR_NONE, *state);
    buf_add_char(&out, 0);
    assert_refused(ring, &alice, buf_str(&out), *state);
    buf_finish(&out);
    keyring_destroy(ring);
}

static void what_it_was_sealed_for_has_to_be_the_same(void **state)
{
    static const struct str ab_c[] = { STR_INIT("ab"), STR_INIT("c") };
    static const struct str a_bc[] = { STR_INIT("a"), STR_INIT("bc") };
    static const struct str abc[] = { STR_INIT("abc") };
    static const struct str ab_c_none[] = { STR_INIT("ab"), STR_INIT("c"), STR_INIT("") };
    static const struct str ab_d[] = { STR_INIT("ab"), STR_INIT("d") };
    static const struct str c_ab[] = { STR_INIT("c"), STR_INIT("ab") };
    const struct seal_for right = { STR("p"), STR("s"), ab_c, 2 };
    const struct seal_for wrong[] = {
        { STR("p"), STR("s"), a_bc, 2 }, { STR("p"), STR("s"), abc, 1 },
        { STR("p"), STR("s"), ab_d, 2 }, { STR("p"), STR("s"), ab_c_none, 3 },
        { STR("p"), STR("s"), c_ab, 2 }, { STR("p"), STR("s"), ab_c, 1 },
        { STR("p"), STR("s"), NULL, 0 }, { STR("q"), STR("s"), ab_c, 2 },
        { STR("p"), STR("t"), ab_c, 2 }, { STR("ps"), STR(""), ab_c, 2 },
        { STR(""), STR("ps"), ab_c, 2 }, { STR("p"), STR(""), ab_c, 2 },
    };
    struct keyring *ring = ring_one(SECRET_A);
    struct buf out;
    struct str plain;

    buf_init(&out, OUT_LIMIT);
    assert_int_equal(seal_bytes(ring, &right, STR("x"), &out), NOD_OK);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_refused(ring, &wrong[i], buf_str(&out), *state);
    assert_int_equal(seal_open_bytes(ring, &right, buf_str(&out), *state, &plain), NOD_OK);
    buf_finish(&out);
    keyring_destroy(ring);
}

static void two_seals_of_the_same_are_never_the_same(void **state)
{
    struct keyring *ring = ring_one(SECRET_A);
    struct buf a, b;
    (void)state;

    buf_init(&a, OUT_LIMIT);
    buf_init(&b, OUT_LIMIT);
    assert_int_equal(seal_bytes(ring, &alice, STR("the same"), &a), NOD_OK);
    assert_int_equal(seal_bytes(ring, &alice, STR("the same"), &b), NOD_OK);
    assert_memory_equal(a.at, b.at, 5); /* version and key id */
    assert_memory_not_equal(a.at + 5, b.at + 5, 12);
    assert_memory_not_equal(a.at + 17, b.at + 17, 8);
    buf_finish(&a);
    buf_finish(&b);
    keyring_destroy(ring);
}

static void secrets_rotate_over_three_generations(void **state)
{
    struct keyring *first = ring_one(SECRET_A);
    struct keyring *second = ring_of((struct str[]){ SECRET_B, SECRET_A }, 2);
    struct keyring *third = ring_of((struct str[]){ SECRET_C, SECRET_B }, 2);
    struct buf a, b, c;
    struct str plain;

    buf_init(&a, OUT_LIMIT);
    buf_init(&b, OUT_LIMIT);
    buf_init(&c, OUT_LIMIT);
    assert_int_equal(seal_bytes(first, &alice, STR("one"), &a), NOD_OK);
    assert_int_equal(seal_bytes(second, &alice, STR("two"), &b), NOD_OK);
    assert_int_equal(seal_bytes(third, &alice, STR("three"), &c), NOD_OK);

    assert_int_equal(seal_open_bytes(second, &alice, buf_str(&a), *state, &plain), NOD_OK);
    assert_str(plain, STR("one"));
    assert_int_equal(seal_open_bytes(third, &alice, buf_str(&b), *state, &plain), NOD_OK);
    assert_str(plain, STR("two"));
    assert_int_equal(seal_open_bytes(third, &alice, buf_str(&c), *state, &plain), NOD_OK);
    assert_refused(first, &alice, buf_str(&b), *state); /* sealed by the newest of the second */
    assert_refused(third, &alice, buf_str(&a), *state); /* its secret has been taken out */
    assert_refused(second, &alice, buf_str(&c), *state);
    buf_finish(&a);
    buf_finish(&b);
    buf_finish(&c);
    keyring_destroy(first);
    keyring_destroy(second);
    keyring_destroy(third);
}

static void a_key_id_of_another_secret_does_not_help(void **state)
{
    struct keyring *both = ring_of((struct str[]){ SECRET_B, SECRET_A }, 2);
    struct keyring *old = ring_one(SECRET_A);
    struct buf a, b;

    buf_init(&a, OUT_LIMIT);
    buf_init(&b, OUT_LIMIT);
    assert_int_equal(seal_bytes(old, &alice, STR("one"), &a), NOD_OK);
    assert_int_equal(seal_bytes(both, &alice, STR("one"), &b), NOD_OK);
    memcpy(a.at + 1, b.at + 1, 4);
    assert_refused(both, &alice, buf_str(&a), *state);
    buf_finish(&a);
    buf_finish(&b);
    keyring_destroy(both);
    keyring_destroy(old);
}

static void a_copy_of_a_ring_opens_what_the_ring_has_sealed(void **state)
{
    struct keyring *ring = ring_of((struct str[]){ SECRET_B, SECRET_A }, 2);
    struct keyring *copy = keyring_copy(ring);
    struct buf out;
    struct str plain;

    buf_init(&out, OUT_LIMIT);
    assert_int_equal(seal_bytes(ring, &alice, STR("one"), &out), NOD_OK);
    keyring_destroy(ring);
    assert_int_equal(seal_open_bytes(copy, &alice, buf_str(&out), *state, &plain), NOD_OK);
    buf_finish(&out);
    keyring_destroy(copy);
}

static void keys_that_fell_out_of_the_cache_come_back_the_same(void **state)
{
    enum { SCOPES = KEYRING_CACHE_MAX * 2 + 10 };
    struct keyring *ring = ring_one(SECRET_A);
    static struct buf out[SCOPES];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < SCOPES; i++) {
            char scope[16];
            struct str plain;
            snprintf(scope, sizeof(scope), "session %d", i);
            struct seal_for what = { .purpose = STR("record"), .scope = str_of(scope) };
            if (round == 0) {
                buf_init(&out[i], OUT_LIMIT);
                assert_int_equal(seal_bytes(ring, &what, str_of(scope), &out[i]), NOD_OK);
                continue;
            }
            assert_int_equal(seal_open_bytes(ring, &what, buf_str(&out[i]), *state, &plain),
                             NOD_OK);
            assert_str(plain, str_of(scope));
            buf_finish(&out[i]);
        }
    }
    keyring_destroy(ring);
}

static void a_weak_secret_is_refused_with_a_message(void **state)
{
    static char huge[KEYRING_SECRET_MAX + 1];
    struct str many[KEYRING_SECRETS_MAX + 1];
    struct keyring *ring;
    const char *why = NULL;
    (void)state;

    memset(huge, 'x', sizeof(huge));
    for (size_t i = 0; i < KEYRING_SECRETS_MAX + 1; i++)
        many[i] = SECRET_A;
    struct str short_one[] = { SECRET_A, STR("0123456789012345678901234567890") };
    assert_int_equal(keyring_create(short_one, 2, &ring, &why), NOD_E_USAGE);
    assert_null(ring);
    assert_true(str_find(str_of(why), STR("32 characters")) >= 0);
    assert_true(str_find(str_of(why), STR("0123456789")) < 0);
    assert_int_equal(keyring_create(NULL, 0, &ring, &why), NOD_E_USAGE);
    assert_non_null(why);
    assert_int_equal(keyring_create(many, KEYRING_SECRETS_MAX + 1, &ring, &why), NOD_E_USAGE);
    assert_non_null(why);
    assert_int_equal(keyring_create((struct str[]){ str_n(huge, sizeof(huge)) }, 1, &ring, &why),
                     NOD_E_USAGE);
    assert_non_null(why);
    keyring_destroy(ring);
}

static void limits_are_kept_on_both_sides(void **state)
{
    struct keyring *ring = ring_one(SECRET_A);
    struct str parts[SEAL_BOUND_MAX + 1] = { STR_NONE };
    struct buf out;
    char name[SEAL_NAME_MAX + 1];

    memset(name, 'n', sizeof(name));
    buf_init(&out, SEAL_OVERHEAD + 3);
    assert_int_equal(seal_bytes(ring, &alice, STR("1234"), &out), NOD_E_LIMIT);
    buf_clear(&out);
    assert_int_equal(seal_bytes(ring, &alice, STR("123"), &out), NOD_OK);

    struct seal_for many = { STR("p"), STR("s"), parts, SEAL_BOUND_MAX + 1 };
    struct seal_for wide = { str_n(name, sizeof(name)), STR("s"), NULL, 0 };
    struct seal_for deep = { STR("p"), str_n(name, sizeof(name)), NULL, 0 };
    assert_refused(ring, &many, buf_str(&out), *state);
    assert_refused(ring, &wide, buf_str(&out), *state);
    buf_clear(&out);
    assert_int_equal(seal_bytes(ring, &many, STR_NONE, &out), NOD_E_LIMIT);
    assert_int_equal(seal_bytes(ring, &wide, STR_NONE, &out), NOD_E_LIMIT);
    assert_int_equal(seal_text(ring, &deep, STR_NONE, &out), NOD_E_LIMIT);
    assert_int_equal(out.len, 0);

    struct arena tiny;
    arena_init(&tiny, 64);
    assert_int_equal(seal_bytes(ring, &alice, STR("123"), &out), NOD_OK);
    arena_alloc(&tiny, 1);
    struct str plain;
    assert_int_equal(seal_open_bytes(ring, &alice, buf_str(&out), &tiny, &plain), NOD_OK);
    arena_finish(&tiny);
    arena_init(&tiny, 1);
    assert_refused(ring, &alice, buf_str(&out), &tiny);
    arena_finish(&tiny);
    buf_finish(&out);
    keyring_destroy(ring);
}

#define WITH_ARENA(test) cmocka_unit_test_setup_teardown(test, arena_begin, arena_end)

/* The example of the Standard Webhooks libraries. */
static void a_signature_is_the_published_one(void **state)
{
    struct signing_keys keys;
    char out[SIGNING_SIGNATURES_MAX];
    const char *why;

    (void)state;
    assert_true(signing_keys_read(&keys, STR("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"), &why));
    assert_str(signing_sign(&keys, STR("msg_p5jXN8AQM9LWM0D4loKWxJek"), 1614265330,
                            STR("{\"test\": 2432232314}"), out),
               STR("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    assert_true(signing_keys_read(&keys,
                                  STR(" whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw "
                                      "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
                                  &why));
    struct str both = signing_sign(&keys, STR("a"), 1, STR("b"), out);
    assert_int_equal(both.len, 2 * SIGNING_SIGNATURE_LEN + 1);
    assert_memory_equal(both.at + SIGNING_SIGNATURE_LEN, " v1,", 4);
}

static void a_bad_signing_secret_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        " \n",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_",
        "whsec_c2hvcnQ=",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa**",
        "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw "
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw "
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    };
    struct signing_keys keys;
    const char *why;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(signing_keys_read(&keys, str_of(wrong[i]), &why));
        assert_non_null(why);
        assert_int_equal(keys.count, 0);
    }
}

SUBJECT(crypto)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_gives_the_published_digests),
        cmocka_unit_test(a_digest_of_parts_knows_where_each_part_ends),
        cmocka_unit_test(secrets_are_compared_whole),
        WITH_ARENA(base64url_gives_the_published_texts),
        cmocka_unit_test(base64url_takes_one_text_for_each_run_of_bytes),
        cmocka_unit_test(one_character_that_is_no_digit_is_refused_wherever_it_stands),
        WITH_ARENA(every_length_survives_base64url),
        cmocka_unit_test(hex_is_strict_about_length_and_digits),
        WITH_ARENA(hkdf_gives_the_published_keys),
        WITH_ARENA(a_known_sealed_text_opens),
        WITH_ARENA(what_is_sealed_opens_again_in_both_forms),
        WITH_ARENA(any_flipped_bit_is_refused),
        WITH_ARENA(a_changed_character_of_the_text_form_is_refused),
        WITH_ARENA(every_truncation_and_any_longer_form_is_refused),
        WITH_ARENA(what_it_was_sealed_for_has_to_be_the_same),
        cmocka_unit_test(two_seals_of_the_same_are_never_the_same),
        WITH_ARENA(secrets_rotate_over_three_generations),
        WITH_ARENA(a_key_id_of_another_secret_does_not_help),
        WITH_ARENA(a_copy_of_a_ring_opens_what_the_ring_has_sealed),
        WITH_ARENA(keys_that_fell_out_of_the_cache_come_back_the_same),
        cmocka_unit_test(a_weak_secret_is_refused_with_a_message),
        WITH_ARENA(limits_are_kept_on_both_sides),
        cmocka_unit_test(a_signature_is_the_published_one),
        cmocka_unit_test(a_bad_signing_secret_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
