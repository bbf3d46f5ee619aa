/* SPDX-License-Identifier: Apache-2.0 */
/* Notes the call by which a library ends the process, in a page that outlives it. */
#ifndef ENDS_H
#define ENDS_H

#include <stdint.h>

#define ENDS_EXIT 255 /* by exit(), which Go never calls */

/*
 * From now on the number of a signal that ends the process (SIGABRT, SIGSEGV, SIGBUS, SIGFPE,
 * SIGILL), or ENDS_EXIT, is written to where, which stays. The handlers before are called after
 * that. Returns 0, or -1.
 */
int ends_note(int32_t *where);

#endif
