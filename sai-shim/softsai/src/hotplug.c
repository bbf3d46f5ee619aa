// SPDX-License-Identifier: Apache-2.0
#include "hotplug.h"

#include <stdbool.h>
#include <stdlib.h>

#include "hold.h"
#include "object.h"
#include "plane.h"
#include "port.h"
#include "queue.h"
#include "queue_object.h"
#include "slots.h"

static bool among(uint32_t ifindex, const uint32_t *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (all[i] == ifindex)
			return true;
	return false;
}

/* Takes a port off, with its queues. Holds of its flows end by themselves. */
static void leave(uint32_t ifindex)
{
	for (uint32_t queue = 0; queue < SOFTSAI_QUEUES; queue++)
		slots_set_marks(ifindex, queue, 0, 0);
	queue_leave(ifindex);
	plane_leave(ifindex);
	object_dissolve(object_id(SAI_OBJECT_TYPE_PORT, ifindex));
}

static sai_status_t join(uint32_t ifindex)
{
	if (plane_join(ifindex))
		return SAI_STATUS_FAILURE;
	return queue_join(ifindex);
}

/* Makes the objects of joined netdevs, and has them watched and held. */
static sai_status_t make(void)
{
	uint32_t lines = slots_lines();
	sai_status_t status = port_make();

	if (!status)
		status = queue_make();
	if (!status)
		status = slots_extend();
	if (!status)
		status = hold_extend(lines);
	port_change();
	return status;
}

sai_status_t hotplug(const char *list)
{
	size_t had, has = 0;
	uint32_t *was = port_indexes(&had), *is = NULL;
	sai_status_t status = was ? port_replace(list) : SAI_STATUS_NO_MEMORY;

	if (!status) {
		is = port_indexes(&has);
		status = is ? SAI_STATUS_SUCCESS : SAI_STATUS_NO_MEMORY;
	}
	for (size_t i = 0; i < had && !status; i++)
		if (!among(was[i], is, has))
			leave(was[i]);
	for (size_t i = 0; i < has && !status; i++)
		if (!among(is[i], was, had))
			status = join(is[i]);
	if (!status)
		status = make();
	free(was);
	free(is);
	return status;
}
