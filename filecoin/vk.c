/* Reads .vk files and the heads of .params. Below: container (pread), point; above: params. */
#include "filecoin/vk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/limits.h"
#include "filecoin/big_endian.h"
#include "filecoin/point.h"

static int refuse_point(const char *what, const char *name, uint64_t off, enum point_fault fault,
                        struct reason *reason)
{
    return reason_set(reason, -EBADMSG, "%s: %s at byte %" PRIu64 ": %s: the file is damaged", what,
                      name, off, point_fault_to_string(fault));
}

static int read_fixed(const uint8_t *bytes, const char *what, struct vk *vk, struct reason *reason)
{
    const struct {
        const char *name;
        void *point;
        bool is_g2;
    } points[] = {
        {"alpha_g1", vk->alpha_g1, false}, {"beta_g1", vk->beta_g1, false},
        {"beta_g2", vk->beta_g2, true},    {"gamma_g2", vk->gamma_g2, true},
        {"delta_g1", vk->delta_g1, false}, {"delta_g2", vk->delta_g2, true},
    };
    uint64_t off = 0;

    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        const enum point_fault fault = points[i].is_g2
                                           ? point_g2_read(bytes + off, true, points[i].point)
                                           : point_g1_read(bytes + off, true, points[i].point);

        if (fault)
            return refuse_point(what, points[i].name, off, fault, reason);
        off += points[i].is_g2 ? POINT_G2_BYTES : POINT_G1_BYTES;
    }
    return 0;
}

static int read_ic(const struct container *file, const char *what, struct vk *vk,
                   struct reason *reason)
{
    uint8_t *points = vk->ic;
    int error =
        container_read(file, VK_IC_OFF, points, (size_t)vk->ic_count * POINT_G1_BYTES, reason);

    for (uint32_t i = 0; i < vk->ic_count && error == 0; i++) {
        uint8_t bytes[POINT_G1_BYTES];
        enum point_fault fault;
        char name[32];

        memcpy(bytes, points + (size_t)i * POINT_G1_BYTES, sizeof bytes);
        fault = point_g1_read(bytes, true, points + (size_t)i * POINT_G1_BYTES);
        snprintf(name, sizeof name, "ic[%" PRIu32 "]", i);
        if (fault)
            error =
                refuse_point(what, name, VK_IC_OFF + (uint64_t)i * POINT_G1_BYTES, fault, reason);
    }
    return error;
}

int vk_read(const struct container *file, const char *what, struct vk *ret, struct reason *reason)
{
    uint8_t bytes[VK_IC_OFF];
    struct vk vk = {0};
    int error;

    if (file->file_bytes < VK_IC_OFF)
        return reason_set(reason, -EBADMSG,
                          "%s: truncated: %" PRIu64 " bytes, the verifying key alone has %d before "
                          "its IC points; copy or download it again",
                          what, file->file_bytes, VK_IC_OFF);
    error = container_read(file, 0, bytes, sizeof bytes, reason);
    if (error == 0)
        error = read_fixed(bytes, what, &vk, reason);
    if (error)
        return error;
    vk.ic_count = big_endian_u32(bytes + VK_IC_COUNT_OFF);
    if (vk.ic_count < 1 || vk.ic_count - 1 > PUBLIC_INPUTS_MAX)
        return reason_set(reason, -EBADMSG,
                          "%s: the IC count at byte %d is %" PRIu32 ", not between 1 and %d: the "
                          "file is damaged or is no Filecoin key",
                          what, VK_IC_COUNT_OFF, vk.ic_count, PUBLIC_INPUTS_MAX + 1);
    if (file->file_bytes < vk_bytes(vk.ic_count))
        return reason_set(reason, -EBADMSG,
                          "%s: truncated: %" PRIu64 " bytes, %" PRIu32
                          " IC points end at byte %" PRIu64 "; copy or download it again",
                          what, file->file_bytes, vk.ic_count, vk_bytes(vk.ic_count));
    vk.ic = malloc((size_t)vk.ic_count * POINT_G1_BYTES);
    if (!vk.ic)
        return reason_set(reason, -ENOMEM, "no memory for %" PRIu32 " IC points", vk.ic_count);
    error = read_ic(file, what, &vk, reason);
    if (error == 0)
        *ret = vk;
    else
        vk_destroy(&vk);
    return error;
}

int vk_open(int fd, struct vk *ret, struct reason *reason)
{
    struct container file;
    struct vk vk;
    int error = container_attach(fd, "vk", &file, reason);

    if (error == 0)
        error = vk_read(&file, "vk", &vk, reason);
    if (error)
        return error;
    if (file.file_bytes != vk_bytes(vk.ic_count)) {
        error = reason_set(reason, -EBADMSG,
                           "vk: %" PRIu64 " bytes, but %" PRIu32 " IC points end at byte %" PRIu64
                           ": something was appended, or this is a .params file",
                           file.file_bytes, vk.ic_count, vk_bytes(vk.ic_count));
        vk_destroy(&vk);
        return error;
    }
    *ret = vk;
    return 0;
}

void vk_destroy(struct vk *vk)
{
    free(vk->ic);
    memset(vk, 0, sizeof *vk);
}

struct verify_key vk_verify_key(const struct vk *vk)
{
    return (struct verify_key){
        .alpha_g1 = vk->alpha_g1,
        .beta_g2 = vk->beta_g2,
        .gamma_g2 = vk->gamma_g2,
        .delta_g2 = vk->delta_g2,
        .ic = vk->ic,
        .ic_count = vk->ic_count,
    };
}
