/* Code compiled once per instruction set. Files with field arithmetic in their loops stand in
 * groth16_arch_sources (groth16/meson.build) and are compiled twice: for baseline x86-64 with
 * -DARCH=portable, and with -mbmi2 -madx -DARCH=adx, where field products use MULX, ADCX and ADOX.
 * Their external symbols are written ARCH_NAME(bn254_verify) and become bn254_verify_portable and
 * bn254_verify_adx. curve.c chooses between the two on every call of an entry of `struct curve`. */

#pragma once

#include <stdbool.h>

#define ARCH_JOIN2(name, arch) name##_##arch
#define ARCH_JOIN(name, arch)  ARCH_JOIN2(name, arch)
#define ARCH_NAME(name)        ARCH_JOIN(name, ARCH)

/* CUZK_CPU in the environment, for tests and measurements: "portable" takes the baseline code, "adx"
 * at most the code for BMI2 and ADX, not the AVX-512 code of groth16/field/ifma.h. */
bool arch_is_forced(const char *level);
/* The processor has BMI2 and ADX, and they are not switched off. Any thread. */
bool arch_has_adx(void);
