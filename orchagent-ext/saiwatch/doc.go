// SPDX-License-Identifier: Apache-2.0

// Package saiwatch keeps in mind which call of a SAI library is being made, in a file that
// outlives the process: a call that takes too long is told while it does ([Watch.Open]),
// and the next process is told of the call that ended this one ([Ended]). sluiced opens
// it. It makes no call, and ends no process.
package saiwatch
