// SPDX-License-Identifier: Apache-2.0

// Package task runs the parts of sluiced. A [Group] is the goroutines of one run of the
// loop, of which the first fault ends all. A [Part] has a [Worker] while the
// configuration wants it, and replaces it where its settings change. A panic is a
// [Fault] like any other: the loop starts again, and adopts the objects on the switch.
package task
