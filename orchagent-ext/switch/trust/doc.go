// SPDX-License-Identifier: Apache-2.0

// Package trust decides how far a SAI library is trusted.
//
//   - A [Watch] records the call that is being made in a file that outlives the process
//     (journal.go), so that the next process reads which call [Ended] this one.
//   - A [Guard] excludes the method, or the call that reads, that ended a process
//     (exclusions.go), and publishes a call that hangs. Its [Driver] attributes each change of
//     the switch to a method.
//   - A [Reporter] tries each method on one port, for `sluiced --sai-check`.
//
// Only a Guard ends the process, after SIGTERM, where a call hangs.
package trust
