/* Readers of points, .vk, .params and proofs, and what they refuse. */
#include <errno.h>

#include "filecoin/point.h"
#include "filecoin/proof.h"
#include "filecoin/vk.h"
#include "tests/filecoin/key_rig.h"

static struct pool *pool;

static void set_up(void)
{
    if (!pool)
        ASSERT_INT(pool_create(2, &pool), 0);
}

/* ---- points ---- */

/* q and q + 3 fit 48 bytes. */
static const uint8_t modulus[48] = {
    0x1a, 0x01, 0x11, 0xea, 0x39, 0x7f, 0xe6, 0x9a, 0x4b, 0x1b, 0xa7, 0xb6, 0x43, 0x4b, 0xac, 0xd7,
    0x64, 0x77, 0x4b, 0x84, 0xf3, 0x85, 0x12, 0xbf, 0x67, 0x30, 0xd2, 0xa0, 0xf6, 0xb0, 0xf6, 0x24,
    0x1e, 0xab, 0xff, 0xfe, 0xb1, 0x53, 0xff, 0xff, 0xb9, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xaa, 0xab};

TEST(points_come_back_as_they_went)
{
    const struct curve *curve = &curve_bls12_381;
    uint64_t seed = test_seed(), point[24], back[24];
    uint8_t bytes[192];
    bool signs[2] = {false, false};

    for (int i = 0; i < 40; i++) {
        uint64_t scalar[4] = {test_random(&seed), test_random(&seed), test_random(&seed), 1};

        curve->g1_mul(curve->g1_generator, scalar, point);
        point_g1_write(point, bytes);
        ASSERT_INT(point_g1_read(bytes, true, back), POINT_OK);
        ASSERT(memcmp(point, back, 96) == 0);
        point_g1_write_compressed(point, bytes);
        ASSERT_INT(point_g1_read_compressed(bytes, back), POINT_OK);
        ASSERT(memcmp(point, back, 96) == 0);
        signs[(bytes[0] & 0x20) != 0] = true;
        bytes[0] ^= 0x20; /* the other root */
        ASSERT_INT(point_g1_read_compressed(bytes, back), POINT_OK);
        ASSERT(memcmp(point, back, 48) == 0 && memcmp(point, back, 96) != 0);

        curve->g2_mul(curve->g2_generator, scalar, point);
        point_g2_write(point, bytes);
        ASSERT_INT(point_g2_read(bytes, true, back), POINT_OK);
        ASSERT(memcmp(point, back, 192) == 0);
        point_g2_write_compressed(point, bytes);
        ASSERT_INT(point_g2_read_compressed(bytes, back), POINT_OK);
        ASSERT(memcmp(point, back, 192) == 0);
        bytes[0] ^= 0x20;
        ASSERT_INT(point_g2_read_compressed(bytes, back), POINT_OK);
        ASSERT(memcmp(point, back, 96) == 0 && memcmp(point, back, 192) != 0);
    }
    ASSERT(signs[0] && signs[1]);
}

TEST(the_generator_is_encoded_as_everywhere)
{
    static const uint8_t head[4] = {0x97, 0xf1, 0xd3, 0xa7};
    static const uint8_t head2[4] = {0x93, 0xe0, 0x2b, 0x60};
    uint8_t bytes[96];

    point_g1_write_compressed(curve_bls12_381.g1_generator, bytes);
    ASSERT(memcmp(bytes, head, sizeof head) == 0);
    point_g2_write_compressed(curve_bls12_381.g2_generator, bytes);
    ASSERT(memcmp(bytes, head2, sizeof head2) == 0);
}

TEST(infinity_has_one_encoding)
{
    static const uint64_t zero[24];
    uint64_t point[24];
    uint8_t bytes[192];

    point_g1_write(zero, bytes);
    ASSERT_INT(bytes[0], 0x40);
    ASSERT_INT(point_g1_read(bytes, true, point), POINT_IS_INFINITY);
    bytes[95] = 1;
    ASSERT_INT(point_g1_read(bytes, true, point), POINT_BAD_FLAGS);
    memset(bytes, 0, sizeof bytes);
    ASSERT_INT(point_g1_read(bytes, true, point), POINT_NOT_ON_CURVE);
    ASSERT_INT(point_g2_read(bytes, true, point), POINT_NOT_ON_CURVE);
    point_g2_write(zero, bytes);
    ASSERT_INT(point_g2_read(bytes, true, point), POINT_IS_INFINITY);
    point_g1_write_compressed(zero, bytes);
    ASSERT_INT(bytes[0], 0xc0);
    ASSERT_INT(point_g1_read_compressed(bytes, point), POINT_IS_INFINITY);
    bytes[0] = 0xe0;
    ASSERT_INT(point_g1_read_compressed(bytes, point), POINT_BAD_FLAGS);
    point_g2_write_compressed(zero, bytes);
    ASSERT_INT(point_g2_read_compressed(bytes, point), POINT_IS_INFINITY);
}

TEST(other_encodings_are_refused)
{
    uint64_t point[24];
    uint8_t bytes[192], small[48];

    point_g1_write(curve_bls12_381.g1_generator, bytes);
    for (int flag = 0x20; flag <= 0x80; flag *= 2) {
        bytes[0] ^= flag;
        ASSERT_INT(point_g1_read(bytes, true, point), POINT_BAD_FLAGS);
        bytes[0] ^= flag;
    }
    bytes[95] ^= 1;
    ASSERT_INT(point_g1_read(bytes, true, point), POINT_NOT_ON_CURVE);
    memcpy(bytes + 48, modulus, 48);
    ASSERT_INT(point_g1_read(bytes, true, point), POINT_NOT_REDUCED);
    memcpy(bytes, modulus, 48);
    ASSERT_INT(point_g1_read(bytes, true, point), POINT_NOT_REDUCED);

    point_g1_write_compressed(curve_bls12_381.g1_generator, small);
    small[0] &= 0x7f;
    ASSERT_INT(point_g1_read_compressed(small, point), POINT_BAD_FLAGS);
    memcpy(small, modulus, 48);
    small[0] |= 0x80;
    ASSERT_INT(point_g1_read_compressed(small, point), POINT_NOT_REDUCED);
}

/* Small x that are on the curve are, but for luck of one in 2^125, not in the subgroup; x = 0 has
 * y = 2 in G1. */
TEST(points_outside_the_subgroup_are_told_from_points_off_the_curve)
{
    uint64_t point[24];
    uint8_t bytes[96] = {0x80}, whole[192];
    int off = 0, outside = 0;

    for (int i = 0; i < 40; i++) {
        bytes[47] = (uint8_t)i;
        switch (point_g1_read_compressed(bytes, point)) {
        case POINT_NOT_ON_CURVE:
            off++;
            break;
        case POINT_NOT_IN_SUBGROUP:
            outside++;
            point_g1_write(point, whole);
            ASSERT_INT(point_g1_read(whole, false, point), POINT_OK);
            ASSERT_INT(point_g1_read(whole, true, point), POINT_NOT_IN_SUBGROUP);
            break;
        default:
            ASSERT(!"told apart");
        }
    }
    ASSERT(off > 5 && outside > 5);
    off = outside = 0;
    memset(bytes, 0, sizeof bytes);
    bytes[0] = 0x80;
    for (int i = 0; i < 40; i++) {
        bytes[95] = (uint8_t)i;
        switch (point_g2_read_compressed(bytes, point)) {
        case POINT_NOT_ON_CURVE:
            off++;
            break;
        case POINT_NOT_IN_SUBGROUP:
            outside++;
            point_g2_write(point, whole);
            ASSERT_INT(point_g2_read(whole, false, point), POINT_OK);
            ASSERT_INT(point_g2_read(whole, true, point), POINT_NOT_IN_SUBGROUP);
            break;
        default:
            ASSERT(!"told apart");
        }
    }
    ASSERT(off > 5 && outside > 5);
}

/* ---- proofs ---- */

TEST(a_golden_proof_is_read_written_and_verified)
{
    struct bytes bytes = golden_read("post-tiny.proof"), publics = golden_read("post-tiny.pub");
    uint64_t proof[48], inputs[8];
    uint8_t again[PROOF_BYTES];
    struct vk vk;
    struct reason reason;
    int fd = fixture_open("filecoin/post-tiny.vk");

    ASSERT_INT(bytes.count, PROOF_BYTES);
    ASSERT_INT(proof_read(bytes.at, proof, &reason), 0);
    proof_write(proof, again);
    ASSERT(memcmp(again, bytes.at, PROOF_BYTES) == 0);
    ASSERT_INT(vk_open(fd, &vk, &reason), 0);
    ASSERT_INT(publics.count, 64);
    ASSERT(point_scalar_read(publics.at, inputs) && point_scalar_read(publics.at + 32, inputs + 4));

    const struct verify_key key = vk_verify_key(&vk);
    ASSERT_INT(curve_bls12_381.verify(&key, inputs, 2, proof), VERIFY_OK);
    inputs[4]++;
    ASSERT_INT(curve_bls12_381.verify(&key, inputs, 2, proof), VERIFY_FAILED);
    inputs[4]--;

    /* Any bit changed: refused by the reader, or another proof, which does not verify. */
    for (int i = 0; i < PROOF_BYTES; i += 7) {
        bytes.at[i] ^= 1 << i % 8;
        if (proof_read(bytes.at, proof, &reason) == 0)
            ASSERT(curve_bls12_381.verify(&key, inputs, 2, proof) != VERIFY_OK);
        bytes.at[i] ^= 1 << i % 8;
    }
    memset(bytes.at + 48, 0, 96);
    bytes.at[48] = 0xc0;
    ASSERT_INT(proof_read(bytes.at, proof, &reason), -EBADMSG);
    ASSERT_STR(reason.text, "proof: B at byte 48: the point is at infinity");
    vk_destroy(&vk);
    bytes_free(&bytes);
    bytes_free(&publics);
    close(fd);
}

TEST(a_scalar_at_or_above_r_is_refused)
{
    uint8_t bytes[32];
    uint64_t value[4];

    memcpy(bytes, curve_bls12_381.fr_modulus, 32);
    ASSERT(!point_scalar_read(bytes, value));
    bytes[0]--;
    ASSERT(point_scalar_read(bytes, value));
    memset(bytes, 0xff, 32);
    ASSERT(!point_scalar_read(bytes, value));
}

/* ---- .vk ---- */

static int open_vk(const struct bytes *bytes, struct reason *reason)
{
    struct vk vk;
    int fd = bytes_fd(bytes), error = vk_open(fd, &vk, reason);

    close(fd);
    if (error == 0)
        vk_destroy(&vk);
    return error;
}

TEST(every_truncation_of_a_vk_is_refused)
{
    struct bytes bytes = golden_read("post-tiny.vk");
    const size_t count = bytes.count;
    struct reason reason;

    ASSERT_INT(open_vk(&bytes, &reason), 0);
    for (bytes.count = 0; bytes.count < count; bytes.count += bytes.count < 8 ? 1 : 13) {
        ASSERT_INT(open_vk(&bytes, &reason), -EBADMSG);
        ASSERT_SAYS(reason, "truncated");
    }
    bytes.count = count - 1;
    ASSERT_INT(open_vk(&bytes, &reason), -EBADMSG);
    bytes.count = count + 1;
    bytes.at[count] = 0;
    ASSERT_INT(open_vk(&bytes, &reason), -EBADMSG);
    ASSERT_SAYS(reason, "appended");
    bytes_free(&bytes);
}

TEST(a_vk_with_a_bad_point_or_count_is_refused_with_its_place)
{
    static const struct {
        size_t off;
        const char *says;
    } points[] = {
        {0, "alpha_g1 at byte 0"},     {96, "beta_g1 at byte 96"},    {192, "beta_g2 at byte 192"},
        {384, "gamma_g2 at byte 384"}, {576, "delta_g1 at byte 576"}, {672, "delta_g2 at byte 672"},
        {868, "ic[0] at byte 868"},    {1060, "ic[2] at byte 1060"},
    };
    struct bytes bytes = golden_read("post-tiny.vk");
    struct reason reason;

    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        bytes.at[points[i].off + 47] ^= 1;
        ASSERT_INT(open_vk(&bytes, &reason), -EBADMSG);
        ASSERT_SAYS(reason, points[i].says);
        ASSERT_SAYS(reason, "not on the curve");
        bytes.at[points[i].off + 47] ^= 1;
        bytes.at[points[i].off] |= 0x80;
        ASSERT_INT(open_vk(&bytes, &reason), -EBADMSG);
        ASSERT_SAYS(reason, "flags");
        bytes.at[points[i].off] &= 0x7f;
    }
    bytes.at[867] = 0;
    ASSERT_INT(open_vk(&bytes, &reason), -EBADMSG);
    ASSERT_SAYS(reason, "IC count");
    bytes.at[867] = 2;
    ASSERT_INT(open_vk(&bytes, &reason), -EBADMSG);
    ASSERT_SAYS(reason, "2 IC points end at byte 1060");
    bytes.at[864] = 0xff;
    ASSERT_INT(open_vk(&bytes, &reason), -EBADMSG);
    ASSERT_SAYS(reason, "IC count");
    bytes_free(&bytes);
}

/* ---- .params ---- */

/* Head and all points. */
static int read_params(const uint8_t *at, size_t count, struct reason *reason)
{
    struct params params;
    int error = params_open_memory(at, count, &params, reason);

    if (error)
        return error;
    for (enum params_section i = 0; i < PARAMS_SECTION_COUNT && error == 0; i++)
        error = params_read_points(&params, i, true, pool, NULL, NULL, reason);
    params_destroy(&params);
    return error;
}

TEST(golden_params_are_read_whole)
{
    static const uint32_t counts[] = {2047, 1389, 1053, 1013, 1013};
    static const uint8_t expected[PARAMS_DIGEST_BYTES] = {0x59, 0x74, 0xcc, 0x15, 0x44, 0x32,
                                                          0xfa, 0xca, 0x80, 0x33, 0x3c, 0x41,
                                                          0xa8, 0x81, 0x36, 0xc7};
    int fd = fixture_open("filecoin/post-tiny.params"), vk = fixture_open("filecoin/post-tiny.vk");
    int other = fixture_open("filecoin/window-2KiB.vk");
    struct params_counts wanted = {.ic = 3};
    uint8_t digest[PARAMS_DIGEST_BYTES];
    struct params params;
    struct reason reason;

    set_up();
    ASSERT_INT(params_open(fd, &params, &reason), 0);
    ASSERT_INT(params.vk.ic_count, 3);
    for (enum params_section i = 0; i < PARAMS_SECTION_COUNT; i++) {
        ASSERT_INT(params.sections[i].count, counts[i]);
        wanted.points[i] = counts[i];
        ASSERT_INT(params_read_points(&params, i, true, pool, NULL, NULL, &reason), 0);
    }
    ASSERT_INT(params_counts_bytes(&wanted), 723864);
    ASSERT_INT(params_compare_counts(&params, &wanted, &reason), 0);
    wanted.points[PARAMS_L]++;
    ASSERT_INT(params_compare_counts(&params, &wanted, &reason), -EBADMSG);
    ASSERT_SAYS(reason, "1389 points of l");
    ASSERT_INT(params_compare_vk(&params, vk, &reason), 0);
    ASSERT_INT(params_compare_vk(&params, other, &reason), -EBADMSG);
    ASSERT_SAYS(reason, "do not belong together");
    ASSERT_INT(params_digest(&params, NULL, digest, &reason), 0);
    ASSERT(memcmp(digest, expected, sizeof digest) == 0);
    params_destroy(&params);
    close(fd), close(vk), close(other);
}

/* Sizes of the real files, which follow from the counts of their circuits. */
TEST(sizes_of_production_files_are_computed)
{
    static const struct {
        uint32_t inputs, aux, domain_log2, a, b;
        uint64_t bytes;
    } files[] = {
        {5, 80978488, 27, 80743586, 20983608, UINT64_C(34453501368)},      /* snap 32 GiB */
        {5, 84931220, 27, 84682730, 22012684, UINT64_C(35507495352)},      /* snap 64 GiB */
        {133, 375210, 19, 284329, 272185, UINT64_C(192050232)},            /* winning 32 GiB */
        {25840, 126902376, 27, 96205645, 91925767, UINT64_C(60780374232)}, /* window 32 GiB */
        {328, 130169893, 27, 129753620, 33112282, UINT64_C(47373928632)},  /* porep 32 GiB */
    };

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const struct params_counts counts = {.ic = files[i].inputs,
                                             .points = {(UINT32_C(1) << files[i].domain_log2) - 1,
                                                        files[i].aux, files[i].a, files[i].b,
                                                        files[i].b}};

        ASSERT_INT(params_counts_bytes(&counts), files[i].bytes);
    }
}

TEST(params_cut_at_any_boundary_are_refused)
{
    struct bytes bytes = golden_read("post-tiny.params");
    struct params params;
    struct reason reason;

    set_up();
    ASSERT_INT(params_open_memory(bytes.at, bytes.count, &params, &reason), 0);
    for (enum params_section i = 0; i < PARAMS_SECTION_COUNT; i++) {
        const size_t begin = params.sections[i].off;
        const size_t end = begin + (size_t)params.sections[i].count * (i == PARAMS_B_G2 ? 192 : 96);
        const size_t cuts[] = {begin - 4,  begin - 3,  begin - 1, begin,  begin + 1,
                               begin + 95, begin + 96, end - 96,  end - 1};

        for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++) {
            ASSERT_INT(read_params(bytes.at, cuts[c], &reason), -EBADMSG);
            ASSERT_SAYS(reason, "truncated");
        }
    }
    params_destroy(&params);
    for (size_t cut = 0; cut < 1156; cut += 51)
        ASSERT_INT(read_params(bytes.at, cut, &reason), -EBADMSG);
    bytes.at[bytes.count] = 0;
    ASSERT_INT(read_params(bytes.at, bytes.count + 1, &reason), -EBADMSG);
    ASSERT_SAYS(reason, "appended");
    bytes_free(&bytes);
}

TEST(params_with_wrong_counts_are_refused)
{
    struct bytes bytes = golden_read("post-tiny.params");
    struct params params;
    struct reason reason;

    set_up();
    ASSERT_INT(params_open_memory(bytes.at, bytes.count, &params, &reason), 0);
    for (enum params_section i = 0; i < PARAMS_SECTION_COUNT; i++) {
        uint8_t *count = bytes.at + params.sections[i].off - 4;

        for (int change = -1; change <= 1; change += 2) {
            count[3] += change;
            ASSERT_INT(read_params(bytes.at, bytes.count, &reason), -EBADMSG);
            count[3] -= change;
        }
        count[0] = 0xff;
        ASSERT_INT(read_params(bytes.at, bytes.count, &reason), -EBADMSG);
        ASSERT_SAYS(reason, params_section_to_string(i));
        count[0] = 0;
    }
    params_destroy(&params);
    ASSERT_INT(params_open_memory(bytes.at, bytes.count, &params, &reason), 0);
    params_destroy(&params);
    bytes_free(&bytes);
}

TEST(a_bad_point_of_params_is_named)
{
    static const uint32_t indices[PARAMS_SECTION_COUNT] = {2046, 0, 77, 1, 1012};
    struct bytes bytes = golden_read("post-tiny.params");
    struct params params;
    struct reason reason;
    uint8_t outside[96], kept[192];
    uint64_t point[12];
    char says[64];

    set_up();
    ASSERT_INT(params_open_memory(bytes.at, bytes.count, &params, &reason), 0);
    for (enum params_section i = 0; i < PARAMS_SECTION_COUNT; i++) {
        const size_t each = i == PARAMS_B_G2 ? 192 : 96;
        const size_t off = params.sections[i].off + indices[i] * each;

        snprintf(says, sizeof says, "%s[%u] at byte %zu", params_section_to_string(i), indices[i],
                 off);
        bytes.at[off + each - 1] ^= 1;
        ASSERT_INT(read_params(bytes.at, bytes.count, &reason), -EBADMSG);
        ASSERT_SAYS(reason, says);
        ASSERT_SAYS(reason, "not on the curve");
        bytes.at[off + each - 1] ^= 1;

        memcpy(kept, bytes.at + off, each);
        memset(bytes.at + off, 0, each);
        bytes.at[off] = 0x40;
        ASSERT_INT(read_params(bytes.at, bytes.count, &reason), -EBADMSG);
        ASSERT_SAYS(reason, says);
        ASSERT_SAYS(reason, "infinity");
        memcpy(bytes.at + off, kept, each);
    }

    /* On the curve but outside the subgroup: (0, 2). Told only when asked. */
    memset(outside, 0, sizeof outside);
    outside[95] = 2;
    ASSERT_INT(point_g1_read(outside, false, point), POINT_OK);
    memcpy(bytes.at + params.sections[PARAMS_A].off + 96, outside, 96);
    ASSERT_INT(params_read_points(&params, PARAMS_A, false, pool, NULL, NULL, &reason), 0);
    ASSERT_INT(params_read_points(&params, PARAMS_A, true, pool, NULL, NULL, &reason), -EBADMSG);
    ASSERT_SAYS(reason, "a[1]");
    ASSERT_SAYS(reason, "subgroup");
    params_destroy(&params);
    bytes_free(&bytes);
}

TEST(folders_and_pipes_are_refused)
{
    struct params params;
    struct reason reason;
    int ends[2], folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    ASSERT_INT(params_open(folder, &params, &reason), -EISDIR);
    ASSERT_INT(pipe(ends), 0);
    ASSERT_INT(params_open(ends[0], &params, &reason), -EINVAL);
    close(ends[0]), close(ends[1]), close(folder);
}

TEST_MAIN(CASE(points_come_back_as_they_went), CASE(the_generator_is_encoded_as_everywhere),
          CASE(infinity_has_one_encoding), CASE(other_encodings_are_refused),
          CASE(points_outside_the_subgroup_are_told_from_points_off_the_curve),
          CASE(a_golden_proof_is_read_written_and_verified),
          CASE(a_scalar_at_or_above_r_is_refused), CASE(every_truncation_of_a_vk_is_refused),
          CASE(a_vk_with_a_bad_point_or_count_is_refused_with_its_place),
          CASE(golden_params_are_read_whole), CASE(sizes_of_production_files_are_computed),
          CASE(params_cut_at_any_boundary_are_refused), CASE(params_with_wrong_counts_are_refused),
          CASE(a_bad_point_of_params_is_named), CASE(folders_and_pipes_are_refused))
