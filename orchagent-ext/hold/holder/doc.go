// SPDX-License-Identifier: Apache-2.0

// Package holder holds flows as long as other nodes ask for it: it has the demands in force (package
// enforce), sets the holds that result by an [Enforcer], the switch or the senders of the flows, and
// checks which of them match packets.
//
// Packages upstream and gateway pass it the demands of messages that they have checked; packages
// border, downstream and source read the holds in force. It sends no messages, and reads no
// addresses of senders.
package holder
