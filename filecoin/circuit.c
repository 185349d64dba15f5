/* One switch a function over the kinds. */
#include "filecoin/circuit.h"

#include <errno.h>

#include "runtime/check.h"

static const char *const names[CIRCUIT_KIND_COUNT] = {"snap", "winning", "window", "porep"};

const char *circuit_kind_to_string(enum circuit_kind kind)
{
    return kind < CIRCUIT_KIND_COUNT ? names[kind] : NULL;
}

int circuit_find(const char *kind, const char *sector, struct circuit *ret, struct reason *reason)
{
    struct circuit circuit = {.sector = sector_find(sector)};

    while (circuit.kind < CIRCUIT_KIND_COUNT && strcmp(names[circuit.kind], kind) != 0)
        circuit.kind++;
    if (circuit.kind == CIRCUIT_KIND_COUNT)
        return reason_set(reason, -EINVAL,
                          "no circuit \"%s\": snap, winning, window and porep are known", kind);
    if (!circuit.sector)
        return reason_set(reason, -EINVAL,
                          "no sector size \"%s\": sizes are written like 2KiB, 8MiB and 32GiB",
                          sector);
    if (circuit.kind == CIRCUIT_SNAP)
        circuit.snap = snap_shape_of(circuit.sector);
    else if (circuit.kind == CIRCUIT_WINNING)
        circuit.post = post_shape_winning(circuit.sector);
    else if (circuit.kind == CIRCUIT_WINDOW)
        circuit.post = post_shape_window(circuit.sector);
    else
        circuit.porep = porep_shape_of(circuit.sector);
    *ret = circuit;
    return 0;
}

int circuit_measure(const struct circuit *circuit, struct circuit_size *ret)
{
    struct cs cs;
    int error;

    cs_init_blank(&cs, NULL, NULL);
    error = circuit_synthesize(&cs, circuit, NULL, NULL);
    if (error == 0)
        *ret = (struct circuit_size){cs.row_count, cs.input_count, cs.aux_count};
    cs_destroy(&cs);
    return error;
}

/* Of circuits that make inputs from the vanilla proof; the others take them from the request. */
static void compare_inputs(struct cs *cs, const fr *public)
{
    for (uint32_t i = 1; public && i < cs->input_count && cs->error == 0; i++)
        if (!bls12_381_fr_is_equal(&cs->inputs[i], &public[i - 1]))
            cs_refuse(cs, "public input %u is not the request's", i);
}

int circuit_synthesize(struct cs *cs, const struct circuit *circuit,
                       const struct circuit_vanilla *vanilla, const fr *public)
{
    CHECK(!vanilla || vanilla->kind == circuit->kind);
    switch (circuit->kind) {
    case CIRCUIT_SNAP:
        snap_synthesize(cs, &circuit->snap, vanilla ? &vanilla->snap : NULL, public);
        break;
    case CIRCUIT_POREP:
        porep_synthesize(cs, &circuit->porep, vanilla ? &vanilla->porep : NULL, public);
        compare_inputs(cs, vanilla ? public : NULL);
        break;
    default:
        post_synthesize(cs, &circuit->post, vanilla ? &vanilla->post : NULL, public);
    }
    return cs->error == 0 ? cs_finish(cs) : cs->error;
}

uint32_t circuit_public_count(const struct circuit *circuit)
{
    switch (circuit->kind) {
    case CIRCUIT_SNAP:
        return SNAP_PUBLIC_COUNT;
    case CIRCUIT_POREP:
        return porep_public_count(&circuit->porep);
    default:
        return post_public_count(&circuit->post);
    }
}

int circuit_vanilla_read(struct circuit_vanilla *ret, const struct circuit *circuit,
                         const uint8_t *data, size_t size, struct reason *reason)
{
    struct circuit_vanilla vanilla = {.kind = circuit->kind};
    int error;

    switch (circuit->kind) {
    case CIRCUIT_SNAP:
        error = snap_vanilla_read(&vanilla.snap, &circuit->snap, data, size, reason);
        break;
    case CIRCUIT_POREP:
        error = porep_vanilla_read(&vanilla.porep, &circuit->porep, data, size, reason);
        break;
    default:
        error = post_vanilla_read(&vanilla.post, &circuit->post, data, size, reason);
    }
    if (error == 0)
        *ret = vanilla;
    return error;
}

void circuit_vanilla_destroy(struct circuit_vanilla *vanilla)
{
    switch (vanilla->kind) {
    case CIRCUIT_SNAP:
        snap_vanilla_destroy(&vanilla->snap);
        break;
    case CIRCUIT_POREP:
        porep_vanilla_destroy(&vanilla->porep);
        break;
    default:
        post_vanilla_destroy(&vanilla->post);
    }
}
