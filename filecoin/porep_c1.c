/* Members of the JSON, from the outside in. The object around the output holds it in base64, which
 * is decoded as the inner reader asks for more. */
#include "filecoin/porep_c1.h"

#include <errno.h>
#include <stdio.h>

/* Where the reading is: what the members' readers share. */
struct reading {
    struct porep_c1 *c1;
    const struct sector *sector;
    struct porep_shape shape;
    struct reason *reason;
    char variant[32]; /* "StackedDrg32GiBV1" */
    /* Of the proof that is being read. */
    struct porep_vanilla *vanilla;
    struct porep_challenge *challenge;
    char where[64]; /* "partition 3, challenge 17" */
    fr *labels, *siblings;
    struct porep_column *column;
    const struct merkle_shape *tree;
    struct merkle_proof *proof;
    fr *proof_siblings;
    unsigned part; /* of a path: base, sub, top */
    unsigned layer;
};

unsigned porep_c1_partition_count(const struct sector *sector)
{
    return sector->node_bits >= 30 ? 10 : 1;
}

static void place(struct json_pull *in, struct reading *r, const char *what)
{
    json_pull_place(in, "%s, %s", r->where, what);
}

/* Merkle proofs. */

struct element {
    struct reading *reading;
    unsigned level, shift, arity;
};

static void read_hashes(struct json_pull *in, void *object)
{
    struct element *element = object;
    fr *to = element->reading->proof_siblings;

    for (unsigned i = 0; i < element->level; i++)
        to += element->reading->tree->arity[i] - 1;
    for (unsigned i = 0; i + 1 < element->arity && in->error == 0; i++) {
        json_pull_element(in, i);
        json_pull_fr(in, "a sibling", &to[i]);
    }
    json_pull_array_end(in, element->arity - 1);
}

static void read_index(struct json_pull *in, void *object)
{
    struct element *element = object;

    element->reading->proof->index |= json_pull_number(in, element->arity - 1) << element->shift;
}

static void read_path_elements(struct json_pull *in, void *object)
{
    static const struct json_member members[] = {{"hashes", read_hashes}, {"index", read_index}};
    struct reading *r = object;
    const struct merkle_shape *tree = r->tree;
    const unsigned first = r->part == 0 ? 0 : tree->base_count + r->part - 1u;
    const unsigned count = r->part == 0 ? tree->base_count : 1;
    struct element element = {.reading = r};

    for (unsigned level = 0; level < first; level++)
        element.shift += merkle_arity_bits(tree->arity[level]);
    for (unsigned i = 0; i < count && in->error == 0; i++) {
        element.level = first + i;
        element.arity = tree->arity[element.level];
        json_pull_element(in, i);
        json_pull_object(in, members, 2, &element);
        element.shift += merkle_arity_bits(element.arity);
    }
    json_pull_array_end(in, count);
}

static void read_path(struct json_pull *in, struct reading *r, unsigned part)
{
    static const struct json_member members[] = {{"path", read_path_elements}};

    r->part = part;
    json_pull_object(in, members, 1, r);
}

static void read_base(struct json_pull *in, void *object)
{
    read_path(in, object, 0);
}

static void read_sub(struct json_pull *in, void *object)
{
    read_path(in, object, 1);
}

static void read_top(struct json_pull *in, void *object)
{
    read_path(in, object, 2);
}

static void read_root(struct json_pull *in, void *object)
{
    json_pull_fr(in, "the root", &((struct reading *)object)->proof->root);
}

static void read_leaf(struct json_pull *in, void *object)
{
    json_pull_fr(in, "the leaf", &((struct reading *)object)->proof->leaf);
}

static void read_single_data(struct json_pull *in, void *object)
{
    static const struct json_member members[] = {
        {"root", read_root}, {"leaf", read_leaf}, {"path", read_base}};

    json_pull_object(in, members, 3, object);
}

static void read_sub_data(struct json_pull *in, void *object)
{
    static const struct json_member members[] = {{"base_proof", read_base},
                                                 {"sub_proof", read_sub},
                                                 {"root", read_root},
                                                 {"leaf", read_leaf}};

    json_pull_object(in, members, 4, object);
}

static void read_top_data(struct json_pull *in, void *object)
{
    static const struct json_member members[] = {{"base_proof", read_base},
                                                 {"sub_proof", read_sub},
                                                 {"top_proof", read_top},
                                                 {"root", read_root},
                                                 {"leaf", read_leaf}};

    json_pull_object(in, members, 5, object);
}

static void read_data(struct json_pull *in, void *object)
{
    static const struct json_member kinds[] = {
        {"Single", read_single_data}, {"Sub", read_sub_data}, {"Top", read_top_data}};
    struct reading *r = object;

    json_pull_object(in, &kinds[r->tree->part_count - 1], 1, r);
}

static void read_merkle_proof(struct json_pull *in, struct reading *r,
                              const struct merkle_shape *tree, struct merkle_proof *proof)
{
    static const struct json_member members[] = {{"data", read_data}};

    r->tree = tree;
    r->proof = proof;
    r->proof_siblings = r->siblings;
    *proof = (struct merkle_proof){.siblings = r->siblings};
    for (unsigned level = 0; level < tree->level_count; level++)
        r->siblings += tree->arity[level] - 1;
    json_pull_object(in, members, 1, r);
}

/* Columns. */

static void read_column_index(struct json_pull *in, void *object)
{
    ((struct reading *)object)->column->index = (uint32_t)json_pull_number(in, UINT32_MAX);
}

static void read_column_rows(struct json_pull *in, void *object)
{
    struct reading *r = object;

    for (unsigned i = 0; i < r->shape.layer_count && in->error == 0; i++) {
        json_pull_element(in, i);
        json_pull_fr(in, "a label", &r->labels[i]);
    }
    r->column->labels = r->labels;
    r->labels += r->shape.layer_count;
    json_pull_array_end(in, r->shape.layer_count);
}

static void read_null(struct json_pull *in, void *object)
{
    (void)object;
    json_pull_null(in);
}

static void read_column_data(struct json_pull *in, void *object)
{
    static const struct json_member members[] = {
        {"index", read_column_index}, {"rows", read_column_rows}, {"_h", read_null}};

    json_pull_object(in, members, 3, object);
}

static void read_column_proof(struct json_pull *in, void *object)
{
    struct reading *r = object;

    read_merkle_proof(in, r, &r->shape.tree, &r->column->proof);
}

static void read_column(struct json_pull *in, struct reading *r, struct porep_column *column)
{
    static const struct json_member members[] = {{"column", read_column_data},
                                                 {"inclusion_proof", read_column_proof}};

    r->column = column;
    json_pull_object(in, members, 2, r);
}

static void read_own_column(struct json_pull *in, void *object)
{
    struct reading *r = object;

    place(in, r, "own column");
    read_column(in, r, &r->challenge->own);
}

static void read_parents(struct json_pull *in, struct reading *r, unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count && in->error == 0; i++) {
        json_pull_place(in, "%s, parent %u", r->where, first + i);
        json_pull_element(in, i);
        read_column(in, r, &r->challenge->parents[first + i]);
    }
    json_pull_array_end(in, count);
}

static void read_drg_parents(struct json_pull *in, void *object)
{
    read_parents(in, object, 0, POREP_DRG_PARENTS);
}

static void read_expander_parents(struct json_pull *in, void *object)
{
    read_parents(in, object, POREP_DRG_PARENTS, POREP_EXPANDER_PARENTS);
}

static void read_columns(struct json_pull *in, void *object)
{
    static const struct json_member members[] = {{"c_x", read_own_column},
                                                 {"drg_parents", read_drg_parents},
                                                 {"exp_parents", read_expander_parents}};

    json_pull_object(in, members, 3, object);
}

/* Labels: the parents stand in their columns already. */

static void read_label_parents(struct json_pull *in, void *object)
{
    fr parent;

    (void)object;
    for (unsigned i = 0; i < POREP_LABEL_PARENTS && in->error == 0; i++) {
        json_pull_element(in, i);
        json_pull_fr(in, "a parent's label", &parent);
    }
    json_pull_array_end(in, POREP_LABEL_PARENTS);
}

static void read_label_layer(struct json_pull *in, void *object)
{
    struct reading *r = object;
    const uint64_t layer = json_pull_number(in, UINT32_MAX);

    if (in->error == 0 && layer != r->layer)
        json_pull_refuse(in, "layer %u where %u belongs", (unsigned)layer, r->layer);
}

static void read_label_node(struct json_pull *in, void *object)
{
    struct reading *r = object;
    const uint64_t node = json_pull_number(in, UINT64_MAX - 1);

    if (in->error == 0 && r->challenge->node != UINT64_MAX && node != r->challenge->node)
        json_pull_refuse(in, "node %llu where %llu belongs", (unsigned long long)node,
                         (unsigned long long)r->challenge->node);
    r->challenge->node = node;
}

static void read_label(struct json_pull *in, struct reading *r, unsigned layer)
{
    static const struct json_member members[] = {{"parents", read_label_parents},
                                                 {"layer_index", read_label_layer},
                                                 {"node", read_label_node}};

    r->layer = layer;
    json_pull_object(in, members, 3, r);
}

static void read_labels(struct json_pull *in, void *object)
{
    struct reading *r = object;

    place(in, r, "labels");
    for (unsigned i = 0; i < r->shape.layer_count && in->error == 0; i++) {
        json_pull_element(in, i);
        read_label(in, r, i + 1);
    }
    json_pull_array_end(in, r->shape.layer_count);
}

static void read_encoding(struct json_pull *in, void *object)
{
    struct reading *r = object;

    place(in, r, "encoding");
    read_label(in, r, r->shape.layer_count);
}

static void read_comm_d_proof(struct json_pull *in, void *object)
{
    struct reading *r = object;

    place(in, r, "TreeD");
    read_merkle_proof(in, r, &r->shape.tree_d, &r->challenge->d);
}

static void read_r_last_proof(struct json_pull *in, void *object)
{
    struct reading *r = object;

    place(in, r, "TreeRLast");
    read_merkle_proof(in, r, &r->shape.tree, &r->challenge->r_last);
}

/* Partitions. */

static void read_challenge(struct json_pull *in, struct reading *r)
{
    static const struct json_member members[] = {{"comm_d_proofs", read_comm_d_proof},
                                                 {"comm_r_last_proof", read_r_last_proof},
                                                 {"replica_column_proofs", read_columns},
                                                 {"labeling_proofs", read_labels},
                                                 {"encoding_proof", read_encoding}};

    r->challenge->node = UINT64_MAX;
    json_pull_object(in, members, 5, r);
}

static void read_partition(struct json_pull *in, struct reading *r, unsigned partition)
{
    r->labels = r->vanilla->labels;
    r->siblings = r->vanilla->siblings;
    for (unsigned i = 0; i < r->shape.challenge_count && in->error == 0; i++) {
        snprintf(r->where, sizeof r->where, "partition %u, challenge %u", partition, i);
        json_pull_place(in, "%s", r->where);
        r->challenge = &r->vanilla->challenges[i];
        json_pull_element(in, i);
        read_challenge(in, r);
    }
    json_pull_array_end(in, r->shape.challenge_count);
}

static void read_proofs(struct json_pull *in, void *object)
{
    struct reading *r = object;
    const unsigned count = porep_c1_partition_count(r->sector);

    for (unsigned i = 0; i < count && in->error == 0; i++) {
        const int error = porep_vanilla_alloc(&r->c1->partitions[i], &r->shape);

        if (error != 0) {
            in->error = error;
            return;
        }
        r->vanilla = &r->c1->partitions[r->c1->partition_count++];
        json_pull_place(in, "partition %u", i);
        json_pull_element(in, i);
        read_partition(in, r, i);
    }
    json_pull_array_end(in, count);
    json_pull_place(in, "%s", "");
}

static void read_vanilla(struct json_pull *in, void *object)
{
    struct reading *r = object;
    const struct json_member members[] = {{r->variant, read_proofs}};

    json_pull_object(in, members, 1, r);
}

/* The output of phase 1. */

static void read_registered_proof(struct json_pull *in, void *object)
{
    static const char *const versions[] = {"", "_1", "_1_Feat_SyntheticPoRep"};
    struct reading *r = object;
    char *name = r->c1->registered_proof;
    const size_t length = strlen(r->variant);
    unsigned version = 0;

    json_pull_string(in, name, POREP_C1_PROOF_NAME_MAX);
    if (in->error != 0)
        return;
    while (version < 3 && (strncmp(name, r->variant, length) != 0 ||
                           strcmp(name + length, versions[version]) != 0))
        version++;
    if (version == 3)
        json_pull_refuse(in,
                         "a proof \"%s\" in a job for %s: another sector size, or a kind that is "
                         "not supported",
                         name, r->variant);
}

static void read_comm_r(struct json_pull *in, void *object)
{
    json_pull_fr(in, "comm_r", &((struct reading *)object)->c1->comm_r);
}

static void read_comm_d(struct json_pull *in, void *object)
{
    json_pull_fr(in, "comm_d", &((struct reading *)object)->c1->comm_d);
}

static void read_replica_id(struct json_pull *in, void *object)
{
    json_pull_fr(in, "replica_id", &((struct reading *)object)->c1->replica_id);
}

static void read_seed(struct json_pull *in, void *object)
{
    json_pull_bytes(in, ((struct reading *)object)->c1->seed);
}

static void read_ticket(struct json_pull *in, void *object)
{
    json_pull_bytes(in, ((struct reading *)object)->c1->ticket);
}

/* The object around it. */

static int base64_value(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '/')
        return c == '+' ? 62 : 63;
    return -1;
}

/* Decodes more of a string's base64; `out` is the reader of the object that holds the string. */
struct base64 {
    struct json_pull *out;
    bool is_ended;
    uint8_t bytes[3 * 4096];
};

/* Groups of four; the last one may end in one or two "=". The closing quote ends it. */
static int base64_fill(void *context, const uint8_t **ret_data, size_t *ret_size)
{
    struct base64 *base64 = context;
    struct json_pull *out = base64->out;
    size_t size = 0;

    while (!base64->is_ended && size + 3 <= sizeof base64->bytes) {
        uint32_t group = 0;
        unsigned padding = 0;
        uint8_t c = json_pull_next(out);

        if (c == '"') {
            base64->is_ended = true;
            break;
        }
        for (unsigned i = 0; i < 4; i++, c = i < 4 ? json_pull_next(out) : 0) {
            const int value = base64_value(c);

            if (c == '=' && i >= 2)
                padding++;
            else if (value < 0 || padding > 0)
                json_pull_refuse(out, "Phase1Out is no base64");
            group = group << 6 | (value < 0 ? 0 : (uint32_t)value);
        }
        if (out->error != 0)
            return out->error;
        for (unsigned i = 0; i + padding < 3; i++)
            base64->bytes[size++] = (uint8_t)(group >> (16 - 8 * i));
        if (padding > 0) {
            json_pull_take(out, '"');
            base64->is_ended = true;
            break;
        }
    }
    *ret_data = base64->bytes;
    *ret_size = size;
    return out->error;
}

static const struct json_member output_members[] = {{"registered_proof", read_registered_proof},
                                                    {"vanilla_proofs", read_vanilla},
                                                    {"comm_r", read_comm_r},
                                                    {"comm_d", read_comm_d},
                                                    {"replica_id", read_replica_id},
                                                    {"seed", read_seed},
                                                    {"ticket", read_ticket}};

enum { OUTPUT_MEMBER_COUNT = sizeof output_members / sizeof output_members[0] };

static void read_phase1_out(struct json_pull *in, void *object)
{
    struct reading *r = object;
    struct base64 base64 = {.out = in};
    struct json_pull inner;

    json_pull_take(in, '"');
    json_pull_init(&inner, base64_fill, &base64, r->reason);
    json_pull_object(&inner, output_members, OUTPUT_MEMBER_COUNT, r);
    json_pull_finish(&inner);
    if (in->error == 0)
        in->error = inner.error;
}

static void read_sector_number(struct json_pull *in, void *object)
{
    struct reading *r = object;

    r->c1->sector_number = json_pull_number(in, UINT64_MAX);
    r->c1->has_sector_number = true;
}

static void read_sector_size(struct json_pull *in, void *object)
{
    const struct reading *r = object;
    const uint64_t wanted = UINT64_C(32) << r->sector->node_bits;
    const uint64_t size = json_pull_number(in, UINT64_MAX);

    if (in->error == 0 && size != wanted)
        json_pull_refuse(in, "SectorSize is %llu, the job's sectors have %llu bytes",
                         (unsigned long long)size, (unsigned long long)wanted);
}

/* All members of either form; those of the other one are missed at the end. */
static void read_either(struct json_pull *in, struct reading *r)
{
    static const struct json_member outer[] = {{"SectorNum", read_sector_number},
                                               {"Phase1Out", read_phase1_out},
                                               {"SectorSize", read_sector_size}};
    /* Its members begin with a capital letter. Both forms fit the first piece of a file. */
    const uint8_t *at;

    json_pull_peek(in);
    for (at = in->at; at < in->end && *at != '"'; at++)
        ;
    if (in->end - at > 1 && at[1] >= 'A' && at[1] <= 'Z')
        json_pull_object(in, outer, 3, r);
    else
        json_pull_object(in, output_members, OUTPUT_MEMBER_COUNT, r);
}

int porep_c1_read(struct porep_c1 *ret, const struct sector *sector, json_fill *fill, void *context,
                  struct reason *reason)
{
    struct porep_c1 c1 = {.partition_count = 0};
    struct reading reading = {
        .c1 = &c1, .sector = sector, .shape = porep_shape_of(sector), .reason = reason};
    struct json_pull in;

    snprintf(reading.variant, sizeof reading.variant, "StackedDrg%sV1", sector->name);
    json_pull_init(&in, fill, context, reason);
    read_either(&in, &reading);
    if (json_pull_finish(&in) != 0) {
        porep_c1_destroy(&c1);
        return in.error;
    }
    *ret = c1;
    return 0;
}

void porep_c1_destroy(struct porep_c1 *c1)
{
    for (unsigned i = 0; i < c1->partition_count; i++)
        porep_vanilla_destroy(&c1->partitions[i]);
    *c1 = (struct porep_c1){.partition_count = 0};
}
