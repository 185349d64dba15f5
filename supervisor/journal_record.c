/* Records of the journal: see journal_record.h. */
#include "supervisor/journal_record.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "runtime/check.h"

bool journal_job_allocate(struct journal_job *job)
{
    job->partitions = calloc(job->partition_count, sizeof job->partitions[0]);
    return job->partitions != NULL;
}

void journal_job_destroy(struct journal_job *job)
{
    for (uint32_t i = 0; job->partitions && i < job->partition_count; i++) {
        struct journal_partition *partition = &job->partitions[i];
        if (partition->content)
            explicit_bzero(partition->content, partition->bytes); /* a witness */
        free(partition->content);
        free(partition->proof);
        free(partition->publics);
    }
    free(job->partitions);
    job->partitions = NULL;
}

static void add_number(EVP_MD_CTX *context, uint64_t number)
{
    uint64_t bytes = htole64(number);
    EVP_DigestUpdate(context, &bytes, sizeof bytes);
}

static void add_text(EVP_MD_CTX *context, const char *text)
{
    add_number(context, strlen(text));
    EVP_DigestUpdate(context, text, strlen(text));
}

void journal_job_digest(struct journal_job *job)
{
    static const char domain[] = "cuzkd job 1";
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    CHECK(context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1);
    add_text(context, domain);
    add_text(context, job->circuit);
    add_text(context, job->key_digest);
    add_number(context, job->partition_count);
    for (uint32_t i = 0; i < job->partition_count; i++) {
        struct journal_partition *partition = &job->partitions[i];
        if (partition->kind == JOURNAL_INPUT_INLINE && partition->content)
            CHECK(EVP_Digest(partition->content, partition->bytes, partition->sha256, NULL,
                             EVP_sha256(), NULL) == 1);
        add_number(context, partition->bytes);
        EVP_DigestUpdate(context, partition->sha256, sizeof partition->sha256);
    }
    CHECK(EVP_DigestFinal_ex(context, job->digest, NULL) == 1);
    EVP_MD_CTX_free(context);
}
