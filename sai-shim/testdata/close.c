/* SPDX-License-Identifier: Apache-2.0 */
/*
 * close LIBRARY THREADS PACKETS: opens the library that packets.c is with STRAY,
 * and closes it while its threads give packets, again and again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "shim.h"

int main(int argc, char **argv)
{
	static const char *const keys[] = { "THREADS", "PACKETS" };
	static struct shim_packet burst[32];

	for (int i = 0; argc == 4 && i < 50; i++) {
		struct shim *s;
		uint64_t id;
		char *error = shim_open(argv[1], keys, (const char *const *)argv + 2, 2, &s);

		if (error) {
			puts(error);
			free(error);
			return 1;
		}
		shim_bool(s, SAI_SWITCH_ATTR_INIT_SWITCH, true);
		if (shim_create_switch(s, &id) != SAI_STATUS_SUCCESS || shim_watch_packets(s) != SAI_STATUS_SUCCESS)
			return 1;
		while (shim_packets_take(s, burst, 32) == 0)
			;
		shim_close(s);
	}
	return argc != 4;
}
