/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sai_sluice_ext.h
 *
 * @brief Extension of SAI for RoCEv2: IPv6 flow labels written by the pipeline,
 * and single flows: how much of an egress queue each fills, and holds
 *
 * The offer of Sluice to vendors of switch ASICs: attributes and an API in
 * SAI's custom ranges. A library that has them answers
 * SAI_SWITCH_ATTR_SLUICE_EXTENSION, which is asked right after the switch is
 * created. The labels' actions are also found by sai_query_attribute_capability()
 * for SAI_OBJECT_TYPE_ACL_ENTRY and the attribute (create_implemented), since
 * SAI's own lists of actions have no place for them. A library that lacks an
 * attribute answers NOT_SUPPORTED there, or refuses it
 * (SAI_STATUS_ATTR_NOT_SUPPORTED_0 + its index), and Sluice takes another method.
 *
 * A library that has the same actions under ids of its own needs no new build of
 * Sluice: the SAI profile maps them, by the keys
 *     SLUICE_EXT_SET_IPV6_FLOW_LABEL
 *     SLUICE_EXT_COMPUTE_IPV6_FLOW_LABEL
 * with the id as value, decimal or with 0x.
 */
#ifndef SAI_SLUICE_EXT_H
#define SAI_SLUICE_EXT_H

#ifndef SAI_ABI_H
#include <sai.h> /* of the vendor */
#endif

/** @brief Magic number of the handshake: upper 32 bits of SAI_SWITCH_ATTR_SLUICE_EXTENSION ("SLUI") */
#define SAI_SLUICE_MAGIC 0x534c5549ULL

/** @brief Versions of the extension: each includes the ones before */
#define SAI_SLUICE_VERSION_LABELS 1 /* ACL actions that write the flow label */
#define SAI_SLUICE_VERSION_FLOWS 2  /* marks on queues, flow events, holds */
#define SAI_SLUICE_VERSION_SESSIONS \
	3 /* events have the packet as it arrived and its session; holds find sessions in tunnels, and protocols */

/** @brief Flag beside the version, which is the lower 24 bits: the API has audit() and mend() */
#define SAI_SLUICE_AUDITS 0x1000000

/**
 * @brief Attributes of SAI_OBJECT_TYPE_ACL_ENTRY
 *
 * They write the flow label of packets that carry RoCEv2 (UDP destination port
 * 4791) directly over IPv6, with or without extension headers; with
 * SAI_SLUICE_FLOW_LABEL_OUTER also that of the outermost IPv6 header of packets that
 * carry RoCEv2 in an IPv6 or IPv4 packet inside (SRv6, RFC 8986). Other packets that
 * match the entry stay as they are, and fragments always do. ICRC and UDP checksum do
 * not cover the flow label and stay valid. The label is written before the packet's
 * next hop is chosen: where ECMP hashes the flow label it hashes the new one. What the
 * entry samples or copies to the CPU has the label that was written.
 */
enum {
	/**
	 * @brief Set the IPv6 flow label
	 *
	 * The parameter is the label, 20 bits, in the lower bits of u32.
	 *
	 * @type sai_acl_action_data_t sai_uint32_t
	 * @flags CREATE_AND_SET
	 * @default disabled
	 */
	SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL = 0x10000000,

	/**
	 * @brief Compute the IPv6 flow label from the packet's queue pairs, and set it
	 *
	 * The parameter s32 is an algorithm, enum sai_sluice_flow_label_algorithm,
	 * and the flags SAI_SLUICE_FLOW_LABEL_ZERO_ONLY and SAI_SLUICE_FLOW_LABEL_OUTER
	 * may be added to it. The hash covers 10 octets: source queue pair (24 bits),
	 * destination queue pair (24 bits), the low 16 bits of the source address, those
	 * of the final destination address. Of a tunnel the queue pairs are those of the
	 * packet inside, the addresses those of the outermost header as it arrives.
	 * The source queue pair is the DETH's for datagrams, and 0 for connections,
	 * whose packets do not carry it. The label is the low 20 bits of the hash; 0
	 * becomes 1.
	 *
	 * @type sai_acl_action_data_t sai_int32_t
	 * @flags CREATE_AND_SET
	 * @default disabled
	 */
	SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL = 0x10000001,
};

/** @brief Hash that computes a flow label */
enum sai_sluice_flow_label_algorithm {
	/**
	 * @brief draft-hu-6man-ipv6-flowlabel-load-balancing-rdma as its text reads
	 *
	 * A register of 32 ones; each octet is XORed into the low 8 bits, then 8
	 * times: shift right by 1, and if the bit that left was 1, XOR 0x04C11DB7.
	 */
	SAI_SLUICE_FLOW_LABEL_DRAFT_LITERAL = 0,

	/** @brief CRC-32 of IEEE 802.3 */
	SAI_SLUICE_FLOW_LABEL_CRC32 = 1,
};

/** @brief Flag beside the algorithm: leave labels other than 0 */
#define SAI_SLUICE_FLOW_LABEL_ZERO_ONLY 0x100

/** @brief Flag beside the algorithm: write the outermost header of IPv6 tunnels, too */
#define SAI_SLUICE_FLOW_LABEL_OUTER 0x200

/** @brief Attributes of SAI_OBJECT_TYPE_SWITCH */
enum {
	/**
	 * @brief Handshake: SAI_SLUICE_MAGIC << 32 | version
	 *
	 * A library that does not answer it with the magic number does not have the
	 * extension, whatever its capability queries say; the rest of this header is unused then.
	 *
	 * @type sai_uint64_t
	 * @flags READ_ONLY
	 */
	SAI_SWITCH_ATTR_SLUICE_EXTENSION = 0x10000000,

	/**
	 * @brief Events of version 2: sai_sluice_flow_event2_notification_fn
	 *
	 * Sluice sets it where the library has version 2. A library of version 3 may leave it out.
	 *
	 * @type sai_pointer_t sai_sluice_flow_event2_notification_fn
	 * @flags CREATE_AND_SET
	 * @default NULL
	 */
	SAI_SWITCH_ATTR_FLOW_EVENT2_NOTIFY = 0x10000001,

	/**
	 * @brief Common fields of the packets of one flow, enum sai_sluice_flow_key; 0: the
	 * flow label
	 *
	 * @type sai_int32_t
	 * @flags CREATE_AND_SET
	 * @default 0
	 */
	SAI_SWITCH_ATTR_FLOW_KEY = 0x10000002,

	/**
	 * @brief Seed of the Stream IDs by which SAI_SLUICE_MATCH_STREAM finds packets
	 *
	 * Stream ID: low 16 bits of the CRC-32 (IEEE 802.3) over seed (4 octets, network
	 * byte order), source address, destination address, flow label (3 octets, right
	 * aligned) of the outermost IPv6 header as the packet leaves the port; 0 becomes 1.
	 *
	 * @type sai_uint32_t
	 * @flags CREATE_AND_SET
	 * @default 0
	 */
	SAI_SWITCH_ATTR_STREAM_SEED = 0x10000003,

	/**
	 * @brief Events of flows in queues, since version 3: sai_sluice_flow_event_notification_fn
	 *
	 * @type sai_pointer_t sai_sluice_flow_event_notification_fn
	 * @flags CREATE_AND_SET
	 * @default NULL
	 */
	SAI_SWITCH_ATTR_FLOW_EVENT_NOTIFY = 0x10000004,

	/**
	 * @brief Set to true: the ports are those that the profile's key SLUICE_PORTS lists now
	 *
	 * Of the software switch, whose ports are netdevs that come and go. All other objects stay,
	 * holds among them. A library that leaves it out, or refuses it, is opened again.
	 *
	 * @type bool
	 * @flags SET_ONLY
	 * @default false
	 */
	SAI_SWITCH_ATTR_RELOAD_PORTS = 0x10000005,
};

/** @brief Attributes of SAI_OBJECT_TYPE_QUEUE */
enum {
	/**
	 * @brief High-water mark of each single flow in the queue, octets; 0: flows are not
	 * monitored
	 *
	 * A flow exists for the monitor only while it has octets in the queue. An event
	 * FLOW_MARK_HIGH is raised when a flow's octets pass the mark, and again every 2 ms
	 * while they are above it. FLOW_MARK_ALARM when they pass max(low, 80 % of high) on the
	 * way up. FLOW_MARK_LOW when they fall below the low-water mark after FLOW_MARK_HIGH.
	 *
	 * @type sai_uint32_t
	 * @flags CREATE_AND_SET
	 * @default 0
	 */
	SAI_QUEUE_ATTR_FLOW_MONITOR_HIGH = 0x10000000,

	/**
	 * @brief Low-water mark of each single flow, octets; below the high one; 0: half of it
	 *
	 * @type sai_uint32_t
	 * @flags CREATE_AND_SET
	 * @default 0
	 */
	SAI_QUEUE_ATTR_FLOW_MONITOR_LOW = 0x10000001,
};

/**
 * @brief Common fields of the packets of one flow, of the outermost header as they leave
 *
 * RoCEv2's DestQP belongs to both, and the addresses of a session in a tunnel.
 */
enum sai_sluice_flow_key {
	SAI_SLUICE_FLOW_KEY_FLOW_LABEL = 0, /* source, destination, flow label (IPv4: as 5-tuple) */
	SAI_SLUICE_FLOW_KEY_FIVE_TUPLE = 1, /* source, destination, protocol, ports */
};

/** @brief Which mark a flow passed */
enum sai_sluice_flow_mark {
	SAI_SLUICE_FLOW_MARK_LOW = 0,
	SAI_SLUICE_FLOW_MARK_ALARM = 1,
	SAI_SLUICE_FLOW_MARK_HIGH = 2,
};

#define SAI_SLUICE_HEAD 96

/**
 * @brief The outermost IP header of a packet as it arrived, which is as the upstream neighbor
 * sent it
 *
 * The switch has changed nothing of it yet: the destination is the active segment of a
 * routing header, the flow label is the one before an ACL entry wrote another, and the
 * addresses are those before an encapsulation, and those of the tunnel before it ends here.
 */
typedef struct _sai_sluice_arrival_t {
	uint8_t known; /* 0: the switch does not know, or the packet is its own; the rest is 0 then */
	uint8_t traffic_class;
	uint16_t reserved;
	uint32_t flow_label; /* 20 bits; IPv4: 0 */
	sai_ip_address_t source, destination;
} sai_sluice_arrival_t;

/**
 * @brief The innermost packet that can be read through IPv6 tunnels (RFC 8986, RFC 2473)
 *
 * At least two IP headers within another are followed, and the headers that may lie
 * between them. Where the innermost header has segments left, the destination is the last
 * segment.
 */
typedef struct _sai_sluice_session_t {
	uint8_t protocol;  /* of the innermost packet: 6, 17; 0: neither, or a fragment without ports */
	uint8_t rocev2;	   /* it is RoCEv2, and the fields below are known */
	uint8_t bth_octet; /* octet 4 of the BTH */
	uint8_t reserved;
	uint16_t source_port, destination_port; /* host order, as all below */
	uint16_t partition_key;
	uint16_t reserved2;
	uint32_t destination_qp;
	uint32_t source_qp; /* of a datagram; 0 for other packets */
	sai_ip_address_t source, destination;
} sai_sluice_session_t;

/** @brief A flow passed a mark */
typedef struct _sai_sluice_flow_event_t {
	sai_object_id_t queue_id; /* egress queue */
	sai_object_id_t
		in_port_id; /* port that the packet came in by; SAI_NULL_OBJECT_ID: unknown, or the packet is of the switch itself */
	uint64_t flow;	 /* names the flow in get_flow(); never 0 */
	uint64_t octets; /* of the flow in the queue then */
	uint64_t at_ns;	 /* CLOCK_MONOTONIC */
	sai_sluice_arrival_t arrival;
	sai_sluice_session_t session;
	uint8_t mark;	/* enum sai_sluice_flow_mark */
	uint8_t length; /* octets of head */
	/*
	 * The packet that passed the mark, from the IP header on, as it leaves. length is 0
	 * with FLOW_MARK_LOW where no packet is at hand; arrival and session are unknown then.
	 */
	uint8_t head[SAI_SLUICE_HEAD];
} sai_sluice_flow_event_t;

/** @brief The change of the packet's flow label by a switch of version 2 */
enum sai_sluice_relabelled {
	SAI_SLUICE_LABEL_AS_RECEIVED = 0,
	SAI_SLUICE_LABEL_WAS_ZERO = 1,	/* it arrived with 0 */
	SAI_SLUICE_LABEL_WAS_OTHER = 2, /* it arrived with another, unknown label */
};

/**
 * @brief The same, of a library of version 2
 *
 * Sluice takes the addresses as they leave for those that arrived. That is right for
 * packets in transit only: an SRv6 endpoint or the end of a tunnel needs version 3.
 */
typedef struct _sai_sluice_flow_event2_t {
	sai_object_id_t queue_id;
	sai_object_id_t in_port_id;
	uint64_t flow;
	uint64_t octets;
	uint64_t at_ns;
	uint8_t mark;
	uint8_t relabelled; /* enum sai_sluice_relabelled */
	uint8_t length;
	uint8_t head[SAI_SLUICE_HEAD];
} sai_sluice_flow_event2_t;

/**
 * @brief Flows passed marks
 *
 * Called from one thread of the library; it must not call the library.
 */
typedef void (*sai_sluice_flow_event_notification_fn)(sai_object_id_t switch_id, uint32_t count,
						      const sai_sluice_flow_event_t *events);
typedef void (*sai_sluice_flow_event2_notification_fn)(sai_object_id_t switch_id, uint32_t count,
						       const sai_sluice_flow_event2_t *events);

/**
 * @brief Match of a hold, of packets as they leave by the port
 *
 * Addresses of LABEL and PAIR are of the outermost header. Those of SESSION and TUPLE are
 * of the session: the innermost packet, as sai_sluice_session_t has it. In version 2 they
 * are of the outermost header, too, and a TUPLE is of UDP.
 */
enum sai_sluice_match {
	SAI_SLUICE_MATCH_STREAM = 0,  /* value: Stream ID (by STREAM_SEED) */
	SAI_SLUICE_MATCH_LABEL = 1,   /* source, destination, value: flow label */
	SAI_SLUICE_MATCH_PAIR = 2,    /* source, destination */
	SAI_SLUICE_MATCH_SESSION = 3, /* source, destination, value: DestQP of the innermost RoCEv2 header */
	SAI_SLUICE_MATCH_TUPLE = 4,   /* source, destination, protocol, value: source port << 16 | destination port */
	/* value: IEEE 802.1Qbb priority = queue index; also done by PFC frames that the port receives */
	SAI_SLUICE_MATCH_CLASS = 5,
};

typedef struct _sai_sluice_match_t {
	uint32_t type; /* enum sai_sluice_match */
	uint32_t value;
	sai_ip_address_t source, destination;
	uint32_t protocol; /* TUPLE: 6, 17; since version 3 */
} sai_sluice_match_t;

/** @brief rate of set_hold(): nothing is held, octets are only counted: to measure a flow before it is slowed */
#define SAI_SLUICE_RATE_COUNT UINT64_MAX

/** @brief Counts of a hold so far */
typedef struct _sai_sluice_hold_t {
	uint64_t remaining_us;			  /* until the switch ends it by itself */
	uint64_t rate;				  /* bit/s, as set */
	uint64_t octets, packets;		  /* that matched since it was set first */
	uint64_t waiting_octets, waiting_packets; /* that wait now, also when the hold is over and they drain */
	/*
	 * Refused, since the hold queue was full. Of SAI_SLUICE_RATE_COUNT those for which the
	 * queue
	 * had no room; 0 where the switch does not know them.
	 */
	uint64_t dropped_packets;
} sai_sluice_hold_t;

/** @brief A flow in a queue */
typedef struct _sai_sluice_flow_t {
	uint64_t flow;
	uint64_t octets;   /* in the queue now */
	uint64_t departed; /* octets that left the queue since the flow became backlogged: for its departure rate */
	uint64_t at_ns;	   /* CLOCK_MONOTONIC of the reading */
} sai_sluice_flow_t;

/** @brief Of the whole switch, since it was created (hold_queue_lost: since the counters' memory exists) */
typedef struct _sai_sluice_flow_stats_t {
	uint64_t events;	  /* raised */
	uint64_t events_lost;	  /* no room */
	uint64_t unmonitored;	  /* packets of flows beyond the room */
	uint64_t held_packets;	  /* that went through hold queues */
	uint64_t hold_queue_full; /* packets refused by full hold queues */
	uint64_t hold_queue_lost; /* packets that waited in hold queues when their process was killed */
	/* dropped: they waited while the process was frozen, and others have passed them; 0 where the library has no such counter */
	uint64_t hold_queue_stale;
	/* that a hold matched and that went on: the process was frozen, or the netdev of hold queues down; 0 likewise */
	uint64_t hold_queue_passed;
} sai_sluice_flow_stats_t;

/** @brief A part of the system below the library that is not as the library made it; texts end with a 0 */
typedef struct _sai_sluice_drift_t {
	uint32_t mendable; /* mend() puts it back; 0: it is another owner's, or a matter of the operator */
	char part[28];	   /* kind of part, a constant such as "clsact" */
	char place[64];	   /* which of them, such as the name of a netdev */
	char fault[128];   /* what is there instead, for the operator */
} sai_sluice_drift_t;

/** @brief API of the extension, by sai_api_query(SAI_API_SLUICE, …) */
/* The start of SAI's custom range of APIs: SAI_API_CUSTOM_RANGE_BASE since SAI 1.16. */
#define SAI_API_SLUICE 0x10000000

typedef struct _sai_sluice_api_t {
	/**
	 * @brief Holds matching packets that leave by the port for the time given, or lets it
	 * pass at a rate
	 *
	 * Set again: refreshes. The switch ends it by itself: waiting packets should then leave
	 * no faster than the next queue takes them. Packets leave in order, none is dropped
	 * unless the hold queue is
	 * full. May be called beside all other calls, from any thread.
	 *
	 * @param[in] port_id Port that the packets leave by; SAI_NULL_OBJECT_ID: any
	 * @param[in] duration_us µs from now; 0 releases, as there is room: what waits leaves
	 * at once
	 * @param[in] rate bit/s that pass; 0: nothing does; SAI_SLUICE_RATE_COUNT
	 */
	sai_status_t (*set_hold)(sai_object_id_t switch_id, sai_object_id_t port_id, const sai_sluice_match_t *match,
				 uint64_t duration_us, uint64_t rate);
	/** @brief Counts of a hold; SAI_STATUS_ITEM_NOT_FOUND once it is over and drained */
	sai_status_t (*get_hold)(sai_object_id_t switch_id, sai_object_id_t port_id, const sai_sluice_match_t *match,
				 sai_sluice_hold_t *hold);
	/** @brief One flow in a queue; SAI_STATUS_ITEM_NOT_FOUND when it has nothing there */
	sai_status_t (*get_flow)(sai_object_id_t queue_id, uint64_t flow, sai_sluice_flow_t *state);
	/** @brief All flows in a queue; SAI_STATUS_BUFFER_OVERFLOW with the count filled in */
	sai_status_t (*get_flows)(sai_object_id_t queue_id, uint32_t *count, sai_sluice_flow_t *flows);
	sai_status_t (*get_flow_stats)(sai_object_id_t switch_id, sai_sluice_flow_stats_t *stats);
	/**
	 * @brief What other programs have taken away or changed below the library; with SAI_SLUICE_AUDITS.
	 *
	 * An audit is in pieces, so that other calls have their turn between them: none has more than
	 * some hundreds of objects. It changes nothing. SAI_STATUS_BUFFER_OVERFLOW with the count
	 * filled in: the piece is to be called again with more room.
	 *
	 * @param[inout] piece 0 begins an audit; becomes the next piece, or 0 after the last
	 */
	sai_status_t (*audit)(sai_object_id_t switch_id, uint32_t *piece, uint32_t *count, sai_sluice_drift_t *drifts);
	/** @brief Puts a part back, as audit() returned it; SAI_STATUS_NOT_SUPPORTED: it is not mendable */
	sai_status_t (*mend)(sai_object_id_t switch_id, const sai_sluice_drift_t *drift);
} sai_sluice_api_t;

#endif
