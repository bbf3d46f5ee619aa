// SPDX-License-Identifier: Apache-2.0

// Package cli has the commands of the tool sluice. They read RoCEv2 traffic in
// capture files: which RDMA session a packet belongs to, which flow label it
// would get, and how ECMP would spread it; this works for any user, on Linux and
// macOS. They receive the notifications about congestion, with CAP_NET_RAW.
// Beside a daemon they change and show its configuration and state, and collect
// both for support.
//
// A command is a function newXCommand in a file of its name; its calculations are
// in a package below, or in the packages that the daemon shares.
package cli
