/* "Did you mean": the candidate nearest to a misspelt word. */
#pragma once

#include <stddef.h>

/* Feed candidates one by one; best stays NULL unless one is near enough to be a likely slip. */
struct nearest {
    const char *word;
    const char *best;
    size_t best_distance;
};

void nearest_init(struct nearest *nearest, const char *word);
void nearest_offer(struct nearest *nearest, const char *candidate);

/* Levenshtein's edit distance without regard to case; words beyond 64 bytes are cut. */
size_t nearest_distance(const char *a, const char *b);
