// SPDX-License-Identifier: Apache-2.0

// Package dissectors holds docs/dissectors (Lua for Wireshark, Python for scapy) to
// Sluice's own codecs: in the golden packets both must find the values that package
// notify decodes, and in exported flows those that package ipfix wrote. In messages and records
// with values of the test's own both, and a decoder that is written here, must find these.
package dissectors
