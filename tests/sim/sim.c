/*
 * tests/sim: how many worlds, and from which seeds.
 *
 *   NOD_SIM_SEED=n     only this one, with everything that happens in it
 *   NOD_SIM_BASE=n     the first seed; otherwise it is random, and printed
 *   NOD_SIM_ROUNDS=n   how many
 *   NOD_SIM_JOBS=n     in how many processes; otherwise one for each processor
 *   NOD_SIM_REPLACE=1  all of them with targets that are replaced
 *   NOD_SIM_LIVE=1     all of them with calls that stay at their home
 *   NOD_SOAK=1         1,000,000, on all processors; otherwise a sample of bounded time
 */
#include "sim.h"

#include "base/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    ALL = 1000000,       /* worlds, when everything is tried */
    SAMPLE = 20000,      /* and otherwise, */
    SAMPLE_SECONDS = 15, /* or as many as fit in here */
    RARE_WORLDS = 10000, /* in so many an effect is done again: a thousand have one or two */
    JOBS_MAX = 64,       /* processes */
};

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* Every `stride`th seed from `first` on, until `until` seconds (0: to the end). */
static void play(uint64_t first, uint64_t count, uint64_t stride, double until)
{
    for (uint64_t i = 0; i < count; i += stride) {
        world_play(first + i);
        if (until > 0 && seconds() > until)
            return;
    }
}

static void figures_add(const struct sim_figures *more)
{
    uint64_t *to = (uint64_t *)(void *)&figures;
    const uint64_t *from = (const uint64_t *)(const void *)more;

    for (size_t i = 0; i < sizeof(figures) / sizeof(*to); i++)
        to[i] += from[i];
}

static bool play_in_processes(uint64_t base, uint64_t count, size_t jobs)
{
    struct sim_figures *each =
        mmap(NULL, jobs * sizeof(*each), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t children[JOBS_MAX];
    bool fine = each != MAP_FAILED;

    fflush(stdout);
    for (size_t i = 0; fine && i < jobs; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            play(base + i, count - i, jobs, 0);
            each[i] = figures;
            exit(0); /* with a look for leaks */
        }
    }
    for (size_t i = 0; fine && i < jobs; i++) {
        int status = 1;
        fine &= children[i] > 0 && waitpid(children[i], &status, 0) > 0 && status == 0;
        figures_add(&each[i]);
    }
    return fine;
}

static void print_figures(double took)
{
    printf("%llu worlds in %.1f s: %llu calls (%llu ended well, %llu otherwise, %llu cancelled, "
           "%llu that nobody could come back for),\n"
           "%llu effects (%llu of them again), %llu answers that counted, %llu rounds, "
           "%llu crashes, %llu take-overs, %llu recoveries,\n"
           "%llu questions of calls that rested, %llu answers elsewhere that counted, "
           "%llu retries with answers, %llu crashes of handlers, %llu calls that ended by them,\n"
           "%llu calls that calls waited for, %llu ends that were told to them, %llu live runs, "
           "%llu questions whose ends they were told, %llu runs of calls that stay otherwise, %llu "
           "calls whose home was gone, %llu cancels that were accepted,\n"
           "%llu targets that were replaced, %llu calls that ended because of it\n",
           (unsigned long long)figures.worlds, took, (unsigned long long)figures.calls,
           (unsigned long long)figures.ended_ok, (unsigned long long)figures.ended_otherwise,
           (unsigned long long)figures.cancelled, (unsigned long long)figures.ended_elsewhere,
           (unsigned long long)figures.effects, (unsigned long long)figures.repeated_effects,
           (unsigned long long)figures.answers, (unsigned long long)figures.rounds,
           (unsigned long long)figures.crashes, (unsigned long long)figures.takeovers,
           (unsigned long long)figures.recovered, (unsigned long long)figures.rested,
           (unsigned long long)figures.answers_elsewhere, (unsigned long long)figures.brought,
           (unsigned long long)figures.handlers_crashed, (unsigned long long)figures.ended_crashed,
           (unsigned long long)figures.inner_calls, (unsigned long long)figures.inner_ends,
           (unsigned long long)figures.live_runs, (unsigned long long)figures.live_told,
           (unsigned long long)figures.staying_runs, (unsigned long long)figures.unknown,
           (unsigned long long)figures.cancels_told, (unsigned long long)figures.replaced,
           (unsigned long long)figures.ended_changed);
}

/* Dice that never reach a thing say nothing about it. */
static bool all_was_reached(void)
{
    return figures.ended_ok && figures.ended_otherwise && figures.cancelled &&
           (figures.repeated_effects || figures.worlds < RARE_WORLDS) && figures.answers &&
           figures.rounds && figures.crashes && figures.takeovers && figures.recovered &&
           figures.brought && figures.handlers_crashed && figures.ended_crashed &&
           figures.inner_ends && figures.live_told && figures.staying_runs && figures.unknown &&
           figures.cancels_told && figures.ended_changed;
}

int main(void)
{
    bool soak = number_from("NOD_SOAK", 0) != 0;
    uint64_t count = number_from("NOD_SIM_ROUNDS", soak ? ALL : SAMPLE);
    bool bounded = !soak && !getenv("NOD_SIM_ROUNDS");
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    double began = seconds();
    uint64_t thrown;

    /* What the core logs is not what is looked at here, and its times differ from run to run. */
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_ERROR, .fd = open("/dev/null", O_WRONLY) });
    if (getenv("NOD_SIM_SEED")) {
        tracing = true;
        setvbuf(stdout, NULL, _IOLBF, 0);
        world_play(number_from("NOD_SIM_SEED", 1));
        print_figures(seconds() - began);
        return 0;
    }
    random_bytes(&thrown, sizeof(thrown));
    uint64_t base = number_from("NOD_SIM_BASE", thrown % 1000000000 + 1);
    printf("seeds from %llu on (NOD_SIM_BASE=%llu repeats them)\n", (unsigned long long)base,
           (unsigned long long)base);
    if (bounded) {
        play(base, count, 1, began + SAMPLE_SECONDS);
    } else {
        size_t jobs =
            (size_t)number_from("NOD_SIM_JOBS", processors < 1 ? 1 : (uint64_t)processors);
        if (jobs > JOBS_MAX)
            jobs = JOBS_MAX;
        if (!play_in_processes(base, count, jobs))
            return 1;
    }
    print_figures(seconds() - began);
    if (figures.worlds >= 1000 && !all_was_reached()) {
        fprintf(stderr, "sim: something that should happen now and then did not\n");
        return 1;
    }
    return 0;
}
