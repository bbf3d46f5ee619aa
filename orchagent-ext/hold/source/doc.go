// SPDX-License-Identifier: Apache-2.0

// Package source holds flows at their senders, for switches that hold no single flow: the node that
// serves a sender slows it by Rate Advice or CNPs, and a node further down passes PFCM on to the
// neighbor that the flow comes from.
//
// A [Source] knows flows by their packets that come to the CPU. It implements the interface by which
// package holder carries out holds, and reads there which hold a flow is under. Package dcqcn decides
// when CNPs are due.
package source
