// SPDX-License-Identifier: Apache-2.0

// Package roundtrips keeps the round-trip times to hosts, by packets that pass and by reactions to
// advice, and chooses the one that advice goes by.
package roundtrips
