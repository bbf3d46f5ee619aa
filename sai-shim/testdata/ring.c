/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring LIBRARY THREADS PACKETS: reads the packets that packets.c sends until all
 * were read or counted as lost, and checks that each thread's come in order and
 * whole. It fails when none comes for a long time although some are missing.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "shim.h"

#define PATIENCE_MS 20000

static uint32_t next[8];

static bool right(const struct shim_packet *p)
{
	uint32_t number, thread;

	memcpy(&number, p->data, 4);
	memcpy(&thread, p->data + 4, 4);
	if (thread >= 8 || number < next[thread] || p->port != number || p->captured != 96 || p->length != 96)
		return false;
	next[thread] = number + 1;
	return true;
}

static int read_all(struct shim *s, uint64_t total)
{
	static struct shim_packet burst[32];
	uint64_t taken = 0;

	while (taken + shim_packets_lost(s) < total) {
		struct pollfd p = { shim_packets_fd(s), POLLIN, 0 };
		int n = shim_packets_take(s, burst, 32);
		eventfd_t count;

		for (int i = 0; i < n; i++, taken++) {
			if (!right(&burst[i])) {
				printf("packet %llu is not what was sent\n", (unsigned long long)taken);
				return 1;
			}
		}
		if (n)
			continue;
		/* The last may have been lost, which wakes no reader, and needs none. */
		if (poll(&p, 1, PATIENCE_MS) == 0 && taken + shim_packets_lost(s) < total) {
			printf("%llu of %llu, and no more\n", (unsigned long long)taken, (unsigned long long)total);
			return 1;
		}
		eventfd_read(p.fd, &count);
	}
	printf("all: %llu taken, %llu lost\n", (unsigned long long)taken, (unsigned long long)shim_packets_lost(s));
	return taken == 0;
}

int main(int argc, char **argv)
{
	static const char *const keys[] = { "THREADS", "PACKETS" };
	struct shim *s;
	uint64_t id;
	char *error;
	int rc;

	if (argc != 4)
		return 2;
	error = shim_open(argv[1], keys, (const char *const *)argv + 2, 2, &s);
	if (error) {
		puts(error);
		free(error);
		return 1;
	}
	shim_bool(s, SAI_SWITCH_ATTR_INIT_SWITCH, true);
	rc = shim_create_switch(s, &id) != SAI_STATUS_SUCCESS || shim_watch_packets(s) != SAI_STATUS_SUCCESS;
	if (!rc)
		rc = read_all(s, strtoull(argv[2], NULL, 10) * strtoull(argv[3], NULL, 10));
	shim_close(s);
	return rc;
}
