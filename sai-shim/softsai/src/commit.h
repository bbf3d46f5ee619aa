// SPDX-License-Identifier: Apache-2.0
/*
 * The commit that ends each call which changes objects: it publishes the changes of the
 * handlers and the joint results of several objects. Views of ACL tables come first, then
 * the hash, then the ports that refer to both, then the queues.
 */
#ifndef SOFTSAI_COMMIT_H
#define SOFTSAI_COMMIT_H

#include "sai_abi.h"

/* Publishes the changes; after a failure the rest is published all the same. */
sai_status_t commit(void);

/* Publishes hash, ports and queues whether they changed or not: at the start of the switch. */
sai_status_t commit_all(void);

#endif
