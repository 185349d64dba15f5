/* Edit distance, letters of either case alike. Upstream: the refusals of parser and requests. */
#include "config/nearest.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum {
    WORD_BYTES_MAX = 64,
};

static size_t min2(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t nearest_distance(const char *a, const char *b)
{
    size_t a_count = strnlen(a, WORD_BYTES_MAX), b_count = strnlen(b, WORD_BYTES_MAX);
    size_t row[WORD_BYTES_MAX + 1]; /* distances of a[0..i] to every head of b */

    for (size_t j = 0; j <= b_count; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_count; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_count; j++) {
            size_t above = row[j];
            size_t differs =
                tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]) ? 1 : 0;
            row[j] = min2(min2(row[j] + 1, row[j - 1] + 1), diagonal + differs);
            diagonal = above;
        }
    }
    return row[b_count];
}

void nearest_init(struct nearest *nearest, const char *word)
{
    size_t tolerated = strlen(word) / 3;
    *nearest = (struct nearest){.word = word, .best_distance = (tolerated > 2 ? tolerated : 2) + 1};
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
    size_t distance = nearest_distance(nearest->word, candidate);

    if (distance < nearest->best_distance && distance < strlen(candidate)) {
        nearest->best = candidate;
        nearest->best_distance = distance;
    }
}
