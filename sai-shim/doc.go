// SPDX-License-Identifier: Apache-2.0

// Package sai calls a SAI library (OCP Switch Abstraction Interface): any
// libsai.so, loaded by its path, through the C shim beside it. It is the only
// cgo of the project. Package asic calls it.
//
// It has typed methods and errors for the objects that Sluice uses, and no
// policy: it never decides, retries or remembers, but for lists that turn out
// longer than the room that was tried.
//
// A process has one library open at a time. A [Library] is for one goroutine, with
// these exceptions: the reader of [Library.Packets] may be another, that of
// [Library.ReadFlowEvents], too, and [Library.SetHold], [Library.GetHold],
// [Library.GetFlow], [Library.GetFlows] and [Library.FlowStats] are for any.
package sai
