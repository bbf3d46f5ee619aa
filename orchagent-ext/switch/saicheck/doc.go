// SPDX-License-Identifier: Apache-2.0

// Package saicheck finds out what a SAI library can do for Sluice: it starts sluiced with
// --sai-check, which makes on one port each call that a method takes, and reports each
// before and after. A library that ends the process, or whose call does not return, is a
// result of the method that was tried: another process removes what is left, and tries the
// other methods.
//
// The tool's sai-check calls [Run]; sluiced reads an [Order] and writes [Event]s. The
// package calls no library.
package saicheck
