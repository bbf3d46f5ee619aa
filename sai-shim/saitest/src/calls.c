/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "owner.h"

#define MAX_RULES 64
#define HANG 1
#define ABORT 2
#define EXIT 3
#define MORE 4
#define ENDLESS 5
#define NULL_ID 6

/* A rule of FAIL: which call answers which status, after how many that go well, how many times. */
static struct rule {
	char call[16], object[80];
	int after, status, times;
} rules[MAX_RULES];
static int nrules;

static const sai_service_method_table_t *services;
static FILE *out;

const char *profile(const char *key)
{
	return services->profile_get_value(0, key);
}

uint32_t extension_version(void)
{
	const char *text = profile("EXTENSION");

	return text ? strtoul(text, NULL, 0) : SAI_SLUICE_VERSION_SESSIONS;
}

/* Returns a STATUS of FAIL: a number, or one of the words. */
static int parse_status(const char *text)
{
	static const struct {
		const char *word;
		int status;
	} words[] = { { "hang", HANG }, { "abort", ABORT },	{ "exit", EXIT },
		      { "more", MORE }, { "endless", ENDLESS }, { "null", NULL_ID } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(text, words[i].word) == 0)
			return words[i].status;
	return atoi(text);
}

/* Parses CALL OBJECT AFTER STATUS [TIMES]; … */
static int parse_rules(const char *text)
{
	for (nrules = 0; text && nrules < MAX_RULES; nrules++) {
		struct rule *r = &rules[nrules];
		char status[16];

		r->times = -1;
		if (sscanf(text, " %15s %79s %d %15[^ ;] %d", r->call, r->object, &r->after, status, &r->times) < 4)
			return -1;
		r->status = parse_status(status);
		text = strchr(text, ';');
		if (text)
			text++;
	}
	return text ? -1 : 0;
}

int calls_open(const sai_service_method_table_t *table)
{
	const char *file;

	services = table;
	file = profile("RECORD");
	out = file ? fopen(file, "a") : NULL;
	if (!out)
		return -1;
	setvbuf(out, NULL, _IOLBF, 0);
	if (parse_rules(profile("FAIL")) == 0 && owner_open(profile("OWNER")) == 0)
		return 0;
	fclose(out);
	return -1;
}

void calls_close(void)
{
	store_close();
	owner_close();
	fclose(out);
}

sai_status_t failing(const char *call, const char *object)
{
	for (struct rule *r = rules; r < rules + nrules; r++) {
		if (strcmp(r->call, call) || strcmp(r->object, object))
			continue;
		if (r->after > 0) {
			r->after--;
		} else if (r->times != 0) {
			r->times--;
			if (r->status == ABORT) {
				fprintf(stderr, "saitest: aborts in %s %s\n", call, object);
				abort();
			}
			if (r->status == EXIT)
				exit(0);
			while (r->status == HANG)
				pause();
			return r->status;
		}
	}
	return SAI_STATUS_SUCCESS;
}

sai_status_t failing_at(const char *call, sai_object_type_t type, sai_attr_id_t id, uint32_t i)
{
	const struct attribute *known = attribute_of(type, id);
	char name[80];
	sai_status_t status;

	if (!known)
		return SAI_STATUS_SUCCESS;
	snprintf(name, sizeof(name), "%s.%s", type_name(type), known->name);
	status = failing(call, name);
	return status <= SAI_STATUS_INVALID_ATTRIBUTE_0 ? status - (int)i : status;
}

sai_status_t false_count(sai_status_t status, uint32_t *count)
{
	if (status == MORE)
		++*count;
	else if (status == ENDLESS)
		*count = INT32_MAX;
	else
		return status;
	return SAI_STATUS_BUFFER_OVERFLOW;
}

sai_status_t false_id(sai_status_t status, sai_object_id_t *id)
{
	if (status != NULL_ID)
		return status;
	*id = SAI_NULL_OBJECT_ID;
	return SAI_STATUS_SUCCESS;
}

/* Whether a list of words has a word. */
static bool listed(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = words; at && (at = strstr(at, word)); at += n)
		if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
	return false;
}

bool hidden(sai_object_type_t type, sai_attr_id_t id)
{
	const struct attribute *known = attribute_of(type, id);
	char word[128];

	if (known)
		snprintf(word, sizeof(word), "%s%s", known->prefix, known->name);
	else
		snprintf(word, sizeof(word), "%#x", id);
	if (type == SAI_OBJECT_TYPE_ACL_ENTRY && id == SAI_ACL_ENTRY_ATTR_ACTION_REDIRECT && !profile("ROUTER"))
		return true;
	return known ? listed(profile("HIDE"), word) : !listed(profile("CAN"), word);
}

/* Sets an attribute, unless the profile's DROP names it. */
static void put(sai_object_type_t type, sai_object_id_t id, const sai_attribute_t *a)
{
	const struct attribute *known = attribute_of(type, a->id);
	char word[128];

	if (known)
		snprintf(word, sizeof(word), "%s%s", known->prefix, known->name);
	if (!known || !listed(profile("DROP"), word))
		store_put(id, a);
}

bool hash_field(int32_t field)
{
	const char *fields = profile("HASH_FIELDS");
	char word[16];

	snprintf(word, sizeof(word), "%d", field);
	return listed(fields ? fields : "0 1 5 7 8 24 34 35", word);
}

FILE *record_begin(const char *call, sai_object_id_t id)
{
	fprintf(out, "%s ", call);
	print_object(out, id);
	return out;
}

void record(const char *call, sai_object_type_t type, sai_object_id_t id, uint32_t count, const sai_attribute_t *list)
{
	record_begin(call, id);
	for (uint32_t i = 0; i < count; i++) {
		const struct attribute *known = attribute_of(type, list[i].id);

		if (strcmp(call, "get"))
			print_attribute(out, type, &list[i]);
		else
			fprintf(out, " %s", known ? known->name : "?");
	}
	fputc('\n', out);
}

/* The fault of attribute i of a call. */
static sai_status_t check(sai_object_type_t type, const sai_attribute_t *a, uint32_t i)
{
	const struct attribute *known = attribute_of(type, a->id);
	const sai_object_id_t *ids = NULL;
	uint32_t n = references(known, &a->value, &ids);

	if (hidden(type, a->id))
		return (known ? SAI_STATUS_ATTR_NOT_SUPPORTED_0 : SAI_STATUS_UNKNOWN_ATTRIBUTE_0) - (int)i;
	for (uint32_t k = 0; k < n; k++)
		if (!store_has(ids[k]))
			return SAI_STATUS_INVALID_ATTR_VALUE_0 - (int)i;
	if (type != SAI_OBJECT_TYPE_HASH || a->id != SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST)
		return SAI_STATUS_SUCCESS;
	for (uint32_t k = 0; k < a->value.s32list.count; k++)
		if (!hash_field(a->value.s32list.list[k]))
			return SAI_STATUS_INVALID_ATTR_VALUE_0 - (int)i;
	return SAI_STATUS_SUCCESS;
}

/* The answer to calls about an unknown object. */
static sai_status_t missing(void)
{
	const char *text = profile("MISSING");

	return text ? (sai_status_t)strtol(text, NULL, 0) : SAI_STATUS_ITEM_NOT_FOUND;
}

static sai_status_t create_it(sai_object_type_t type, sai_object_id_t *id, uint32_t count, const sai_attribute_t *list)
{
	sai_status_t status = failing("create", type_name(type));

	for (uint32_t i = 0; i < count && status == SAI_STATUS_SUCCESS; i++)
		status = failing_at("create", type, list[i].id, i);
	for (uint32_t i = 0; i < count && status == SAI_STATUS_SUCCESS; i++)
		status = check(type, &list[i], i);
	if (status != SAI_STATUS_SUCCESS)
		return false_id(status, id);
	*id = store_add(type);
	for (uint32_t i = 0; i < count; i++)
		put(type, *id, &list[i]);
	record("create", type, *id, count, list);
	return SAI_STATUS_SUCCESS;
}

sai_status_t create_object(sai_object_type_t type, sai_object_id_t *id, uint32_t count, const sai_attribute_t *list)
{
	sai_status_t status;

	owner_enter();
	status = create_it(type, id, count, list);
	owner_leave();
	return status;
}

static sai_status_t remove_it(sai_object_type_t type, sai_object_id_t id)
{
	sai_status_t status = failing("remove", type_name(type));

	if (status == SAI_STATUS_SUCCESS && (type_of(id) != type || !store_has(id)))
		status = missing();
	if (status == SAI_STATUS_SUCCESS && store_used(id))
		status = SAI_STATUS_OBJECT_IN_USE;
	if (status != SAI_STATUS_SUCCESS)
		return status;
	store_remove(id);
	record("remove", type, id, 0, NULL);
	return SAI_STATUS_SUCCESS;
}

sai_status_t remove_object(sai_object_type_t type, sai_object_id_t id)
{
	sai_status_t status;

	owner_enter();
	status = remove_it(type, id);
	owner_leave();
	return status;
}

static sai_status_t set_it(sai_object_type_t type, sai_object_id_t id, const sai_attribute_t *a)
{
	sai_status_t status = failing("set", type_name(type));

	if (status == SAI_STATUS_SUCCESS && (type_of(id) != type || !store_has(id)))
		status = missing();
	if (status == SAI_STATUS_SUCCESS)
		status = failing_at("set", type, a->id, 0);
	if (status == SAI_STATUS_SUCCESS)
		status = check(type, a, 0);
	if (status != SAI_STATUS_SUCCESS)
		return status;
	put(type, id, a);
	record("set", type, id, 1, a);
	return SAI_STATUS_SUCCESS;
}

sai_status_t set_object(sai_object_type_t type, sai_object_id_t id, const sai_attribute_t *a)
{
	sai_status_t status;

	owner_enter();
	status = set_it(type, id, a);
	owner_leave();
	return status;
}

/* Fills in a list; where it is too long the count alone. */
static sai_status_t give_list(sai_u8_list_t *to, const void *from, uint32_t count, size_t size)
{
	uint32_t room = to->count;

	to->count = count;
	if (room < count)
		return SAI_STATUS_BUFFER_OVERFLOW;
	if (count)
		memcpy(to->list, from, count * size);
	return SAI_STATUS_SUCCESS;
}

static sai_status_t get_attribute(sai_object_type_t type, sai_object_id_t id, sai_attribute_t *a)
{
	const struct attribute *known = attribute_of(type, a->id);
	const sai_attribute_value_t *value = store_get(id, a->id);
	sai_u8_list_t *to, *from = NULL;
	size_t size = list_in(known, &a->value, &to);

	if (!known)
		return SAI_STATUS_UNKNOWN_ATTRIBUTE_0;
	if (type == SAI_OBJECT_TYPE_SWITCH && a->id == SAI_SWITCH_ATTR_SLUICE_EXTENSION) {
		a->value.u64 = SAI_SLUICE_MAGIC << 32 | extension_version();
		return extension_version() ? SAI_STATUS_SUCCESS : SAI_STATUS_UNKNOWN_ATTRIBUTE_0;
	}
	if (type == SAI_OBJECT_TYPE_ACL_TABLE && a->id == SAI_ACL_TABLE_ATTR_ENTRY_LIST) {
		uint32_t room = a->value.objlist.count;

		a->value.objlist.count = store_entries(id, a->value.objlist.list, room);
		return a->value.objlist.count > room ? SAI_STATUS_BUFFER_OVERFLOW : SAI_STATUS_SUCCESS;
	}
	if (type == SAI_OBJECT_TYPE_ACL_TABLE_GROUP && a->id == SAI_ACL_TABLE_GROUP_ATTR_MEMBER_LIST) {
		uint32_t room = a->value.objlist.count;

		a->value.objlist.count = store_members(id, a->value.objlist.list, room);
		return a->value.objlist.count > room ? SAI_STATUS_BUFFER_OVERFLOW : SAI_STATUS_SUCCESS;
	}
	if (type == SAI_OBJECT_TYPE_ACL_COUNTER && a->id >= SAI_ACL_COUNTER_ATTR_PACKETS) {
		a->value.u64 = number_of(id) * 1000 + a->id;
		return SAI_STATUS_SUCCESS;
	}
	if (!value && type == SAI_OBJECT_TYPE_SWITCH && a->id == SAI_SWITCH_ATTR_ECMP_HASH && profile("DEFAULT_HASH")) {
		a->value.oid = strtoull(profile("DEFAULT_HASH"), NULL, 0);
		return SAI_STATUS_SUCCESS;
	}
	if (!value && profile("UNSET"))
		return strtol(profile("UNSET"), NULL, 0);
	if (size) {
		if (value)
			list_in(known, value, &from);
		return give_list(to, from ? from->list : NULL, from ? from->count : 0, size);
	}
	if (value)
		a->value = *value;
	else
		memset(&a->value, 0, sizeof(a->value));
	return SAI_STATUS_SUCCESS;
}

static sai_status_t get_it(sai_object_type_t type, sai_object_id_t id, uint32_t count, sai_attribute_t *list)
{
	sai_status_t status = failing("get", type_name(type));

	if (status == SAI_STATUS_SUCCESS && (type_of(id) != type || !store_has(id)))
		status = missing();
	for (uint32_t i = 0; i < count && status == SAI_STATUS_SUCCESS; i++)
		status = failing_at("get", type, list[i].id, i);
	for (uint32_t i = 0; i < count && status > SAI_STATUS_SUCCESS; i++) {
		sai_u8_list_t *to;
		uint32_t none;

		if (list_in(attribute_of(type, list[i].id), &list[i].value, &to))
			status = false_count(status, &to->count);
		else
			status = false_count(status, &none);
	}
	for (uint32_t i = 0; i < count && status == SAI_STATUS_SUCCESS; i++)
		status = get_attribute(type, id, &list[i]);
	if (status == SAI_STATUS_SUCCESS)
		record("get", type, id, count, list);
	return status;
}

sai_status_t get_object(sai_object_type_t type, sai_object_id_t id, uint32_t count, sai_attribute_t *list)
{
	sai_status_t status;

	owner_enter();
	status = get_it(type, id, count, list);
	owner_leave();
	return status;
}

void stats_delay(void)
{
	const char *text = profile("STATS_DELAY");

	if (text)
		usleep(strtoul(text, NULL, 0));
}

sai_status_t read_stats(sai_object_type_t type, sai_object_id_t id, uint32_t count, const sai_stat_id_t *ids,
			uint64_t *counters)
{
	sai_status_t status = failing("stats", type_name(type));

	if (status == SAI_STATUS_SUCCESS && (type_of(id) != type || !store_has(id)))
		status = missing();
	for (uint32_t i = 0; i < count && status == SAI_STATUS_SUCCESS; i++)
		counters[i] = number_of(id) * 1000 + ids[i];
	return status;
}

sai_status_t stats_of(sai_object_type_t type, sai_object_id_t id, uint32_t count, const sai_stat_id_t *ids,
		      uint64_t *counters)
{
	sai_status_t status;

	stats_delay();
	status = read_stats(type, id, count, ids, counters);
	if (status == SAI_STATUS_SUCCESS)
		record("stats", type, id, 0, NULL);
	return status;
}
