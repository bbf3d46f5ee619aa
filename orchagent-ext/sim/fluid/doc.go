// SPDX-License-Identifier: Apache-2.0

// Package fluid computes the rates of flows as if they were fluids: max-min fair shares of
// links. Methods that decide within seconds, such as rules to next hops, start a run of
// packets from the state that they reach on these rates. The package is pure.
package fluid
