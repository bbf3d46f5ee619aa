// SPDX-License-Identifier: Apache-2.0
#include "meta.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "plane.h"

/* The first chunk of a record begins with the record's size. */
#define HEAD sizeof(uint32_t)
#define CHUNK SOFTSAI_META_CHUNK

static uint64_t chunks(size_t size)
{
	return (HEAD + size + CHUNK - 1) / CHUNK;
}

int meta_put(uint64_t object, const void *record, size_t size)
{
	struct softsai_meta_key key = { .object = object };
	uint8_t buf[HEAD + META_MAX + CHUNK] = {};
	uint32_t head = size;
	int err = 0;

	if (size > META_MAX)
		return -E2BIG;
	memcpy(buf, &head, HEAD);
	memcpy(buf + HEAD, record, size);
	/* The first chunk last: a record that it announces is whole. */
	for (uint64_t i = chunks(size); i-- > 0 && !err;) {
		key.chunk = i;
		err = bpf_map_update_elem(plane_map(MAP_META), &key, buf + i * CHUNK, BPF_ANY);
	}
	return err;
}

int meta_remove(uint64_t object)
{
	struct softsai_meta_key key = { .object = object };
	int err = 0;

	for (; !err && key.chunk < chunks(META_MAX); key.chunk++)
		err = bpf_map_delete_elem(plane_map(MAP_META), &key);
	return err == -ENOENT ? 0 : err;
}

static int read_record(uint64_t object, uint8_t *buf, uint32_t *size)
{
	struct softsai_meta_key key = { .object = object };
	int err = 0;

	*size = 0;
	for (uint64_t i = 0; !err && i < chunks(*size); i++) {
		key.chunk = i;
		err = bpf_map_lookup_elem(plane_map(MAP_META), &key, buf + i * CHUNK);
		if (!err && i == 0)
			memcpy(size, buf, HEAD);
		if (!err && *size > META_MAX)
			err = -EBADMSG;
	}
	return err;
}

int meta_each(int (*call)(uint64_t object, const void *record, size_t size))
{
	struct softsai_meta_key key, *previous = NULL;
	uint8_t buf[HEAD + META_MAX + CHUNK];
	uint32_t size;
	int err;

	while (bpf_map_get_next_key(plane_map(MAP_META), previous, &key) == 0) {
		previous = &key;
		if (key.object == 0 || key.chunk != 0)
			continue;
		err = read_record(key.object, buf, &size);
		if (!err)
			err = call(key.object, buf + HEAD, size);
		if (err)
			return err;
	}
	return 0;
}

int meta_next(uint64_t *number)
{
	struct softsai_meta_key key = {};
	uint64_t head[CHUNK / sizeof(uint64_t)];
	int err;

	err = bpf_map_lookup_elem(plane_map(MAP_META), &key, head);
	if (err)
		return err;
	*number = ++head[1];
	return bpf_map_update_elem(plane_map(MAP_META), &key, head, BPF_ANY);
}
