/* Landlock, from inside the sandbox: see runtime/sandbox.h. */
#pragma once

/* The kernel's Landlock ABI (1 and later), or negative errno: -ENOSYS not built in, -EOPNOTSUPP
 * switched off at boot, -EPERM filtered. */
int sandbox_files_abi(void);
