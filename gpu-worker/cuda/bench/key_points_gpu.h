/* Who multiplies on the GPU (bench/key_points.h). */
#pragma once

#include "bench/key_points.h"

extern const struct key_points_maker key_points_gpu;
