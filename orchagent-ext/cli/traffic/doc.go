// SPDX-License-Identifier: Apache-2.0

// Package traffic makes RoCEv2/IPv6 packets for the sluice tool: generated
// sessions of host pairs ([Generate]), and real RoCEv2/IPv4 packets carried over
// into IPv6 ([Lifter]). It is pure: packets go to a callback, randomness comes
// from a seed, time from the configuration.
package traffic
