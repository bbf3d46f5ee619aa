// SPDX-License-Identifier: Apache-2.0
#include "acl_view.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/digest.h"
#include "log.h"
#include "object.h"
#include "plane.h"

static bool any_changed; /* a table did */
static struct {
	bool pending;
	uint64_t digest;
} deleted; /* a rule that is still in the map of entries */

static sai_status_t status_of(int err)
{
	switch (-err) {
	case 0:
		return SAI_STATUS_SUCCESS;
	case E2BIG:
	case ENOSPC:
		return SAI_STATUS_TABLE_FULL;
	case ENOMEM:
		return SAI_STATUS_NO_MEMORY;
	default:
		fail("ACL entry: %s", strerror(-err));
		return SAI_STATUS_FAILURE;
	}
}

static struct acl_table *table_of(struct object *o)
{
	return o->state;
}

struct views {
	bool used[SOFTSAI_VIEWS];
};

/* The state as the port has it: an earlier process may have written it. */
static void mark_view(struct object *port, void *arg)
{
	struct views *v = arg;
	struct softsai_port p;
	uint32_t ifindex = object_number(port->id);

	if (bpf_map_lookup_elem(plane_map(MAP_PORTS), &ifindex, &p) == 0 && p.view && p.view <= SOFTSAI_VIEWS)
		v->used[p.view - 1] = true;
}

static void mark_table(struct object *table, void *arg)
{
	struct views *v = arg;

	if (table_of(table)->view)
		v->used[table_of(table)->view - 1] = true;
}

/* Views go round, so that a packet on its way through an old one meets no change. */
static uint32_t unused_view(void)
{
	static uint32_t last;
	struct views v = {};

	object_each(SAI_OBJECT_TYPE_PORT, mark_view, &v);
	object_each(SAI_OBJECT_TYPE_ACL_TABLE, mark_table, &v);
	do
		last = (last + 1) % SOFTSAI_VIEWS;
	while (v.used[last]); /* tables and ports' old views are fewer than all views */
	return last;
}

static void sort_shapes(struct softsai_view *v)
{
	for (uint32_t i = 1; i < v->shapes; i++) {
		struct softsai_shape s = v->shape[i];
		uint32_t k = i;

		for (; k > 0 && v->shape[k - 1].priority < s.priority; k--)
			v->shape[k] = v->shape[k - 1];
		v->shape[k] = s;
	}
}

static uint64_t shape_id(const struct acl_table *t, uint32_t shape)
{
	return (uint64_t)t->number << 32 | shape;
}

static uint64_t digest_of_shape(const struct acl_table *t, uint32_t shape)
{
	return softsai_digest(shape_id(t, shape), plane_seed()[SOFTSAI_KEY_WORDS]);
}

void acl_drop(void)
{
	if (deleted.pending)
		bpf_map_delete_elem(plane_map(MAP_ENTRIES), &deleted.digest);
	deleted.pending = false;
}

static void change(struct acl_table *t)
{
	t->changed = true;
	any_changed = true;
}

static void compile_view(const struct acl_table *t, struct softsai_view *v)
{
	memset(v, 0, sizeof(*v));
	for (uint32_t i = 0; i < SOFTSAI_SHAPES; i++) {
		const struct acl_shape *s = &t->shapes[i];

		if (!s->entries)
			continue;
		v->shape[v->shapes] = (struct softsai_shape){
			.mask = s->mask,
			.priority = s->priority,
			.single = s->single,
			.id = shape_id(t, i),
			.digest = digest_of_shape(t, i),
		};
		if (s->single) {
			v->shape[v->shapes].key = s->key;
			v->shape[v->shapes].entry = s->entry;
		}
		v->shapes++;
	}
	sort_shapes(v);
}

static sai_status_t write_view(struct acl_table *t)
{
	struct softsai_view v;
	uint32_t index = unused_view();
	int err;

	compile_view(t, &v);
	err = bpf_map_update_elem(plane_map(MAP_VIEWS), &index, &v, BPF_ANY);
	if (!err)
		t->view = index + 1;
	return status_of(err);
}

bool acl_view_good(const struct acl_table *t)
{
	struct softsai_view v, there;
	uint32_t index = t->view - 1;

	if (!t->view)
		return true;
	compile_view(t, &v);
	return !bpf_map_lookup_elem(plane_map(MAP_VIEWS), &index, &there) && memcmp(&v, &there, sizeof(v)) == 0;
}

void acl_view_renew(struct acl_table *t)
{
	change(t);
}

static void commit_table(struct object *table, void *arg)
{
	sai_status_t *status = arg;
	struct acl_table *t = table_of(table);

	if (t->changed && !*status)
		*status = write_view(t);
	t->changed = false;
}

sai_status_t acl_commit(bool *changed)
{
	sai_status_t status = SAI_STATUS_SUCCESS;

	if (any_changed) {
		*changed = true;
		any_changed = false;
		object_each(SAI_OBJECT_TYPE_ACL_TABLE, commit_table, &status);
	}
	return status;
}

static int find_shape(const struct acl_table *t, const struct softsai_key *mask)
{
	int unused = -1;

	for (int i = SOFTSAI_SHAPES - 1; i >= 0; i--) {
		if (!t->shapes[i].entries)
			unused = i;
		else if (memcmp(&t->shapes[i].mask, mask, sizeof(*mask)) == 0)
			return i;
	}
	return unused;
}

/* The place of a rule in the map of entries, and its entry. */
struct place {
	uint64_t digest;
	struct softsai_cell cell;
};

static struct place place_of(const struct acl_table *t, const struct acl_rule *rule, int shape)
{
	struct place p = {
		.digest = digest_of_shape(t, shape),
		.cell = { .id = shape_id(t, shape), .key = rule->key, .entry = rule->entry },
	};
	uint64_t words[SOFTSAI_KEY_WORDS];

	memcpy(words, &rule->key, sizeof(words));
	for (size_t n = 0; n < SOFTSAI_KEY_WORDS; n++)
		p.digest += softsai_digest(words[n], plane_seed()[n]);
	return p;
}

static int put(const struct place *p, uint64_t flags)
{
	return bpf_map_update_elem(plane_map(MAP_ENTRIES), &p->digest, &p->cell, flags);
}

bool acl_rule_good(const struct acl_table *t, const struct acl_rule *rule, int shape)
{
	struct place p = place_of(t, rule, shape);
	struct softsai_cell there;

	return !bpf_map_lookup_elem(plane_map(MAP_ENTRIES), &p.digest, &there) &&
	       memcmp(&p.cell, &there, sizeof(there)) == 0;
}

sai_status_t acl_rule_renew(const struct acl_table *t, const struct acl_rule *rule, int shape)
{
	struct place p = place_of(t, rule, shape);

	return status_of(put(&p, BPF_ANY));
}

/* Why there is an entry already: the same match, or, once in 2^32, another with its digest. */
static sai_status_t taken(const struct place *p)
{
	struct softsai_cell there;

	if (bpf_map_lookup_elem(plane_map(MAP_ENTRIES), &p->digest, &there) == 0 &&
	    (there.id != p->cell.id || memcmp(&there.key, &p->cell.key, sizeof(there.key)) != 0)) {
		fail("ACL entry: another entry has its place in the hash table");
		return SAI_STATUS_TABLE_FULL;
	}
	return SAI_STATUS_ITEM_ALREADY_EXISTS;
}

sai_status_t acl_insert(struct acl_table *t, const struct acl_rule *rule, int *shape, bool adopted)
{
	struct acl_shape *s;
	struct place place;
	int err;

	if (*shape < 0 || *shape >= SOFTSAI_SHAPES)
		*shape = find_shape(t, &rule->mask);
	if (*shape < 0) {
		fail("ACL entry: its table has %d sets of masks already, and can have no other", SOFTSAI_SHAPES);
		return SAI_STATUS_INSUFFICIENT_RESOURCES;
	}
	place = place_of(t, rule, *shape);
	err = put(&place, adopted ? BPF_ANY : BPF_NOEXIST);
	if (err == -EEXIST)
		return taken(&place);
	if (err)
		return status_of(err);
	s = &t->shapes[*shape];
	if (s->entries < 2 || rule->entry.priority > s->priority)
		change(t);
	if (!s->entries)
		*s = (struct acl_shape){ .mask = rule->mask, .key = rule->key, .entry = rule->entry };
	s->single = s->entries++ == 0;
	if (rule->entry.priority > s->priority)
		s->priority = rule->entry.priority;
	return SAI_STATUS_SUCCESS;
}

sai_status_t acl_update(struct acl_table *t, const struct acl_rule *rule, int shape)
{
	struct place place = place_of(t, rule, shape);
	struct acl_shape *s = &t->shapes[shape];
	int err = put(&place, BPF_EXIST);

	if (err)
		return status_of(err);
	if (s->single || rule->entry.priority > s->priority)
		change(t);
	if (s->single)
		s->entry = rule->entry;
	if (rule->entry.priority > s->priority)
		s->priority = rule->entry.priority;
	return SAI_STATUS_SUCCESS;
}

void acl_delete(struct acl_table *t, const struct acl_rule *rule, int shape)
{
	struct acl_shape *s = &t->shapes[shape];

	acl_drop();
	deleted.digest = place_of(t, rule, shape).digest;
	deleted.pending = true;
	if (--s->entries == 0) {
		s->single = false;
		change(t);
	}
}
