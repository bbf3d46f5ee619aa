// SPDX-License-Identifier: Apache-2.0

// Package framefile keeps frames in a file: a [Writer] adds them, within a size, and a [File] is
// their source. `sluice record` and `sluice sim --record` write, `show --at` and `sluice view` read.
//
// A file is a line that names the format, and blocks of package frame. A block is written at
// once: a process that is killed loses the block under way, and a file that is cut
// anywhere has all blocks before that place.
package framefile
