// SPDX-License-Identifier: Apache-2.0
#include "egress.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bpf/flows.h"
#include "egress.skel.h"
#include "filter.h"
#include "log.h"
#include "plane.h"
#include "tables.h"

static const char program_name[] = "softsai_egress";

static struct egress_bpf *skel;
static uint64_t octets;	   /* of one hold; 0: the ports have no queues */
static uint64_t frozen_ms; /* after which the thread of holds counts as frozen */
static bool tracepoints;

void egress_queues(uint64_t hold_octets, uint64_t hold_frozen_ms)
{
	octets = hold_octets;
	frozen_ms = hold_frozen_ms;
}

struct egress_bpf *egress_programs(void)
{
	return skel;
}

bool egress_has_tracepoints(void)
{
	return tracepoints;
}

/* The cookie of the calling thread's network namespace. */
static int netns_cookie(uint64_t *cookie)
{
	socklen_t size = sizeof(*cookie);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, cookie, &size))
		err = -errno;
	close(fd);
	return err;
}

static int load(bool with_tracepoints)
{
	uint64_t cookie;
	int err;

	skel = egress_bpf__open();
	if (!skel)
		return -ENOMEM;
	skel->rodata->softsai_queues = octets > 0;
	skel->rodata->softsai_hold_octets = octets;
	skel->rodata->softsai_hold_packets = SOFTSAI_HOLD_PACKETS;
	skel->rodata->softsai_hold_frozen = frozen_ms * 1000000;
	tables_fill((void *)skel->rodata->softsai_crc, (void *)skel->rodata->softsai_bth_len);
	bpf_program__set_autoload(skel->progs.softsai_enqueue, with_tracepoints);
	bpf_program__set_autoload(skel->progs.softsai_dequeue, with_tracepoints);
	err = bpf_map__reuse_fd(skel->maps.soft_arrivals, plane_map(MAP_ARRIVALS));
	if (!err)
		err = netns_cookie(&cookie);
	if (!err) {
		skel->rodata->softsai_netns = cookie;
		if (getrandom((void *)skel->rodata->softsai_flow_seed, sizeof(skel->rodata->softsai_flow_seed), 0) < 0)
			err = -errno;
	}
	if (!err)
		err = egress_bpf__load(skel);
	if (err) {
		egress_bpf__destroy(skel);
		skel = NULL;
	}
	return err;
}

/* Where the kernel does not take the tracepoints, flows are not monitored. */
static int load_any(void)
{
	int err;

	tracepoints = octets > 0;
	log_libbpf_clear();
	err = load(tracepoints);
	if (!err || !tracepoints)
		return err;
	warn("flows cannot be watched in queues: %s%s%s", strerror(-err), *log_libbpf_reason() ? ": " : "",
	     log_libbpf_reason());
	tracepoints = false;
	return load(false);
}

int egress_attach(uint32_t ifindex)
{
	int err = skel ? 0 : load_any();

	if (!err)
		err = filter_attach(ifindex, BPF_TC_EGRESS, bpf_program__fd(skel->progs.softsai_egress));
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
	tracepoints = false;
}
