/* A test program is a list of cases that read as claims. Each case runs in turn; the first failed
 * assertion in a case prints place and values and fails that case only. Exit status is the number
 * of failed cases (at most 99). The closing lines feed the totals of `./dev test`.
 *
 * Random cases call test_seed(), which prints its seed; CUZK_TEST_SEED=N repeats a run. */
#pragma once

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static jmp_buf test_failed;

struct test_case {
    const char *name;
    void (*run)(void);
};

#define ASSERT(c)                                                                                  \
    do {                                                                                           \
        if (!(c)) {                                                                                \
            fprintf(stderr, "%s:%d: assertion failed: %s\n", __FILE__, __LINE__, #c);              \
            longjmp(test_failed, 1);                                                               \
        }                                                                                          \
    } while (0)

#define ASSERT_INT(a, b)                                                                           \
    do {                                                                                           \
        long long test_a = (long long)(a), test_b = (long long)(b);                                \
        if (test_a != test_b) {                                                                    \
            fprintf(stderr, "%s:%d: %s is %lld, expected %s = %lld\n", __FILE__, __LINE__, #a,     \
                    test_a, #b, test_b);                                                           \
            longjmp(test_failed, 1);                                                               \
        }                                                                                          \
    } while (0)

#define ASSERT_STR(a, b)                                                                           \
    do {                                                                                           \
        const char *test_a = (a), *test_b = (b);                                                   \
        if (strcmp(test_a, test_b) != 0) {                                                         \
            fprintf(stderr, "%s:%d: %s is \"%s\", expected \"%s\"\n", __FILE__, __LINE__, #a,      \
                    test_a, test_b);                                                               \
            longjmp(test_failed, 1);                                                               \
        }                                                                                          \
    } while (0)

#define TEST(name) static void name(void)
#define CASE(name) {#name, name}

static inline uint64_t test_seed(void)
{
    const char *given = getenv("CUZK_TEST_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = given ? strtoull(given, NULL, 0)
                          : (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec;
    printf("  seed %llu\n", (unsigned long long)seed);
    fflush(stdout); /* a case that hangs is to be repeated too */
    return seed;
}

/* splitmix64: the next value of a random sequence kept in *state. */
static inline uint64_t test_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int test_main(const struct test_case *cases, int count)
{
    volatile int failed = 0; /* survives the longjmp */
    for (volatile int i = 0; i < count; i++) {
        if (setjmp(test_failed) == 0) {
            cases[i].run();
            printf("ok %s\n", cases[i].name);
        } else {
            printf("FAILED %s\n", cases[i].name);
            failed++;
        }
        fflush(stdout);
    }
    printf("cases: %d passed, %d failed\n", count - failed, failed);
    return failed > 99 ? 99 : failed;
}

#define TEST_MAIN(...)                                                                             \
    int main(void)                                                                                 \
    {                                                                                              \
        static const struct test_case cases[] = {__VA_ARGS__};                                     \
        return test_main(cases, (int)(sizeof cases / sizeof cases[0]));                            \
    }
