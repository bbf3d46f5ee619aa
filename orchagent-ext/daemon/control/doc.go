// SPDX-License-Identifier: Apache-2.0

// Package control is flow control in sluiced: [Control] runs the real-time task of package
// flowcontrol while notifications are configured, with the sockets of its messages and the
// watcher of its neighbors, sets the marks of queues, and returns the rows of holds, of
// congested flows and of notifications.
package control
