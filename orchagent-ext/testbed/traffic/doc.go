// SPDX-License-Identifier: Apache-2.0

// Package traffic makes the RoCEv2/IPv6 packets of generated sessions of host pairs
// ([Generate]), for `sluice-lab gen` and the demo. It is pure: packets go to a callback,
// randomness comes from a seed, time from the configuration.
package traffic
