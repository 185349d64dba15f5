/* Where proofs leave: see outlet.h. Upstream: completions.c; downstream: answers.c. */
#include "supervisor/outlet.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "groth16/key/decimal.h"
#include "supervisor/supervisor.h"

int outlet_store(struct supervisor *supervisor, const struct slot *slot, const void *proof)
{
    struct job *job = jobs_find(&supervisor->jobs, slot->job);
    if (!job || job_is_terminal(job))
        return 0;
    size_t public_bytes = (size_t)job->public_count * CURVE_FR_BYTES;
    uint8_t *publics = (uint8_t *)job->publics + slot->partition * public_bytes;
    size_t done = 0;
    while (done < public_bytes) {
        ssize_t got = pread(slot->public_fd, publics + done, public_bytes - done, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -EIO;
        done += (size_t)got;
    }
    memcpy(job->proofs + slot->partition * job->curve->proof_bytes, proof, job->curve->proof_bytes);
    memcpy(job->phases_us[slot->partition], slot->phase_us, sizeof slot->phase_us);
    return 0;
}

static void write_coordinate(struct reply *reply, const struct curve *curve, const uint8_t *mont)
{
    uint64_t in[CURVE_FP_LIMBS_MAX], plain[CURVE_FP_LIMBS_MAX];
    char text[DECIMAL_TEXT_BYTES];
    memcpy(in, mont, curve->fp_bytes);
    curve->fp_to_plain(plain, in);
    decimal_print(plain, curve->fp_limbs, text);
    reply_string(reply, NULL, text);
}

/* [x, y, "1"]; a verified proof has no point at infinity, but the form exists. */
static void write_g1(struct reply *reply, const char *key, const struct curve *curve,
                     const uint8_t *point)
{
    static const uint8_t infinity[CURVE_G1_BYTES_MAX];
    bool is_infinity = memcmp(point, infinity, curve->g1_bytes) == 0;
    reply_array(reply, key);
    write_coordinate(reply, curve, point);
    if (is_infinity)
        reply_string(reply, NULL, "1");
    else
        write_coordinate(reply, curve, point + curve->fp_bytes);
    reply_string(reply, NULL, is_infinity ? "0" : "1");
    reply_close(reply);
}

static void write_pair(struct reply *reply, const char *first, const char *second)
{
    reply_array(reply, NULL);
    reply_string(reply, NULL, first);
    reply_string(reply, NULL, second);
    reply_close(reply);
}

static void write_g2(struct reply *reply, const char *key, const struct curve *curve,
                     const uint8_t *point)
{
    static const uint8_t infinity[CURVE_G2_BYTES_MAX];
    bool is_infinity = memcmp(point, infinity, curve->g2_bytes) == 0;
    reply_array(reply, key);
    for (int i = 0; i < 2; i++) {
        if (is_infinity && i == 1) {
            write_pair(reply, "1", "0");
            break;
        }
        reply_array(reply, NULL);
        write_coordinate(reply, curve, point + (size_t)(2 * i) * curve->fp_bytes);
        write_coordinate(reply, curve, point + (size_t)(2 * i + 1) * curve->fp_bytes);
        reply_close(reply);
    }
    write_pair(reply, is_infinity ? "0" : "1", "0");
    reply_close(reply);
}

void outlet_write_proofs(struct reply *reply, const struct job *job)
{
    const struct curve *curve = job->curve;
    reply_array(reply, "proofs");
    for (uint32_t i = 0; i < job->partition_count; i++) {
        const uint8_t *proof = job->proofs + i * curve->proof_bytes;
        reply_map(reply, NULL);
        write_g1(reply, "pi_a", curve, proof);
        write_g2(reply, "pi_b", curve, proof + curve->g1_bytes);
        write_g1(reply, "pi_c", curve, proof + curve->g1_bytes + curve->g2_bytes);
        reply_string(reply, "protocol", "groth16");
        reply_string(reply, "curve", curve->json_name);
        reply_close(reply);
    }
    reply_close(reply);
}

void outlet_write_phases(struct reply *reply, const struct job *job)
{
    reply_array(reply, "phases_ms");
    for (uint32_t i = 0; i < job->partition_count; i++) {
        reply_map(reply, NULL);
        for (int phase = 0; phase <= PHASE_WAIT; phase++) {
            uint32_t us = job->phases_us[i][phase];
            if (us > 0)
                reply_real(reply, phase_to_string((enum phase)phase), us / 1e3);
        }
        reply_close(reply);
    }
    reply_close(reply);
}

void outlet_write_public(struct reply *reply, const struct job *job, uint32_t partition,
                         uint32_t first, uint32_t count)
{
    const uint64_t *scalars = job->publics + (size_t)partition * job->public_count * 4;
    char text[DECIMAL_TEXT_BYTES];
    reply_array(reply, "values");
    for (uint32_t i = first; i < job->public_count && i - first < count; i++) {
        decimal_print(scalars + (size_t)i * 4, 4, text);
        reply_string(reply, NULL, text);
    }
    reply_close(reply);
}
