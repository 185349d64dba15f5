/* Rows to the byte stream of a `.r1cs`: for A, B and C a u32 count, then u32 variable and 32 bytes
 * of coefficient each. */
#include "filecoin/row_digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>

enum { BUFFER_BYTES = 1 << 18, TERM_BYTES = 4 + FR_BYTES };

static void occurs(struct row_digest *digest, struct occurrence *occurrence, uint32_t index)
{
    const int error = occurrence_set(occurrence, index);

    if (error != 0)
        digest->error = error;
}

static void flush(struct row_digest *digest)
{
    if (!EVP_DigestUpdate(digest->context, digest->buffer, digest->buffered))
        digest->error = -EIO;
    digest->buffered = 0;
}

static void write_terms(struct row_digest *digest, const struct cs_term *terms, uint32_t count)
{
    const fr *values = (const fr *)digest->dictionary->values;
    uint8_t *to;

    if (digest->buffered + 4 + (size_t)TERM_BYTES * count > BUFFER_BYTES)
        flush(digest);
    to = digest->buffer + digest->buffered;
    memcpy(to, &count, 4);
    to += 4;
    for (uint32_t i = 0; i < count; i++, to += TERM_BYTES) {
        memcpy(to, &terms[i].var, 4);
        memcpy(to + 4, &values[terms[i].coefficient], FR_BYTES);
    }
    digest->buffered = (size_t)(to - digest->buffer);
}

static void print_checkpoint(struct row_digest *digest)
{
    EVP_MD_CTX *copy = EVP_MD_CTX_new();
    uint8_t bytes[ROW_DIGEST_BYTES];

    flush(digest);
    if (!copy || !EVP_MD_CTX_copy_ex(copy, digest->context) ||
        !EVP_DigestFinal_ex(copy, bytes, NULL)) {
        digest->error = -EIO;
    } else {
        fprintf(digest->checkpoints, "r1cs checkpoint rows=%llu ",
                (unsigned long long)digest->row_count);
        for (unsigned i = 0; i < sizeof bytes; i++)
            fprintf(digest->checkpoints, "%02x", bytes[i]);
        fputc('\n', digest->checkpoints);
    }
    EVP_MD_CTX_free(copy);
}

static void on_row(struct cs_sink *sink, const struct cs_row *row)
{
    struct row_digest *digest = (struct row_digest *)sink;

    if (digest->error != 0)
        return;
    for (int i = 0; i < 3; i++) {
        write_terms(digest, row->terms[i], row->count[i]);
        digest->entry_count[i] += row->count[i];
        if (row->count[i] > digest->widest[i])
            digest->widest[i] = row->count[i];
    }
    for (uint32_t i = 0; i < row->count[0]; i++)
        if (row->terms[0][i].var & CS_AUX)
            occurs(digest, &digest->a_aux, row->terms[0][i].var ^ CS_AUX);
    for (uint32_t i = 0; i < row->count[1]; i++)
        if (row->terms[1][i].var & CS_AUX)
            occurs(digest, &digest->b_aux, row->terms[1][i].var ^ CS_AUX);
        else
            occurs(digest, &digest->b_in, row->terms[1][i].var);
    digest->row_count++;
    if (digest->checkpoints && digest->row_count % ROW_DIGEST_STEP == 0)
        print_checkpoint(digest);
}

int row_digest_init(struct row_digest *digest, const struct dictionary *dictionary)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    *digest = (struct row_digest){
        .sink.on_row = on_row, .dictionary = dictionary, .buffer = malloc(BUFFER_BYTES)};
    digest->context = context;
    if (!context || !digest->buffer)
        return -ENOMEM;
    return EVP_DigestInit_ex(context, EVP_sha256(), NULL) ? 0 : -EIO;
}

void row_digest_destroy(struct row_digest *digest)
{
    EVP_MD_CTX_free(digest->context);
    free(digest->buffer);
    occurrence_destroy(&digest->a_aux);
    occurrence_destroy(&digest->b_in);
    occurrence_destroy(&digest->b_aux);
    *digest = (struct row_digest){0};
}

int row_digest_finish(struct row_digest *digest, uint8_t ret[ROW_DIGEST_BYTES])
{
    flush(digest);
    if (digest->error == 0 && !EVP_DigestFinal_ex(digest->context, ret, NULL))
        digest->error = -EIO;
    return digest->error;
}
