// SPDX-License-Identifier: Apache-2.0
/* Constant tables of the BPF program, computed before it is loaded. */
#ifndef SOFTSAI_TABLES_H
#define SOFTSAI_TABLES_H

#include <stdint.h>

/*
 * crc: for slicing by 4, of draft-hu's draft-literal (0) and IEEE 802.3's CRC-32
 * (1). bth_len: octets from the start of the BTH to the payload, by opcode (IBTA vol.
 * 1, section 9.2.1; annex A14, A17); 12 for an opcode that is not known.
 */
void tables_fill(uint32_t crc[2][4][256], uint8_t bth_len[256]);

#endif
