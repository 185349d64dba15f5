/* A .params file (filecoin/params.h) with known toxic waste. For make_params and tests: whoever
 * knows the secrets can forge proofs under the key. */
#pragma once

#include <stdio.h>

#include "bench/key.h"
#include "bench/setup.h"
#include "groth16/key/reason.h"

/* The secrets of the published test keys: SHA-256("oracle-toxic-" + name) below 2^254. `name` is
 * alpha, beta, gamma, delta, tau, or, of the proofs made with them, r and s. */
struct scalar params_secret(const char *name);
struct setup_secrets params_secrets(void);

/* Writes everything at the end of `out`; the key's setup is of SETUP_BELLMAN. */
int params_write(const struct key *key, FILE *out, struct reason *reason);
/* What a .params begins with, which is its .vk. */
int params_write_vk(const struct key *key, FILE *out, struct reason *reason);
