/* SPDX-License-Identifier: Apache-2.0 */
/* The arrival of a flow event of version 2 of the extension, which has no field for it. */
#ifndef ARRIVAL_H
#define ARRIVAL_H

#include "include/sai_abi.h"
#include "include/sai_sluice_ext.h"

/*
 * Reads the arrival from the header that leaves: right for packets in transit. It is unknown
 * where the label that arrived is lost, or the head has no whole IP header.
 */
sai_sluice_arrival_t arrival_by_head(const sai_sluice_flow_event2_t *e);

#endif
