/* Whether the processor has what ifma.inc.h and the files named *_ifma.c are compiled for. */
#pragma once

#include <stdbool.h>

/* AVX-512 F, DQ, BW, VL, IFMA and VBMI2, BMI2 and ADX, usable under this kernel, and not switched
 * off (groth16/curve/arch.h). Any thread. */
bool ifma_is_available(void);
