/* The way from cuzk-bench to cuzk-bench-gpu, which alone links CUDA. */
#pragma once

/* Becomes `cuzk-bench-gpu ARGUMENT...` (argv ends with NULL; argv[0] is replaced). Returns only
 * when that program is not there, after a message: an exit status. */
int gpu_exec(char **argv);
