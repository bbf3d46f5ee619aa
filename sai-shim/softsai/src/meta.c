// SPDX-License-Identifier: Apache-2.0
#include "meta.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "plane.h"

/* The first chunk of a record begins with the record's size. */
#define HEAD sizeof(uint32_t)
#define CHUNK SOFTSAI_META_CHUNK

#define BATCH 8192 /* chunks that are read at once, more than a bucket of the map has */

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

/* All chunks of all records: a key and a value each. */
struct chunks {
	struct softsai_meta_key *keys;
	uint8_t (*values)[CHUNK];
	uint32_t count, room;
};

static void free_chunks(struct chunks *all)
{
	free(all->keys);
	free(all->values);
}

static bool widen(struct chunks *all)
{
	uint32_t room = all->room ? 2 * all->room : BATCH;
	void *keys = realloc(all->keys, room * sizeof(*all->keys)), *values;

	if (!keys)
		return false;
	all->keys = keys;
	values = realloc(all->values, room * sizeof(*all->values));
	if (!values)
		return false;
	all->values = values;
	all->room = room;
	return true;
}

/* Reads the map in batches: one call for each record takes ten times as long. */
static int read_chunks(struct chunks *all)
{
	uint32_t at[8], n; /* at: where the kernel is, in its own form */
	void *from = NULL;
	int err = 0;

	while (!err) {
		if (all->room - all->count < BATCH && !widen(all))
			return -ENOMEM;
		n = all->room - all->count;
		err = bpf_map_lookup_batch(plane_map(MAP_META), from, at, all->keys + all->count,
					   all->values + all->count, &n, NULL);
		if (!err || err == -ENOENT) /* ENOENT: these are the last ones */
			all->count += n;
		from = at;
	}
	return err == -ENOENT ? 0 : err;
}

/* Where a chunk is, in the order of its key. */
struct place {
	struct softsai_meta_key key;
	uint32_t at;
};

static int by_key(const void *a, const void *b)
{
	const struct softsai_meta_key *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

/* Puts a record together whose first chunk is at p; its size, or -EBADMSG: a chunk is missing. */
static int join(const struct chunks *all, const struct place *p, const struct place *end, uint8_t *buf)
{
	uint64_t object = p->key.object;
	uint32_t size;

	memcpy(&size, all->values[p->at], HEAD);
	if (size > META_MAX)
		return -EBADMSG;
	for (uint64_t n = 0; n < chunks(size); n++, p++) {
		if (p == end || p->key.object != object || p->key.chunk != n)
			return -EBADMSG;
		memcpy(buf + n * CHUNK, all->values[p->at], CHUNK);
	}
	return size;
}

static int call_each(const struct chunks *all, const struct place *places,
		     int (*call)(uint64_t object, const void *record, size_t size))
{
	const struct place *end = places + all->count;
	uint8_t buf[HEAD + META_MAX + CHUNK];
	int size, err = 0;

	for (const struct place *p = places; p < end && !err; p++) {
		if (p->key.object == 0 || p->key.chunk != 0)
			continue;
		size = join(all, p, end, buf);
		err = size < 0 ? size : call(p->key.object, buf + HEAD, size);
	}
	return err;
}

int meta_each(int (*call)(uint64_t object, const void *record, size_t size))
{
	struct chunks all = {};
	struct place *places = NULL;
	int err = read_chunks(&all);

	if (!err)
		places = malloc((all.count + 1) * sizeof(*places));
	if (!err && !places)
		err = -ENOMEM;
	if (!err) {
		for (uint32_t i = 0; i < all.count; i++)
			places[i] = (struct place){ all.keys[i], i };
		qsort(places, all.count, sizeof(*places), by_key);
		err = call_each(&all, places, call);
	}
	free(places);
	free_chunks(&all);
	return err;
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
