// SPDX-License-Identifier: Apache-2.0

// Package saicheck finds out which methods a SAI library supports: it starts sluiced with
// --sai-check, which makes on one port each call that a method takes, and reports each
// before and after. A library that ends the process, or whose call hangs, is a result of
// the method that was tried: another process removes the objects that are left, and tries
// the other methods.
//
// The tool's sai-check calls [Run]; sluiced reads an [Order] and writes [Event]s. The
// library is loaded by sluiced alone.
package saicheck
