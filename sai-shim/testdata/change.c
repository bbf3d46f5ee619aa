/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change LIBRARY: opens the library of reader.c, and changes its profile while the library's
 * threads read it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "shim.h"

int main(int argc, char **argv)
{
	static const char *const keys[] = { "KEY" };
	static const char *const values[] = { "aaaaaaaaaaaaaaaaaaaaaaaa", "bbbb", "cccccccccccccccccccccccccccccccc" };
	struct shim *s;
	char *error = argc == 2 ? shim_open(argv[1], keys, values, 1, &s) : NULL;

	if (argc != 2 || error) {
		puts(error ? error : "change LIBRARY");
		free(error);
		return 1;
	}
	for (int i = 0; i < 20000; i++)
		if (shim_set_profile(s, "KEY", values[i % 3]) != SAI_STATUS_SUCCESS)
			return 1;
	if (shim_set_profile(s, "ABSENT", "a") != SAI_STATUS_ITEM_NOT_FOUND)
		return 1;
	shim_close(s);
	return 0;
}
