/* cuzk-synth --prepare: descriptor 3 a .zkey, 6 its .r1cs (with --r1cs), 4 an empty file for the
 * prepared key, 5 the result (helper.h). A prepared key as descriptor 3 is taken over. Everything
 * in the key is checked; a hostile key ends this process and nothing else. Exit status 0 or 1. */
#pragma once

int prepare_main(int argc, char **argv);
