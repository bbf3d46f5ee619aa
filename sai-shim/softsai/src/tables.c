// SPDX-License-Identifier: Apache-2.0
#include "tables.h"

#include <string.h>

/* The draft shifts right and takes the polynomial as it is written for a left shift. */
static const uint32_t polynomials[2] = { 0x04c11db7, 0xedb88320 };

static void fill_crc(uint32_t t[4][256], uint32_t polynomial)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ polynomial * (crc & 1);
		t[0][i] = crc;
	}
	for (int n = 1; n < 4; n++)
		for (int i = 0; i < 256; i++)
			t[n][i] = t[0][t[n - 1][i] & 0xff] ^ t[n - 1][i] >> 8;
}

#define BTH 12
#define RETH 16
#define AETH 4
#define IMM 4
#define ATOMIC 28
#define ATOMIC_ACK 8
#define IETH 4
#define FETH 4
#define DETH 8
#define XRCETH 4
#define CNP_RESERVED 16

/* Headers after the BTH of a connected service, by the low 5 bits of the opcode. */
static const uint8_t extended[32] = {
	[0x03] = IMM,	      [0x05] = IMM,	   [0x06] = RETH, [0x09] = IMM,
	[0x0a] = RETH,	      [0x0b] = RETH + IMM, [0x0c] = RETH, [0x0d] = AETH,
	[0x0f] = AETH,	      [0x10] = AETH,	   [0x11] = AETH, [0x12] = AETH + ATOMIC_ACK,
	[0x13] = ATOMIC,      [0x14] = ATOMIC,	   [0x16] = IETH, [0x17] = IETH,
	[0x1c] = FETH + RETH, [0x1d] = RETH,
};

/* The operations that there are, as bits. */
static const uint32_t rc_operations = 0x30dfffff;
static const uint32_t uc_operations = 0x00000fff;
static const uint32_t responses = 0x0007e000; /* opcodes of XRC without its XRCETH */

void tables_fill(uint32_t crc[2][4][256], uint8_t bth_len[256])
{
	for (int i = 0; i < 2; i++)
		fill_crc(crc[i], polynomials[i]);
	memset(bth_len, BTH, 256);
	for (int op = 0; op < 32; op++) {
		if (rc_operations >> op & 1) {
			bth_len[op] = BTH + extended[op];
			bth_len[0xa0 | op] = BTH + extended[op] + (responses >> op & 1 ? 0 : XRCETH);
		}
		if (uc_operations >> op & 1)
			bth_len[0x20 | op] = BTH + extended[op];
	}
	bth_len[0x64] = BTH + DETH;
	bth_len[0x65] = BTH + DETH + IMM;
	bth_len[0x81] = BTH + CNP_RESERVED;
}
