/* See key_rig.h. */
#include "tests/filecoin/key_rig.h"

#include <openssl/evp.h>

#include "bench/params_write.h"
#include "filecoin/proof.h"
#include "gpu-worker/cpu/prove.h"
#include "groth16/verify/assemble.h"

struct bytes golden_read(const char *name)
{
    char path[96];

    snprintf(path, sizeof path, "filecoin/%s", name);
    return bytes_read(path);
}

uint64_t *golden_witness(const char *name, uint32_t *ret_inputs, uint32_t *ret_aux)
{
    struct bytes bytes = golden_read(name);
    const uint32_t inputs = get_u32(bytes.at), aux = get_u32(bytes.at + 4);
    const size_t count = (size_t)inputs + aux;
    const uint8_t *classes = bytes.at + 8, *explicit = classes + count;
    uint64_t *values = calloc(count, 32);

    ASSERT(values != NULL && bytes.count >= 8 + count);
    for (size_t i = 0; i < count; i++) {
        if (classes[i] < 2) {
            values[4 * i] = classes[i];
        } else {
            ASSERT(explicit + 32 <= bytes.at + bytes.count);
            memcpy(values + 4 * i, explicit, 32);
            explicit += 32;
        }
    }
    ASSERT(explicit == bytes.at + bytes.count);
    *ret_inputs = inputs;
    *ret_aux = aux;
    bytes_free(&bytes);
    return values;
}

void golden_open(struct golden *golden, const char *name)
{
    struct reason reason;
    char file[64];

    *golden = (struct golden){.name = name};
    snprintf(file, sizeof file, "%s.wit", name);
    golden->witness = golden_witness(file, &golden->inputs, &golden->aux);
    snprintf(file, sizeof file, "%s.r1cs", name);
    golden->rows = golden_read(file);
    ASSERT_INT(row_stream_read(golden->rows.at, golden->rows.count, golden->inputs, golden->aux,
                               &golden->constraints, &reason),
               0);
}

void golden_close(struct golden *golden)
{
    constraints_destroy(&golden->constraints);
    bytes_free(&golden->rows);
    free(golden->witness);
}

int image_prepare(const struct constraints *constraints, const struct params *params, bool has_c,
                  struct pool *pool, struct image *ret, struct reason *reason)
{
    const struct prepared_circuit circuit = row_stream_circuit(constraints, has_c);
    uint8_t digest[PREPARED_DIGEST_BYTES];
    struct stat st;
    int error;

    ret->fd = memfd_create("image", MFD_CLOEXEC);
    ASSERT(ret->fd >= 0);
    ret->memory = NULL;
    error = params_prepare(params, &circuit, NULL, ret->fd, pool, NULL, digest, reason);
    if (error) {
        close(ret->fd);
        return error;
    }
    ASSERT(fstat(ret->fd, &st) == 0);
    ret->bytes = (size_t)st.st_size;
    ret->memory = mmap(NULL, ret->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, ret->fd, 0);
    ASSERT(ret->memory != MAP_FAILED);
    if (prepared_attach(ret->memory, ret->bytes, &ret->prepared, reason) != 0)
        fprintf(stderr, "%s\n", reason->text);
    ASSERT(ret->prepared.curve != NULL);
    ASSERT(memcmp(ret->prepared.digest, digest, sizeof digest) == 0);
    return 0;
}

void image_close(struct image *image)
{
    munmap(image->memory, image->bytes);
    close(image->fd);
}

FILE *params_make(const struct constraints *constraints, struct pool *pool)
{
    const struct setup_secrets secrets = params_secrets();
    struct setup setup;
    struct key key = {
        .constraints = constraints, .setup = &setup, .maker = &key_points_cpu, .pool = pool};
    struct reason reason;
    FILE *out = tmpfile();

    ASSERT(out != NULL);
    ASSERT_INT(setup_make(constraints, &secrets, SETUP_BELLMAN, pool, &setup, &reason), 0);
    ASSERT_INT(key_points_cpu.create(constraints->curve, setup.variables, setup.variables, pool,
                                     &key.maker_state, &reason),
               0);
    ASSERT_INT(params_write(&key, out, &reason), 0);
    key_points_cpu.destroy(key.maker_state);
    setup_destroy(&setup);
    return out;
}

void file_digest(FILE *file, char ret[65])
{
    uint8_t digest[32], piece[4096];
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    size_t n;

    ASSERT(hash && EVP_DigestInit_ex(hash, EVP_sha256(), NULL));
    rewind(file);
    while ((n = fread(piece, 1, sizeof piece, file)) > 0)
        ASSERT(EVP_DigestUpdate(hash, piece, n));
    ASSERT(EVP_DigestFinal_ex(hash, digest, NULL));
    EVP_MD_CTX_free(hash);
    for (int i = 0; i < 32; i++)
        snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}

void golden_prove(const uint64_t *witness, const struct prepared *key, struct pool *pool,
                  uint8_t ret_bytes[192], uint64_t *ret_proof)
{
    const struct curve *curve = key->curve;
    const struct slab_layout layout = prepared_slab_layout(key);
    const size_t domain = (size_t)1 << key->shape.domain_log2;
    const struct scalar r = params_secret("r"), s = params_secret("s");
    uint8_t *slab = calloc(1, layout.bytes);
    struct prove prove = {.key = key, .slab = slab, .scratch = malloc(prove_scratch_bytes(key))};

    ASSERT(slab && prove.scratch);
    memcpy(slab + layout.witness_off, witness, layout.witness_bytes);
    curve->evaluate(&key->matrix_a, witness, (uint64_t *)(slab + layout.a_off), 0, domain);
    curve->evaluate(&key->matrix_b, witness, (uint64_t *)(slab + layout.b_off), 0, domain);
    for (enum backend_phase phase = BACKEND_PHASE_NTT; phase < BACKEND_PHASE_COUNT; phase++)
        ASSERT_INT(prove_run(&prove, phase, pool), 0);
    curve->assemble(
        &(struct assemble_input){
            .sum_a = prove.sums + sums_off(curve, SUMS_A),
            .sum_b1 = prove.sums + sums_off(curve, SUMS_B1),
            .sum_b2 = prove.sums + sums_off(curve, SUMS_B2),
            .sum_l = prove.sums + sums_off(curve, SUMS_L),
            .sum_h = prove.sums + sums_off(curve, SUMS_H),
            .alpha_g1 = key->alpha_g1,
            .beta_g1 = key->beta_g1,
            .beta_g2 = key->beta_g2,
            .delta_g1 = key->delta_g1,
            .delta_g2 = key->delta_g2,
            .r = r.l,
            .s = s.l,
        },
        ret_proof);
    proof_write(ret_proof, ret_bytes);
    free(prove.scratch);
    free(slab);
}
