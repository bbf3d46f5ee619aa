// SPDX-License-Identifier: Apache-2.0

// Package dissectors holds docs/dissectors (Lua for Wireshark, Python for scapy) to
// Sluice's own codecs: both must find in the golden packets what package notify
// decodes, and in exported flows what package ipfix wrote.
package dissectors
