// SPDX-License-Identifier: Apache-2.0
#include "commit.h"

#include "acl_view.h"
#include "hash.h"
#include "port.h"
#include "queue.h"

static void keep_first(sai_status_t *status, sai_status_t next)
{
	if (!*status)
		*status = next;
}

sai_status_t commit(void)
{
	bool ports = port_changed();
	sai_status_t status = acl_commit(&ports);

	keep_first(&status, hash_commit(&ports));
	if (ports)
		keep_first(&status, port_publish());
	acl_drop();
	keep_first(&status, queue_commit());
	return status;
}

sai_status_t commit_all(void)
{
	hash_change();
	port_change();
	queue_change(0);
	return commit();
}
