// SPDX-License-Identifier: Apache-2.0
/* Objects of an earlier process, out of their records. */
#ifndef SOFTSAI_RESTORE_H
#define SOFTSAI_RESTORE_H

#include "sai_abi.h"

/* Makes the objects of the records again, and gives the built-in ones their attributes. */
sai_status_t restore_objects(void);

#endif
