// SPDX-License-Identifier: Apache-2.0
/*
 * Router interfaces and next hops, which entries redirect packets to. The kernel resolves the
 * neighbors, and routes all other packets.
 */
#ifndef SOFTSAI_ROUTE_H
#define SOFTSAI_ROUTE_H

#include "object.h"

extern const struct type virtual_router_type, router_interface_type, next_hop_type;

/* The virtual router of the switch: the routes of the network namespace. */
sai_object_id_t route_default(void);
sai_status_t route_make_default(void);

/* The index of a next hop in the data plane. */
uint32_t next_hop_index(const struct object *hop);

#endif
