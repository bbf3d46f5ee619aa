/* SPDX-License-Identifier: Apache-2.0 */
#include "arrival.h"

#include <string.h>

sai_sluice_arrival_t arrival_by_head(const sai_sluice_flow_event2_t *e)
{
	sai_sluice_arrival_t a = {};

	if (e->relabelled == SAI_SLUICE_LABEL_WAS_OTHER)
		return a;
	if (e->length >= 40 && e->head[0] >> 4 == 6) {
		a.known = 1;
		a.traffic_class = e->head[0] << 4 | e->head[1] >> 4;
		if (e->relabelled == SAI_SLUICE_LABEL_AS_RECEIVED)
			a.flow_label = (e->head[1] & 0xf) << 16 | e->head[2] << 8 | e->head[3];
		a.source.addr_family = a.destination.addr_family = 1;
		memcpy(&a.source.addr, e->head + 8, sizeof(sai_ip6_t));
		memcpy(&a.destination.addr, e->head + 24, sizeof(sai_ip6_t));
	} else if (e->length >= 20 && e->head[0] >> 4 == 4) {
		a.known = 1;
		a.traffic_class = e->head[1];
		memcpy(&a.source.addr, e->head + 12, sizeof(sai_ip4_t));
		memcpy(&a.destination.addr, e->head + 16, sizeof(sai_ip4_t));
	}
	return a;
}
