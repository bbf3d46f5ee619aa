// SPDX-License-Identifier: Apache-2.0
/* Ports: the netdevs that the profile names. */
#ifndef SOFTSAI_PORT_H
#define SOFTSAI_PORT_H

#include <stdint.h>

#include "drift.h"
#include "object.h"

extern const struct type port_type;

/*
 * Finds the netdevs of a list "NAME NAME:lane,lane …" (NULL: all but loopback);
 * the log names missing ones.
 */
sai_status_t port_find(const char *list);

/*
 * Makes the ports those of another list; an error leaves them as they are: a netdev is not
 * there, or an object refers to a port that would leave (SAI_STATUS_OBJECT_IN_USE).
 */
sai_status_t port_replace(const char *list);

/* Indexes of the ports, or of the namespace's other netdevs; NULL for no memory. The caller frees them. */
uint32_t *port_indexes(size_t *n);
uint32_t *port_others(size_t *n);

/* Makes the objects of new ports. */
sai_status_t port_make(void);

/* Notes that a port's binding changed; reports whether one did since the last call. */
void port_change(void);
bool port_changed(void);

/* Writes the treatment of packets by each port: its table's view, and how it steers. */
sai_status_t port_publish(void);

/* Finds ports whose treatment another program has changed; port_publish puts it back. */
void port_audit(struct drift_list *l);

/* The ids of all ports, in the order of the profile. */
sai_status_t port_list(sai_object_list_t *list);
uint32_t port_count(void);

/* Fills statistics; SAI_STATUS_NOT_SUPPORTED for one that a netdev has not. */
sai_status_t port_stats(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids, uint64_t *values);

/* Forgets the result of port_find. */
void port_forget(void);

#endif
