/* Whether the processor has what ifma.inc.h and the files named *_ifma.c are compiled for. */
#pragma once

#include <stdbool.h>

/* AVX-512 F, DQ, BW, VL, IFMA and VBMI2, BMI2 and ADX, usable under this kernel, and not switched
 * off: CUZK_CPU=generic in the environment forces portable code. Any thread. */
bool ifma_is_available(void);
