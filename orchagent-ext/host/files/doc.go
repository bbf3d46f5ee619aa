// SPDX-License-Identifier: Apache-2.0

// Package files reads and writes the files of the daemon and the tool.
//
// [Reader] reads files that leaves of CONFIG_DB name: certificates, keys and passwords. A
// user who can write a row could otherwise read every file of the machine as root. So it
// reads only small regular files below the operator's folders, and only those that root
// or the daemon's own user alone can write. Passwords have a folder of their own, and
// files of other parts of Sluice are refused: the same row names the peer that gets the
// password. It returns at once: a FIFO, a device or a socket is refused. Files of the
// command line, which the caller's own user names, are read elsewhere.
//
// [ReadState] and [WriteState] keep state across restarts and reboots, in small JSON files
// that only their owner reads. State that a process can do without is read by
// [ReadOptional], which sets damaged files aside.
package files
