/* Subcommands of cuzk-bench-pipeline, what `cuzk-bench pipeline` measures with. Each is one file of
 * this folder; argv[0] is the subcommand's name. They return the program's exit status: 0 done, 1
 * failed, 2 usage. */
#pragma once

int parts_backend(int argc, char **argv);  /* backend.c: proofs through a backend, no daemon */
int parts_baseline(int argc, char **argv); /* baseline.c: the design with one process */
int parts_copy(int argc, char **argv);     /* copy.c: bare copies to the device */
int parts_trace(int argc, char **argv);    /* trace.c: the trace rings of a running daemon */
