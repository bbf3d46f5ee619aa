// SPDX-License-Identifier: Apache-2.0

// Package rooms holds every import of the tree to the order of rooms in
// docs/architecture.md, and types and the packages of the daemon to their size. It has tests only.
package rooms
