// SPDX-License-Identifier: Apache-2.0

// Package garbage sets how much garbage the heap of a daemon may hold, by how fast it comes: twice the
// memory in use while much is made, as at a start, and little more than that at rest, where most of
// the memory is tables that stay. The daemons call it; memory in use stays as it is.
package garbage
