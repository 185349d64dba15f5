/* Who multiplies on the GPU (bench/key_points.h). A CUDA error ends the program with a message. */
#pragma once

#include "bench/key_points.h"

extern const struct key_points_maker key_points_gpu;
