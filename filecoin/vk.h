/* A verifying key as Filecoin's .vk files have it, which is also how every .params begins:
 *   alpha_g1 | beta_g1 | beta_g2 | gamma_g2 | delta_g1 | delta_g2 | u32 ic count | ic
 * big-endian, points uncompressed (point.h); no magic, no version. Read while a key is prepared. */
#pragma once

#include <stdint.h>

#include "groth16/key/container.h"
#include "groth16/key/reason.h"
#include "groth16/verify/verify.h"

enum {
    VK_IC_COUNT_OFF = 864, /* three points of G1, three of G2 */
    VK_IC_OFF = VK_IC_COUNT_OFF + 4,
};

/* Points in the encoding of curve.h; each checked: in the subgroup, not at infinity. */
struct vk {
    uint64_t alpha_g1[12], beta_g1[12], delta_g1[12];
    uint64_t beta_g2[24], gamma_g2[24], delta_g2[24];
    uint32_t ic_count; /* public inputs and the constant 1 */
    void *ic;          /* ic_count G1; owned */
};

/* Bytes of a .vk with so many IC points. */
static inline uint64_t vk_bytes(uint32_t ic_count)
{
    return VK_IC_OFF + (uint64_t)ic_count * 96;
}

/* A whole .vk: a regular file of exactly the bytes that its count wants. Blocking. -EBADMSG with
 * the place; others as container_attach and container_read. vk_destroy only after success. */
int vk_open(int fd, struct vk *ret, struct reason *reason);
/* The vk that `file` begins with, more may follow; `what` names the file's format in messages. */
int vk_read(const struct container *file, const char *what, struct vk *ret, struct reason *reason);
/* Accepts a zeroed object. */
void vk_destroy(struct vk *vk);

/* As the verifier wants it; borrows from vk. */
struct verify_key vk_verify_key(const struct vk *vk);
