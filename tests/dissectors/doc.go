// SPDX-License-Identifier: Apache-2.0

// Package dissectors holds docs/dissectors (Lua for Wireshark, Python for scapy) to
// Sluice's own codecs: in the golden packets both must find the values that package
// notify decodes, and in exported flows those that package ipfix wrote.
package dissectors
