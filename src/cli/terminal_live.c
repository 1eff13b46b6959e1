/*
 * cli/terminal_live: the list that stays on the screen.
 *
 * It has the screen for itself while it is shown, and gives it back for a question and at the end,
 * however that comes. The list is the server's, fetched anew whenever something has changed; the
 * time left counts down in between. Every line is cut to the width of the window, which is asked
 * for each time it is drawn.
 */
#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/terminal_safe.h"
#include "cli/terminal.h"

enum {
    LIVE_TICK_MS = 1000,    /* between two drawings, if nothing happens */
    LIVE_KEYS_MAX = 64,     /* bytes of keys that are read at once */
    LIVE_ID_MAX = 256,      /* bytes of an id */
    LIVE_ROWS_DEFAULT = 24, /* of a window that does not say */
    LIVE_COLUMNS_DEFAULT = 80,
    LIVE_FRAME_ROWS = 4, /* lines around the list */
    LIVE_COLUMNS_MIN = 20,
};

struct live {
    struct terminal *terminal;
    struct feed feed;
    struct arena arena; /* of the list */
    struct json *list;  /* what each row needs of its item */
    bool more;          /* others wait behind them */
    struct reply me;
    size_t count;
    size_t chosen;
    char chosen_id[LIVE_ID_MAX];
    struct termios before;
    bool dirty; /* the list has changed on the server */
    bool leave;
};

static volatile sig_atomic_t came; /* a signal that ends it */

static void on_signal(int number)
{
    if (number != SIGWINCH)
        came = number;
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH };

static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal }; /* no SA_RESTART: it ends a wait */

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], &action, NULL);
}

/* Held back, they come at the next prompt. */
static void hold_signals(bool hold)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaddset(&set, signals[i]);
    sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* --- the screen --- */

static void screen_take(struct live *live)
{
    struct termios keys = live->before;

    keys.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    keys.c_cc[VSUSP] = _POSIX_VDISABLE;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
    fputs("\033[?1049h\033[?25l", stdout);
}

static void screen_give_back(struct live *live)
{
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &live->before);
}

static void end_line(void)
{
    fputs("\033[K\n", stdout);
}

static void draw_head(const struct live *live, size_t columns)
{
    const struct json *server = json_get(live->me.json, STR("server"));
    char waits[64];

    snprintf(waits, sizeof(waits), "%zu%s waiting  ", live->count, live->more ? " or more" : "");
    draw_ink(live->terminal, INK_BOLD);
    size_t used = safe_text(stdout, str_of(waits), columns - 1);
    if (used + 4 < columns)
        used += safe_text(stdout, json_get_str(server, STR("title")), columns - used - 4);
    draw_ink(live->terminal, INK_PLAIN);
    if (used + 4 < columns)
        used += safe_text(stdout, STR(", as "), columns - used - 1);
    if (used + 4 < columns)
        safe_text(stdout, json_get_str(live->me.json, STR("principal")), columns - used - 1);
    end_line();
    end_line();
}

static void draw_foot(const struct live *live, size_t columns)
{
    static const char mark[] = "; ! is destructive";
    static const struct str words[] = {
        [FEED_CONNECTING] = STR_INIT("connecting; q leaves"),
        [FEED_LIVE] = STR_INIT("Enter answers, j and k or the arrows move, q leaves"),
        [FEED_LOST] = STR_INIT("not connected, trying again; q leaves"),
        [FEED_REFUSED] = STR_INIT(""),
    };

    bool marked = false;

    JSON_EACH (item, live->list)
        marked = marked || json_true(json_get(item, STR("destructive")));
    end_line();
    draw_ink(live->terminal, live->feed.state == FEED_LOST ? INK_RED : INK_DIM);
    size_t used = safe_text(stdout, words[live->feed.state], columns - 1);
    if (marked && used + strlen(mark) < columns)
        fputs(mark, stdout);
    draw_ink(live->terminal, INK_PLAIN);
    fputs("\033[K", stdout);
}

static void draw(const struct live *live)
{
    struct winsize size = { 0 };
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col;
    size_t rows = known ? size.ws_row : LIVE_ROWS_DEFAULT;
    size_t columns = known ? size.ws_col : LIVE_COLUMNS_DEFAULT, at = 0;

    if (columns < LIVE_COLUMNS_MIN)
        columns = LIVE_COLUMNS_MIN;
    size_t room = rows > LIVE_FRAME_ROWS + 1 ? rows - LIVE_FRAME_ROWS : 1;
    size_t first = live->chosen >= room ? live->chosen - room + 1 : 0;
    fputs("\033[H", stdout);
    draw_head(live, columns);
    if (!live->count) {
        fputs("Nothing waits for you.", stdout);
        end_line();
    }
    JSON_EACH (item, live->list) {
        size_t index = at++;
        if (index < first || index >= first + room)
            continue;
        fputs(index == live->chosen ? "> " : "  ", stdout);
        if (index == live->chosen)
            draw_ink(live->terminal, INK_BOLD);
        draw_row(live->terminal, item, columns - 3);
        draw_ink(live->terminal, INK_PLAIN);
        end_line();
    }
    draw_foot(live, columns);
    fputs("\033[J", stdout);
    fflush(stdout);
}

/* --- the list --- */

static void choose(struct live *live, size_t index)
{
    live->chosen = index;
    struct str id = json_get_str(json_at(live->list, live->chosen), STR("id"));
    snprintf(live->chosen_id, sizeof(live->chosen_id), STR_FMT, STR_ARG(id));
}

struct looking {
    struct arena arena;
    struct json *list;
};

static void look_at(void *data, const struct json *item)
{
    struct looking *looking = data;

    json_push(looking->list, draw_row_of(&looking->arena, item));
}

static void look(struct live *live)
{
    struct looking fresh;
    bool more;

    arena_init(&fresh.arena, TERMINAL_TREE_MAX);
    fresh.list = json_new_array(&fresh.arena);
    live->dirty = live->feed.reset = false;
    if (!request_waiting(live->terminal, true, look_at, &fresh, &more)) {
        arena_finish(&fresh.arena); /* the feed says what is wrong */
        return;
    }
    arena_finish(&live->arena);
    live->arena = fresh.arena;
    live->list = fresh.list;
    live->more = more;
    /* The same question stays chosen; if it is gone, the one that has its place. */
    size_t index = live->chosen, at = 0;
    JSON_EACH (item, live->list) {
        if (str_eq(json_get_str(item, STR("id")), str_of(live->chosen_id)))
            index = at;
        at++;
    }
    live->count = at;
    choose(live, index < at ? index : at ? at - 1 : 0);
}

static void live_changed(void *data, const struct json *changes)
{
    struct live *live = data;

    (void)changes;
    live->dirty = true;
}

/* --- keys --- */

static void open_chosen(struct live *live)
{
    struct str id = str_of(live->chosen_id);
    struct buf line;

    if (!live->count)
        return;
    hold_signals(true); /* before the terminal sends any for this question */
    screen_give_back(live);
    answer_item(live->terminal, id, &(struct answer_words){ 0 });
    if (!came) {
        buf_init(&line, LIVE_KEYS_MAX);
        fputs("Enter goes back to the list: ", stdout);
        prompt_line(&line);
        buf_finish(&line);
    }
    hold_signals(false);
    if (came == SIGINT) /* it has ended the question, not the list */
        came = 0;
    screen_take(live);
    live->dirty = true;
}

static void take_key(struct live *live, struct str key)
{
    bool down = str_eq(key, STR("j")) || str_eq(key, STR("\033[B")) || str_eq(key, STR("\033OB"));
    bool up = str_eq(key, STR("k")) || str_eq(key, STR("\033[A")) || str_eq(key, STR("\033OA"));

    if (str_eq(key, STR("q")))
        live->leave = true;
    else if (str_eq(key, STR("\n")) || str_eq(key, STR("\r")))
        open_chosen(live);
    else if (down && live->chosen + 1 < live->count)
        choose(live, live->chosen + 1);
    else if (up && live->chosen > 0)
        choose(live, live->chosen - 1);
}

int live_inbox(struct terminal *terminal)
{
    struct live live = { .terminal = terminal };
    int code = COMMAND_FAILED;

    if (!request_send(terminal, "GET", "/api/me", STR_NONE, &live.me)) {
        reply_finish(&live.me);
        return code;
    }
    if (live.me.status != 200 || tcgetattr(STDIN_FILENO, &live.before) != 0) {
        code = reply_refused(terminal, &live.me);
        reply_finish(&live.me);
        return code;
    }
    catch_signals();
    arena_init(&live.arena, TERMINAL_TREE_MAX);
    live.feed.terminal = terminal;
    live.feed.changed = live_changed;
    live.feed.data = &live;
    look(&live);
    feed_open(&live.feed);
    screen_take(&live);
    while (!live.leave && !came && live.feed.state != FEED_REFUSED) {
        draw(&live);
        if (feed_wait(&live.feed, STDIN_FILENO, LIVE_TICK_MS)) {
            char keys[LIVE_KEYS_MAX];
            ssize_t got = read(STDIN_FILENO, keys, sizeof(keys));
            if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
                live.leave = true; /* the terminal is gone */
            for (ssize_t i = 0; i < got && !live.leave;) {
                size_t len = keys[i] == '\033' && i + 2 < got ? 3 : 1;
                take_key(&live, str_n(keys + i, len));
                i += (ssize_t)len;
            }
        }
        if (live.dirty || live.feed.reset)
            look(&live);
    }
    screen_give_back(&live);
    code = live.feed.state == FEED_REFUSED ? feed_refused(&live.feed) : COMMAND_FINE;
    feed_close(&live.feed);
    arena_finish(&live.arena);
    reply_finish(&live.me);
    return code;
}
