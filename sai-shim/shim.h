/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thin layer between Go and any SAI library: it loads the library, and
 * calls it with plain arguments. No policy, and no state of its own but the
 * attributes being gathered and the ring of packets.
 *
 * A process has one library at a time: SAI's callbacks carry no pointer to tell
 * two apart. All calls are for one thread at a time, with these exceptions:
 * shim_packets_* are for one other thread, shim_flow_events_* for one more, and
 * the calls of the extension's API from shim_set_hold on for any thread.
 *
 * Functions return a SAI status (sai_abi.h) unless they say otherwise. What the
 * library has no function for is SAI_STATUS_NOT_IMPLEMENTED.
 */
#ifndef SHIM_H
#define SHIM_H

#include "include/sai_abi.h"
#include "include/sai_sluice_ext.h"

struct shim;

/*
 * Loads the library at path and initializes it with a profile of n key-values,
 * which it may ask for as long as it is open. Returns NULL, or a message with the path and the
 * fault, to be freed by the caller.
 */
char *shim_open(const char *path, const char *const *keys, const char *const *values, int n, struct shim **out);

/*
 * Uninitializes and unloads the library. Packets that it gives from then on are
 * dropped. One that has no sai_api_uninitialize stays loaded.
 */
void shim_close(struct shim *s);

/*
 * Changes the value of one key of the profile; SAI_STATUS_ITEM_NOT_FOUND: it has no such key. The
 * library may have the value before still, which stays until shim_close.
 */
sai_status_t shim_set_profile(struct shim *s, const char *key, const char *value);

/* The library's version of SAI, major * 10000 + minor * 100; 0: unknown. */
uint64_t shim_version(struct shim *s);

/*
 * Attributes are gathered by the functions below, in order, and taken by the
 * next shim_create, shim_set or shim_create_switch. At most 32, and 4 KiB of
 * list elements; more are dropped, and the call answers INSUFFICIENT_RESOURCES.
 * Addresses are in network byte order.
 */
void shim_bool(struct shim *s, uint32_t id, bool v);
void shim_u16(struct shim *s, uint32_t id, uint16_t v);
void shim_u32(struct shim *s, uint32_t id, uint32_t v);
void shim_s32(struct shim *s, uint32_t id, int32_t v);
void shim_u64(struct shim *s, uint32_t id, uint64_t v);
void shim_oid(struct shim *s, uint32_t id, uint64_t v);
void shim_oids(struct shim *s, uint32_t id, const uint64_t *v, uint32_t n);
void shim_u8s(struct shim *s, uint32_t id, const uint8_t *v, uint32_t n);
void shim_s32s(struct shim *s, uint32_t id, const int32_t *v, uint32_t n);
void shim_field_u8(struct shim *s, uint32_t id, uint8_t data, uint8_t mask);
void shim_field_u16(struct shim *s, uint32_t id, uint16_t data, uint16_t mask);
void shim_field_u32(struct shim *s, uint32_t id, uint32_t data, uint32_t mask);
void shim_field_ip6(struct shim *s, uint32_t id, const uint8_t *data, const uint8_t *mask);
void shim_field_ip4(struct shim *s, uint32_t id, uint32_t data, uint32_t mask);
void shim_ip(struct shim *s, uint32_t id, bool v6, const uint8_t *octets);
void shim_field_octets(struct shim *s, uint32_t id, const uint8_t *data, const uint8_t *mask, uint32_t n);
void shim_action_u32(struct shim *s, uint32_t id, uint32_t v);
void shim_action_s32(struct shim *s, uint32_t id, int32_t v);
void shim_action_oid(struct shim *s, uint32_t id, uint64_t v);
void shim_action_off(struct shim *s, uint32_t id);

/* Forgets the gathered attributes. */
void shim_forget(struct shim *s);

/*
 * Creates the switch, or connects to it: by SAI_SWITCH_ATTR_INIT_SWITCH among the attributes.
 */
sai_status_t shim_create_switch(struct shim *s, uint64_t *id);

/* Lets the library raise packet events, which go into the ring from then on. */
sai_status_t shim_watch_packets(struct shim *s);
sai_status_t shim_remove_switch(struct shim *s);

/* Objects, by SAI object type. set takes the one attribute that was gathered. */
sai_status_t shim_create(struct shim *s, int32_t type, uint64_t *id);
sai_status_t shim_remove(struct shim *s, int32_t type, uint64_t id);
sai_status_t shim_set(struct shim *s, int32_t type, uint64_t id);
sai_status_t shim_get(struct shim *s, int32_t type, uint64_t id, uint32_t attribute, sai_attribute_value_t *value);

/*
 * Reads an attribute that is a list of elements of any one size into room for
 * *count of them. BUFFER_OVERFLOW: *count is how many there are.
 */
sai_status_t shim_get_list(struct shim *s, int32_t type, uint64_t id, uint32_t attribute, void *elements,
			   uint32_t *count);

/* Statistics of a port, queue or policer. */
sai_status_t shim_stats(struct shim *s, int32_t type, uint64_t id, const uint32_t *ids, uint32_t n, uint64_t *values);

/*
 * Statistics of count objects of a type in one call, as in sai_bulk_object_get_stats: n values an
 * object. NOT_IMPLEMENTED where the library lacks the function.
 */
sai_status_t shim_bulk_stats(struct shim *s, int32_t type, const uint64_t *objects, uint32_t count, const uint32_t *ids,
			     uint32_t n, sai_status_t *statuses, uint64_t *values);

/* Form of the value of an attribute of a type; values are those of an enum, as in shim_get_list. */
sai_status_t shim_capability(struct shim *s, int32_t type, uint32_t attribute, sai_attr_capability_t *capability);
sai_status_t shim_enum_values(struct shim *s, int32_t type, uint32_t attribute, int32_t *values, uint32_t *count);

/* The objects of a type, of every process; ids as in shim_get_list. */
sai_status_t shim_objects(struct shim *s, int32_t type, uint64_t *ids, uint32_t *count);

#define SHIM_PACKET_ROOM 512 /* octets of a packet that are kept */

/* A packet to the CPU. */
struct shim_packet {
	uint64_t port;	   /* that it came in by; SAI_NULL_OBJECT_ID: unknown */
	uint64_t egress;   /* that it leaves by; likewise */
	uint64_t trap;	   /* user-defined trap that it was marked with; likewise */
	uint64_t at;	   /* ns since 1970, of its arrival; 0: unknown */
	uint32_t length;   /* octets that the library gave */
	uint32_t captured; /* of these, those in data */
	uint8_t data[SHIM_PACKET_ROOM];
};

/*
 * A descriptor that can be read while packets wait. The ring holds 4096; packets that find it
 * full are dropped and counted.
 */
int shim_packets_fd(struct shim *s);

/* Takes up to n packets out of the ring, and returns how many. */
int shim_packets_take(struct shim *s, struct shim_packet *out, int n);

/* Packets that found the ring full, since the library was opened. */
uint64_t shim_packets_lost(struct shim *s);

/*
 * The version of the extension (sai_sluice_ext.h) that the library has; 0: none. To be
 * called once, after the switch is there and before anything below.
 */
int shim_extension(struct shim *s);

/*
 * Lets the library raise flow events, which go into a ring of 4096. *fd can be read
 * while events wait; it is the shim's, and closed with it.
 */
sai_status_t shim_watch_flows(struct shim *s, int *fd);

/* Takes up to n events out of the ring, and returns how many; *lost is those that found it full so far. */
int shim_flow_events_take(struct shim *s, sai_sluice_flow_event_t *out, int n, uint64_t *lost);

/* Match of a hold. Addresses are in network byte order, an IPv4 one in the first 4 octets. */
struct shim_match {
	uint32_t type, value;
	bool ipv6;
	uint8_t protocol;
	uint64_t source[2], destination[2];
};

/* Answers of the extension's API, each with its status, by value: a caller in Go allocates nothing. */
struct shim_hold {
	sai_status_t status;
	sai_sluice_hold_t hold;
};

struct shim_flow {
	sai_status_t status;
	sai_sluice_flow_t flow;
};

struct shim_flow_stats {
	sai_status_t status;
	sai_sluice_flow_stats_t stats;
};

sai_status_t shim_set_hold(struct shim *s, uint64_t port, struct shim_match match, uint64_t duration_us, uint64_t rate);
struct shim_hold shim_get_hold(struct shim *s, uint64_t port, struct shim_match match);
struct shim_flow shim_get_flow(struct shim *s, uint64_t queue, uint64_t flow);
struct shim_flow_stats shim_get_flow_stats(struct shim *s);

/* The extension's audit(), a piece of it, and mend(), where the library has them. */
sai_status_t shim_audit(struct shim *s, uint32_t *piece, uint32_t *count, sai_sluice_drift_t *drifts);
sai_status_t shim_mend(struct shim *s, const sai_sluice_drift_t *drift);

/* All flows of a queue, into room for *count of them as in shim_get_list. */
sai_status_t shim_get_flows(struct shim *s, uint64_t queue, sai_sluice_flow_t *flows, uint32_t *count);

#endif
