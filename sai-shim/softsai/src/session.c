// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <string.h>

#include "bpf/parse.h"
#include "tables.h"

void session_open(void)
{
	static uint32_t crc[2][4][256]; /* filled beside, and not used here */

	tables_fill(crc, softsai_bth_len);
}

static sai_ip_address_t address(bool v6, const void *octets)
{
	sai_ip_address_t a = { .addr_family = v6 };

	memcpy(&a.addr, octets, v6 ? sizeof(sai_ip6_t) : sizeof(sai_ip4_t));
	return a;
}

sai_sluice_session_t session_read(const struct softsai_event *e)
{
	uint8_t room[2 + ETH_HLEN + SOFTSAI_EVENT_HEAD] __attribute__((aligned(8))) = {};
	uint8_t *frame = room + 2; /* so the IP header is aligned */
	struct softsai_memory memory = { .data = frame, .end = frame + ETH_HLEN + e->length };
	struct packet p = { .frame = ETH_HLEN + e->packet };
	sai_sluice_session_t s = {};
	const struct bth *bth;

	if (!e->length)
		return s;
	memcpy(frame + ETH_HLEN, e->head, e->length);
	((struct ethhdr *)frame)->h_proto = bpf_htons(e->head[0] >> 4 == 4 ? ETH_P_IP : ETH_P_IPV6);
	softsai_parse((void *)&memory, &p);
	if (!p.session)
		return s;
	s.source = address(p.session_v6,
			   frame + p.session +
				   (p.session_v6 ? offsetof(struct ipv6hdr, saddr) : offsetof(struct iphdr, saddr)));
	s.destination = address(p.session_v6, frame + p.final);
	s.protocol = p.session_proto;
	s.source_port = p.session_ports >> 16;
	s.destination_port = p.session_ports;
	if (!p.bth)
		return s;
	bth = (const void *)(frame + p.bth);
	s.rocev2 = 1;
	s.bth_octet = bpf_ntohl(bth->qp) >> 24;
	s.partition_key = bpf_ntohs(bth->pkey);
	s.destination_qp = bpf_ntohl(bth->qp) & QP_MASK;
	s.source_qp = p.src_qp;
	return s;
}

sai_sluice_arrival_t session_arrival(const struct softsai_event *e)
{
	const struct softsai_arrival *a = &e->arrival;
	bool v6 = a->first >> 28 == 6;

	if (!a->known)
		return (sai_sluice_arrival_t){};
	return (sai_sluice_arrival_t){ .known = 1,
				       .traffic_class = a->first >> 20,
				       .flow_label = a->first & 0xfffff,
				       .source = address(v6, a->source),
				       .destination = address(v6, a->destination) };
}
