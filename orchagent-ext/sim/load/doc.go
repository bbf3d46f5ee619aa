// SPDX-License-Identifier: Apache-2.0

// Package load has the loads of the simulator: messages between hosts, and which of them wait
// for others. A [Program] is pure: it is asked for the first messages, is given each that
// arrived, and answers with those that may begin then. Package run sends them.
package load
