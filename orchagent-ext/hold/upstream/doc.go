// SPDX-License-Identifier: Apache-2.0

// Package upstream is this node as the upstream node of draft-yang: it obeys the PFCM of its downstream
// neighbors, and holds flows that leave by the port that a message came in by.
//
// A [Receiver] checks the sender and the rates of each message, passes its demand to package holder, and
// has package border relay it. It counts each message that it refuses, with the reason.
package upstream
