/* What an intake process may say: an order and the answers to it, as the supervisor checks them;
 * and names of files in the spool. */
#include <string.h>

#include "config/limits.h"
#include "shm/intake_packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void expect(bool holds)
{
    if (!holds)
        __builtin_trap();
}

static void answers(const uint8_t *bytes, size_t count)
{
    struct intake_packet asked, progress, answer;
    if (count < sizeof asked)
        return;
    memcpy(&asked, bytes, sizeof asked);
    progress = asked;
    progress.bytes = 0;
    for (size_t at = sizeof asked; at + sizeof answer <= count; at += sizeof answer) {
        memcpy(&answer, bytes + at, sizeof answer);
        if (intake_answer_check(&asked, &progress, &answer) < 0)
            continue;
        expect(answer.job == asked.job && answer.partition == asked.partition);
        expect(answer.kind != INTAKE_COPIED || answer.bytes == asked.bytes);
        expect(answer.kind != INTAKE_FAILED || answer.fault < INTAKE_FAULT_COUNT);
        if (answer.kind != INTAKE_PROGRESS)
            continue;
        expect(answer.bytes >= progress.bytes && answer.bytes <= asked.bytes);
        progress = answer;
    }
}

static void names(const uint8_t *bytes, size_t count)
{
    char name[64], again[INTAKE_NAME_BYTES];
    uint64_t job;
    uint32_t partition;
    bool is_part;
    if (count >= sizeof name)
        return;
    memcpy(name, bytes, count);
    name[count] = '\0';
    if (intake_name_parse(name, &job, &partition, &is_part) < 0)
        return;
    expect(partition < JOB_PARTITIONS_MAX);
    intake_name(job, partition, is_part, again);
    expect(strcmp(name, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    answers(bytes, count);
    names(bytes, count);
    return 0;
}
