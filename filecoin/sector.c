/* The table of sector sizes. */
#include "filecoin/sector.h"

const struct sector sectors[] = {{"1KiB", 5, 4, 0},   {"2KiB", 6, 0, 0},   {"4KiB", 7, 2, 0},
                                 {"8KiB", 8, 4, 0},   {"16KiB", 9, 8, 0},  {"32KiB", 10, 8, 2},
                                 {"8MiB", 18, 0, 0},  {"16MiB", 19, 2, 0}, {"512MiB", 24, 0, 0},
                                 {"32GiB", 30, 8, 0}, {"64GiB", 31, 8, 2}, {NULL, 0, 0, 0}};

const struct sector *sector_find(const char *name)
{
    for (const struct sector *sector = sectors; sector->name; sector++)
        if (strcmp(sector->name, name) == 0)
            return sector;
    return NULL;
}

struct merkle_shape sector_tree_r(const struct sector *sector)
{
    return merkle_shape_octal(sector->node_bits, sector->sub, sector->top);
}

struct merkle_shape sector_tree_d(const struct sector *sector)
{
    return merkle_shape_binary(sector->node_bits);
}
