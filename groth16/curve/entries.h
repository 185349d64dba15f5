/* The entries of `struct curve` for both curves and both instruction sets: bn254_verify_portable
 * and so on. Defined in curve/, ntt/, msm/ and verify/ (see arch.h), called only through curve.c.
 */

#pragma once

#include "groth16/curve/curve.h"

#define ENTRY(name) bn254_##name##_portable
#include "groth16/curve/entries.inc.h"
#define ENTRY(name) bn254_##name##_adx
#include "groth16/curve/entries.inc.h"
#define ENTRY(name) bls12_381_##name##_portable
#include "groth16/curve/entries.inc.h"
#define ENTRY(name) bls12_381_##name##_adx
#include "groth16/curve/entries.inc.h"
