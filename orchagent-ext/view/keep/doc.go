// SPDX-License-Identifier: Apache-2.0

// Package keep keeps the last frames of a series in memory: a [History], which is bounded in
// octets and in time. `sluice view` fills it, and shows of it what was a moment ago.
//
// Blocks of frames are outside the heap of Go, which would have as much again for its garbage.
// Time is that of the frames.
package keep
