/* What the log says about partitions and jobs when they end: the SUP_TIMING line of a partition
 * (queue wait, grant to start of each stage, total) on every path, and one line a job. */
#pragma once

struct supervisor;
struct slot;
struct job;

/* The slot is in a terminal state. */
void report_partition(const struct supervisor *supervisor, const struct slot *slot);
/* The job has just reached its terminal state. */
void report_job(const struct job *job);
