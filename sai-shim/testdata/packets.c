/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that sends packets to the CPU, from as many threads as the profile
 * says: as soon as it has the callback. A packet is its number and its thread's.
 * Built with STRAY it cannot be uninitialized, and its threads go on as they like.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "sai_abi.h"

#define MAX_THREADS 8

static _Atomic(sai_packet_event_notification_fn) event;
static pthread_t threads[MAX_THREADS];
static int nthreads;
static atomic_int packets;
static atomic_bool stop;

static void *run(void *arg)
{
	sai_packet_event_notification_fn deliver = atomic_load(&event);
	uint32_t thread = (uintptr_t)arg;
	sai_attribute_t port = { .id = SAI_HOSTIF_PACKET_ATTR_INGRESS_PORT };

	for (int i = 0; i < packets && !stop; i++) {
		uint32_t packet[24] = { i, thread };

		port.value.oid = i;
		deliver(1, sizeof(packet), packet, 1, &port);
	}
	return NULL;
}

static sai_status_t create_switch(sai_object_id_t *id, uint32_t count, const sai_attribute_t *attrs)
{
	(void)count;
	(void)attrs;
	*id = 1;
	return SAI_STATUS_SUCCESS;
}

static sai_status_t set_switch(sai_object_id_t id, const sai_attribute_t *attr)
{
	sai_packet_event_notification_fn fn;

	(void)id;
	if (attr->id != SAI_SWITCH_ATTR_PACKET_EVENT_NOTIFY)
		return SAI_STATUS_NOT_SUPPORTED;
	*(void **)&fn = attr->value.ptr;
	atomic_store(&event, fn);
	for (uintptr_t i = 0; i < (uintptr_t)nthreads; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			abort();
#ifdef STRAY
	for (int i = 0; i < nthreads; i++)
		pthread_detach(threads[i]);
#endif
	return SAI_STATUS_SUCCESS;
}

sai_status_t sai_api_initialize(uint64_t flags, const sai_service_method_table_t *services)
{
	(void)flags;
	nthreads = atoi(services->profile_get_value(0, "THREADS"));
	packets = atoi(services->profile_get_value(0, "PACKETS"));
	return nthreads <= MAX_THREADS ? SAI_STATUS_SUCCESS : SAI_STATUS_INVALID_PARAMETER;
}

#ifndef STRAY
sai_status_t sai_api_uninitialize(void)
{
	stop = true;
	for (int i = 0; i < nthreads; i++)
		pthread_join(threads[i], NULL);
	return SAI_STATUS_SUCCESS;
}
#endif

sai_status_t sai_api_query(sai_api_t api, void **method_table)
{
	static sai_switch_api_t table = { .create_switch = create_switch, .set_switch_attribute = set_switch };

	*method_table = &table;
	return api == SAI_API_SWITCH ? SAI_STATUS_SUCCESS : SAI_STATUS_NOT_SUPPORTED;
}
