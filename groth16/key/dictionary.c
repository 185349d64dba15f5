/* A hash table with linear probing over values kept in one growing array. */
#include "groth16/key/dictionary.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    VALUE_BYTES = 32,
    SLOTS_FIRST = 1024,
    VALUES_MAX = 1 << 30,
};

int dictionary_init(struct dictionary *dictionary)
{
    memset(dictionary, 0, sizeof *dictionary);
    dictionary->capacity = SLOTS_FIRST / 2;
    dictionary->slot_count = SLOTS_FIRST;
    dictionary->values = malloc((size_t)dictionary->capacity * VALUE_BYTES);
    dictionary->slots = calloc(SLOTS_FIRST, sizeof dictionary->slots[0]);
    if (!dictionary->values || !dictionary->slots ||
        getrandom(dictionary->seed, sizeof dictionary->seed, 0) !=
            (ssize_t)sizeof dictionary->seed) {
        dictionary_destroy(dictionary);
        return -ENOMEM;
    }
    return 0;
}

void dictionary_destroy(struct dictionary *dictionary)
{
    free(dictionary->values);
    free(dictionary->slots);
    memset(dictionary, 0, sizeof *dictionary);
}

/* Folded 64x64 products of secretly shifted limbs, chained. */
static uint64_t hash(const struct dictionary *dictionary, const uint64_t *value)
{
    uint64_t h = dictionary->seed[4];

    for (int i = 0; i < 4; i++) {
        unsigned __int128 t =
            (unsigned __int128)(value[i] ^ dictionary->seed[i]) * ((h ^ value[i]) | 1);

        h += (uint64_t)t ^ (uint64_t)(t >> 64);
        h *= 0x9e3779b97f4a7c15u;
    }
    return h ^ h >> 32;
}

static uint32_t find_slot(const struct dictionary *dictionary, const uint64_t *value)
{
    uint32_t mask = dictionary->slot_count - 1, slot = (uint32_t)hash(dictionary, value) & mask;

    while (dictionary->slots[slot] != 0 &&
           memcmp(dictionary->values + 4 * (size_t)(dictionary->slots[slot] - 1), value,
                  VALUE_BYTES) != 0)
        slot = (slot + 1) & mask;
    return slot;
}

static int grow(struct dictionary *dictionary)
{
    uint32_t capacity = 2 * dictionary->capacity, slot_count = 2 * dictionary->slot_count;
    uint64_t *values = realloc(dictionary->values, (size_t)capacity * VALUE_BYTES);
    uint32_t *slots;

    if (!values)
        return -ENOMEM;
    dictionary->values = values;
    dictionary->capacity = capacity;
    slots = calloc(slot_count, sizeof slots[0]);
    if (!slots)
        return -ENOMEM;
    free(dictionary->slots);
    dictionary->slots = slots;
    dictionary->slot_count = slot_count;
    for (uint32_t i = 0; i < dictionary->count; i++)
        slots[find_slot(dictionary, values + 4 * (size_t)i)] = i + 1;
    return 0;
}

int dictionary_number(struct dictionary *dictionary, const uint64_t *value, uint32_t *ret)
{
    uint32_t slot = find_slot(dictionary, value);

    if (dictionary->slots[slot] != 0) {
        *ret = dictionary->slots[slot] - 1;
        return 0;
    }
    if (dictionary->count == VALUES_MAX)
        return -EOVERFLOW;
    if (dictionary->count >= dictionary->slot_count / 2) {
        int error = grow(dictionary);

        if (error)
            return error;
        slot = find_slot(dictionary, value);
    }
    memcpy(dictionary->values + 4 * (size_t)dictionary->count, value, VALUE_BYTES);
    *ret = dictionary->count++;
    dictionary->slots[slot] = dictionary->count;
    return 0;
}
