// SPDX-License-Identifier: Apache-2.0

// Package sai calls a SAI library (OCP Switch Abstraction Interface): any
// libsai.so, loaded by its path, through the C shim beside it. It is the only
// cgo of the project.
//
// It creates, sets, reads and removes objects by the attributes of package saiattr, with
// typed errors, and leaves policy to its caller. It repeats a call only for lists that
// are longer than the room that was tried, and remembers only which statistics of queues
// the library has.
//
// A process has one library open at a time. A [Library] is a handle of it for one goroutine, with
// these exceptions: the reader of [Library.Packets] may be another, that of
// [Library.ReadFlowEvents], too, and [Library.SetHold], [Library.GetHold],
// [Library.GetFlow], [Library.GetFlows] and [Library.FlowStats] are for any. Other goroutines have
// handles of their own ([Library.Beside]), whose calls take turns ([Turns]).
package sai
