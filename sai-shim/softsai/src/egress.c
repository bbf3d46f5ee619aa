// SPDX-License-Identifier: Apache-2.0
#include "egress.h"

#include <errno.h>
#include <unistd.h>

#include "egress.skel.h"
#include "filter.h"

static const char program_name[] = "softsai_egress";

static struct egress_bpf *skel;
static bool has_queues;

void egress_queues(bool queues)
{
	has_queues = queues;
}

int egress_attach(uint32_t ifindex)
{
	int err = 0;

	if (!skel) {
		skel = egress_bpf__open();
		if (skel)
			skel->rodata->softsai_queues = has_queues;
		err = skel ? egress_bpf__load(skel) : -ENOMEM;
	}
	if (!err)
		err = filter_attach(ifindex, BPF_TC_EGRESS, bpf_program__fd(skel->progs.softsai_egress));
	else
		egress_close();
	return err;
}

int egress_detach(uint32_t ifindex)
{
	int program = filter_find(ifindex, BPF_TC_EGRESS, program_name);

	if (program < 0)
		return 0;
	close(program);
	return filter_detach(ifindex, BPF_TC_EGRESS);
}

void egress_close(void)
{
	if (skel)
		egress_bpf__destroy(skel);
	skel = NULL;
}
