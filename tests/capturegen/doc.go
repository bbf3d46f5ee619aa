// SPDX-License-Identifier: Apache-2.0

// Package capturegen makes capture files octet by octet, for tests of what reads them: pcap
// and pcapng in both byte orders, with any block, option, time or length, wrong ones
// included. It shares no code with the readers and writers of Sluice, and asks tshark for
// the right values.
package capturegen
