/* SPDX-License-Identifier: Apache-2.0 */
#include "owner.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "store.h"

/* A call in the file is the octets of its changes, and these. A change has the octets of a list behind it. */
struct kept {
	enum change change;
	uint32_t octets;
	sai_object_id_t id;
	sai_attribute_t a;
};

static int fd = -1;
static off_t done; /* octets of the file that the store has */
static bool repeating;
static FILE *call; /* the one that is made */
static char *text;
static size_t size;

static size_t list_of(sai_object_id_t id, const sai_attribute_t *a, sai_u8_list_t **list)
{
	size_t element = list_in(attribute_of(type_of(id), a->id), &a->value, list);

	return element ? element * (*list)->count : 0;
}

static void repeat(char *changes, uint32_t octets)
{
	sai_u8_list_t *list;
	struct kept n;

	for (char *at = changes; at < changes + octets; at += sizeof(n) + n.octets) {
		memcpy(&n, at, sizeof(n));
		if (n.change == ADDED)
			store_add(type_of(n.id));
		else if (n.change == REMOVED)
			store_remove(n.id);
		else if (list_of(n.id, &n.a, &list))
			list->list = (uint8_t *)at + sizeof(n);
		if (n.change == PUT)
			store_put(n.id, &n.a);
	}
}

void owner_enter(void)
{
	uint32_t octets;

	if (fd < 0)
		return;
	while (flock(fd, LOCK_EX))
		continue;
	repeating = true;
	while (pread(fd, &octets, sizeof(octets), done) == sizeof(octets)) {
		char *changes = malloc(octets);

		if (!changes)
			abort();
		if (pread(fd, changes, octets, done + sizeof(octets)) != octets) {
			free(changes);
			break;
		}
		repeat(changes, octets);
		free(changes);
		done += sizeof(octets) + octets;
	}
	repeating = false;
	if (ftruncate(fd, done)) /* a process was killed while it wrote */
		abort();
	call = open_memstream(&text, &size);
	if (!call)
		abort();
	fwrite(&octets, sizeof(octets), 1, call); /* room */
}

void owner_leave(void)
{
	uint32_t octets;

	if (fd < 0)
		return;
	fclose(call);
	octets = size - sizeof(octets);
	memcpy(text, &octets, sizeof(octets));
	if (octets && pwrite(fd, text, size, done) != (ssize_t)size)
		abort();
	if (octets)
		done += size;
	free(text);
	flock(fd, LOCK_UN);
}

static void keep(enum change change, sai_object_id_t id, const sai_attribute_t *a)
{
	struct kept n = { .change = change, .id = id };
	sai_u8_list_t *list;

	if (repeating)
		return;
	if (a) {
		n.a = *a;
		n.octets = list_of(id, a, &list);
	}
	fwrite(&n, sizeof(n), 1, call);
	if (n.octets)
		fwrite(list->list, n.octets, 1, call);
}

int owner_open(const char *file)
{
	if (!file)
		return 0;
	done = 0;
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	store_tell(keep);
	return fd < 0 ? -1 : 0;
}

void owner_close(void)
{
	if (fd >= 0)
		close(fd);
	fd = -1;
	store_tell(NULL);
}
