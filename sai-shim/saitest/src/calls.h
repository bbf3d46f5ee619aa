/* SPDX-License-Identifier: Apache-2.0 */
/* Common to the methods of all objects: record the call, answer by the profile, store. */
#ifndef CALLS_H
#define CALLS_H

#include "store.h"

/* Returns 0, or -1: the profile has no RECORD, or a file cannot be opened. */
int calls_open(const sai_service_method_table_t *services);
void calls_close(void);

/* A value of the profile, or NULL. */
const char *profile(const char *key);

/* The version of the extension that the profile's EXTENSION has; 0: none. */
uint32_t extension_version(void);

/* The status that the profile's FAIL has for this call of an object now. */
sai_status_t failing(const char *call, const char *object);

/* Likewise for attribute i of a call: OBJECT.ATTRIBUTE. */
sai_status_t failing_at(const char *call, sai_object_type_t type, sai_attr_id_t id, uint32_t i);

/* The answer where FAIL is more or endless: BUFFER_OVERFLOW with a false count of a list; else the status. */
sai_status_t false_count(sai_status_t status, uint32_t *count);

/* The answer where FAIL is null: SUCCESS with a null object; else the status. */
sai_status_t false_id(sai_status_t status, sai_object_id_t *id);

/* Whether the profile's HIDE names the attribute. */
bool hidden(sai_object_type_t type, sai_attr_id_t id);

/* Begins a line: call, object; the caller ends it. */
FILE *record_begin(const char *call, sai_object_id_t id);

/* Writes a line: call, object, attributes. */
void record(const char *call, sai_object_type_t type, sai_object_id_t id, uint32_t count, const sai_attribute_t *list);

/* The values that the profile's HASH_FIELDS allows in a hash. */
bool hash_field(int32_t field);

sai_status_t create_object(sai_object_type_t type, sai_object_id_t *id, uint32_t count, const sai_attribute_t *list);
sai_status_t remove_object(sai_object_type_t type, sai_object_id_t id);
sai_status_t set_object(sai_object_type_t type, sai_object_id_t id, const sai_attribute_t *a);
sai_status_t get_object(sai_object_type_t type, sai_object_id_t id, uint32_t count, sai_attribute_t *list);
/* Waits for STATS_DELAY. */
void stats_delay(void);

/* Statistics of one object, without a line of the record. */
sai_status_t read_stats(sai_object_type_t type, sai_object_id_t id, uint32_t count, const sai_stat_id_t *ids,
			uint64_t *counters);
sai_status_t stats_of(sai_object_type_t type, sai_object_id_t id, uint32_t count, const sai_stat_id_t *ids,
		      uint64_t *counters);

#endif
