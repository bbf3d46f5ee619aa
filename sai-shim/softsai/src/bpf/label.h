/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The flow label of draft-hu, "Construction of the Hash Input". Both algorithms
 * are right-shifting CRCs, so four octets go through four tables at once.
 */
#ifndef SOFTSAI_LABEL_H
#define SOFTSAI_LABEL_H

#include <linux/types.h>
#include <bpf/bpf_helpers.h>

/* Tables of both algorithms; filled by the loader, then read-only. */
const volatile __u32 softsai_crc[2][4][256];

/* The 20-bit label. Queue pairs are 24 bits in host order. */
/* conformance: draft-hu/input draft-hu/crc-loop */
static __always_inline __u32 softsai_label(__u32 algorithm, __u32 src_qp, __u32 dst_qp, const __u8 *src,
					   const __u8 *dst)
{
	const volatile __u32(*t)[256] = softsai_crc[algorithm & 1];
	__u32 crc = 0xffffffff;

	crc ^= (src_qp >> 16 & 0xff) | (src_qp & 0xff00) | (src_qp & 0xff) << 16 | (dst_qp >> 16 & 0xff) << 24;
	crc = t[3][crc & 0xff] ^ t[2][crc >> 8 & 0xff] ^ t[1][crc >> 16 & 0xff] ^ t[0][crc >> 24];
	crc ^= (dst_qp >> 8 & 0xff) | (dst_qp & 0xff) << 8 | src[14] << 16 | (__u32)src[15] << 24;
	crc = t[3][crc & 0xff] ^ t[2][crc >> 8 & 0xff] ^ t[1][crc >> 16 & 0xff] ^ t[0][crc >> 24];
	crc = t[0][(crc ^ dst[14]) & 0xff] ^ crc >> 8;
	crc = t[0][(crc ^ dst[15]) & 0xff] ^ crc >> 8;
	if (algorithm & 1)
		crc = ~crc;
	crc &= 0xfffff;
	return crc ? crc : 1; /* 0 means "unlabelled" (RFC 6437) */
}

#endif
