/* The options of make-key. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bench/synthetic.h"

struct make_key_options {
    const char *r1cs; /* or one of Filecoin's circuits: */
    const char *filecoin, *sector;
    unsigned sectors, challenges; /* 0: as the network has it */
    /* or a made circuit: */
    bool is_synthetic;
    struct synthetic synthetic;
    const char *write_r1cs, *zkey, *prepared, *vkey, *witness_folder; /* NULL: not wanted */
    const char *params, *vk;
    bool leaves_out_c;
    uint64_t seed, witness_count;
    unsigned threads;
};

/* 0, or an exit status + 1 after help or a message. */
int make_key_options_parse(int argc, char **argv, struct make_key_options *ret);
