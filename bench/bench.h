/* Subcommands of cuzk-bench. Each is one file of this folder and is called by bench/main.c with
 * argv[0] being the subcommand's name. They return the program's exit status: 0 done, 1 failed,
 * 2 usage. */
#pragma once

int bench_math(int argc, char **argv);     /* bench_math.c: NTT and MSM by size, both curves */
int bench_ring(int argc, char **argv);
int bench_spool(int argc, char **argv);     /* bench_ring.c: ring operations, hand-off, slab fill */
int bench_pipeline(int argc, char **argv); /* pipeline_exec.c: a whole daemon under load */
