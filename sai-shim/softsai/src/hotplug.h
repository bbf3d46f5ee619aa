// SPDX-License-Identifier: Apache-2.0
/* Ports that come and go while the switch is open. */
#ifndef SOFTSAI_HOTPLUG_H
#define SOFTSAI_HOTPLUG_H

#include "sai_abi.h"

/*
 * Makes the ports those of a list, as port_find has it; the next commit publishes them. All
 * other objects stay. After an error the switch may have some of the new ports only: it is to
 * be opened again. A list with a netdev that is not there, or without a port that an object
 * refers to, changes nothing.
 */
sai_status_t hotplug(const char *list);

#endif
