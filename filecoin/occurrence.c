/* Growing bit maps. */
#include "filecoin/occurrence.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

int occurrence_set(struct occurrence *occurrence, uint32_t index)
{
    const uint64_t word = index / 64, bit = UINT64_C(1) << (index % 64);

    if (word >= occurrence->word_count) {
        const uint64_t count = word + 1 + occurrence->word_count / 2;
        uint64_t *words = realloc(occurrence->words, count * sizeof *words);

        if (!words)
            return -ENOMEM;
        memset(words + occurrence->word_count, 0, (count - occurrence->word_count) * sizeof *words);
        occurrence->words = words;
        occurrence->word_count = count;
    }
    occurrence->set_count += !(occurrence->words[word] & bit);
    occurrence->words[word] |= bit;
    return 0;
}

int occurrence_digest(const struct occurrence *occurrence, uint64_t count,
                      uint8_t ret[OCCURRENCE_DIGEST_BYTES])
{
    const uint64_t words = (count + 63) / 64;
    const uint64_t present = words < occurrence->word_count ? words : occurrence->word_count;
    uint64_t *copy = calloc(words ? words : 1, sizeof *copy);
    int error = -ENOMEM;

    if (copy) {
        if (present > 0)
            memcpy(copy, occurrence->words, present * sizeof *copy);
        error = EVP_Digest(copy, words * sizeof *copy, ret, NULL, EVP_sha256(), NULL) ? 0 : -EIO;
    }
    free(copy);
    return error;
}

void occurrence_destroy(struct occurrence *occurrence)
{
    free(occurrence->words);
    *occurrence = (struct occurrence){0};
}
