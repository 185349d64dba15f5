/* cuzk-synth --load --digest HEX: descriptor 3 a prepared key, 4 the shared memory for it (sized by
 * the supervisor), 5 the result (helper.h). Reads, checks the digest and the structure. Exit status
 * 0 or 1. */
#pragma once

int load_main(int argc, char **argv);
