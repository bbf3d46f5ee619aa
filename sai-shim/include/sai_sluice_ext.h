/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sai_sluice_ext.h
 *
 * @brief Extension of SAI for RoCEv2: IPv6 flow labels written by the pipeline,
 * and the share of single flows in an egress queue
 *
 * This is what Sluice offers to vendors of switch ASICs: attributes in SAI's
 * custom ranges. A library that has them says so by
 * sai_query_attribute_capability() for SAI_OBJECT_TYPE_ACL_ENTRY and the
 * attribute (create_implemented); SAI's own lists of actions have no place for
 * them. A library that lacks them answers NOT_SUPPORTED there, or refuses the
 * attribute (SAI_STATUS_ATTR_NOT_SUPPORTED_0 + its index) on create, and Sluice
 * takes another means.
 *
 * A library that has the same under ids of its own needs no new build of Sluice:
 * the SAI profile maps them, by the keys
 *     SLUICE_EXT_SET_IPV6_FLOW_LABEL
 *     SLUICE_EXT_COMPUTE_IPV6_FLOW_LABEL
 * with the id as value, decimal or with 0x.
 */
#ifndef SAI_SLUICE_EXT_H
#define SAI_SLUICE_EXT_H

#ifndef SAI_ABI_H
#include <sai.h> /* of the vendor */
#endif

/**
 * @brief Attributes of SAI_OBJECT_TYPE_ACL_ENTRY
 *
 * The first two write the flow label of packets that carry RoCEv2 (UDP destination port
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

	/**
	 * @brief Watch how much of its egress queue a flow fills: the high-water mark
	 *
	 * All packets that match the entry are one flow. When their octets in the
	 * egress queue pass the parameter u32 the switch raises
	 * SAI_SWITCH_ATTR_FLOW_MONITOR_EVENT_NOTIFY; not again before they were below
	 * the low-water mark.
	 *
	 * @type sai_acl_action_data_t sai_uint32_t
	 * @flags CREATE_AND_SET
	 * @default disabled
	 */
	SAI_ACL_ENTRY_ATTR_ACTION_FLOW_MONITOR_HIGH = 0x10000002,

	/**
	 * @brief The low-water mark beside it, in octets; below the high one
	 *
	 * @type sai_acl_action_data_t sai_uint32_t
	 * @flags CREATE_AND_SET
	 * @default disabled: half the high one
	 */
	SAI_ACL_ENTRY_ATTR_ACTION_FLOW_MONITOR_LOW = 0x10000003,

	/**
	 * @brief Octets of the flow in its egress queue now
	 *
	 * @type sai_uint64_t
	 * @flags READ_ONLY
	 */
	SAI_ACL_ENTRY_ATTR_FLOW_OCCUPANCY = 0x10000004,
};

/** @brief Attributes of SAI_OBJECT_TYPE_SWITCH */
enum {
	/**
	 * @brief Event of flow monitors: sai_flow_monitor_event_notification_fn
	 *
	 * @type sai_pointer_t sai_flow_monitor_event_notification_fn
	 * @flags CREATE_AND_SET
	 * @default NULL
	 */
	SAI_SWITCH_ATTR_FLOW_MONITOR_EVENT_NOTIFY = 0x10000000,
};

/**
 * @brief A flow passed a mark
 *
 * Called from a thread of the library; it must not call the library.
 *
 * @param[in] switch_id Switch
 * @param[in] entry_id ACL entry that watches the flow
 * @param[in] queue_id Egress queue
 * @param[in] octets Octets of the flow in the queue then
 * @param[in] high Which mark was passed: the high one upwards, or else the low one downwards
 */
typedef void (*sai_flow_monitor_event_notification_fn)(sai_object_id_t switch_id, sai_object_id_t entry_id,
						       sai_object_id_t queue_id, uint64_t octets, bool high);

/** @brief Hash behind a computed flow label */
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

/** @brief Flag beside the algorithm: leave labels that are not 0 */
#define SAI_SLUICE_FLOW_LABEL_ZERO_ONLY 0x100

/** @brief Flag beside the algorithm: write the outermost header of IPv6 tunnels, too */
#define SAI_SLUICE_FLOW_LABEL_OUTER 0x200

#endif
