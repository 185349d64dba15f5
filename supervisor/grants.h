/* Carries out what the policy decides: builds the view, asks dispatch_next() and makes the grant,
 * descriptors first, until nothing is left to do. */
#pragma once

struct supervisor;

void grants_run(struct supervisor *supervisor);
