/* SPDX-License-Identifier: Apache-2.0 */
/* Notes the call by which a library ends the process, in a page that outlives it. */
#ifndef ENDS_H
#define ENDS_H

#include <stddef.h>
#include <stdint.h>

#define ENDS_EXIT 255 /* by exit(), which Go never calls */

/*
 * From now on the number of a signal that ends the process (SIGABRT, SIGSEGV, SIGBUS, SIGFPE,
 * SIGILL), or ENDS_EXIT, is written to where, which stays. The handlers before are called after
 * that. Returns 0, or -1.
 *
 * where begins a mapping of so many octets. If its file is cut, or its disk fails, the mapping
 * becomes memory of the process, of zeros, in place of a SIGBUS; ends_lost() is 1 then.
 */
int ends_note(int32_t *where, size_t octets);
int ends_lost(void);

#endif
