/* cuzk-bench circuit-digest: what a Filecoin circuit is, in digests that others can compare. */
#pragma once

int circuit_digest_main(int argc, char **argv);
