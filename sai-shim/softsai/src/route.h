// SPDX-License-Identifier: Apache-2.0
/*
 * Router interfaces and next hops, which entries redirect packets to. The kernel resolves the
 * neighbors, and routes all other packets.
 *
 * A group of type PROTECTION sends packets to its primary next hop, and after SET_SWITCHOVER to its
 * standby: to a next hop, or by the routes of the kernel where that is a group of type ECMP. Such a
 * group has no other use here, since its hash is the kernel's.
 */
#ifndef SOFTSAI_ROUTE_H
#define SOFTSAI_ROUTE_H

#include "object.h"

extern const struct type virtual_router_type, router_interface_type, next_hop_type;
extern const struct type next_hop_group_type, next_hop_group_member_type;

/* The virtual router of the switch: the routes of the network namespace. */
sai_object_id_t route_default(void);
sai_status_t route_make_default(void);

/* The next hop, or group of type PROTECTION, that an entry may redirect to; NULL: none. */
const struct object *redirect_target(sai_object_id_t id);

/* The index of such a target in the data plane. */
uint32_t next_hop_index(const struct object *hop);

#endif
