/* SPDX-License-Identifier: Apache-2.0 */
/* The session in the head of a packet, read as the BPF programs read it. */
#ifndef SOFTSAI_SESSION_H
#define SOFTSAI_SESSION_H

#include <stdint.h>

#include "bpf/flows.h"
#include "sai_abi.h"
#include "sai_sluice_ext.h"

/* To be called once, before session_read. */
void session_open(void);

/* The session of the packet of an event; protocol 0 and no addresses where its head cannot be read. */
sai_sluice_session_t session_read(const struct softsai_event *e);

/* How the packet of an event arrived. */
sai_sluice_arrival_t session_arrival(const struct softsai_event *e);

#endif
