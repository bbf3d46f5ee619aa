// SPDX-License-Identifier: Apache-2.0

// Package gate gives turns at the switch. A SAI library takes one call at a time, and one call
// lasts 10 to 90 ms with some of them. So each call is a turn of its own: a caller takes the turn,
// calls, and leaves. Package sai does that for each call of a handle that has a [Turn].
//
// The rule, in order:
//
//   - one caller has the turn, for one call;
//   - it goes to the waiting caller of the highest [Priority], and there to who waits longest;
//   - [Statistics] gets it once the other priorities have left the switch alone for [Pause]: a
//     caller that programs many objects comes back at once.
//
// Each of the other priorities has one goroutine. So a reading of [Depth] waits for one call of
// programming at most. Statistics may wait for as long as the others want the switch.
//
// The calls of the extension's API (set_hold, get_hold, get_flow) run beside all others, in the
// real-time thread, and take no turn. A turn is in the goroutine of its caller.
package gate
