// SPDX-License-Identifier: Apache-2.0
/*
 * Which fields choose among equal paths. The kernel's own multipath hash
 * (net.ipv4 and net.ipv6 fib_multipath_hash_policy 3 and _fields) takes
 * addresses, protocol, ports and flow label. A queue pair, or octets of the BTH
 * by UDF, it does not know: then the ingress program looks the next hop of
 * RoCEv2 packets up itself.
 */
#ifndef SOFTSAI_HASH_H
#define SOFTSAI_HASH_H

#include "bpf/softsai.h"
#include "object.h"

extern const struct type hash_type;

/* Makes the default ECMP hash object, whose fields are the kernel's until they are set. */
sai_status_t hash_make_default(void);
sai_object_id_t hash_default(void);

/* Notes that a hash, or one of the switch's hash attributes, changed. */
void hash_change(void);

/*
 * After a change, brings kernel and ports to the switch's hash attributes. The former sysctls
 * are kept in the switch's record, and come back when no attribute and no list differs from
 * them. *ports becomes true if the ports steer otherwise.
 */
sai_status_t hash_commit(bool *ports);

/* Reports whether the hash is other than the kernel's own. */
bool hash_managed(void);

/* Restores the former sysctls. */
sai_status_t hash_reset(void);

/* Fills in how the ports steer. */
void hash_steering(struct softsai_port *port);

/* The fields that a list can have, less the hidden ones. */
uint32_t hash_fields(int32_t *fields, uint32_t room);

#endif
