/* make-key as a program, with points by whoever the caller links. */
#pragma once

#include "bench/key_points.h"

/* argv[0] is the subcommand's name. The exit status: 0 done, 1 failed, 2 usage. */
int make_key_main(int argc, char **argv, const struct key_points_maker *maker);
