// SPDX-License-Identifier: Apache-2.0

// Package etcd connects to the etcd that the nodes of a domain share, and keeps a [Board]
// there: a row of each node under its lease, one elected node, and its publications for
// the others, each of which is put in force as a whole.
//
// Rows are texts to it; their meaning is its caller's.
//
// # Keys of a board
//
//	/sluice/DOMAIN/NAME/row/NODE            the node's row, under its lease
//	/sluice/DOMAIN/NAME/leader              the elected node, under its lease
//	/sluice/DOMAIN/NAME/part/NUMBER/NODE    the part that is published for a node
//	/sluice/DOMAIN/NAME/published           the NUMBER whose parts are all there
//
// The leader writes the parts first, in as many transactions as it takes, and published
// last. Each transaction asks whether it still leads. A leader that dies between two parts
// leaves published as it was, so that every node goes on with the parts of before; the next
// leader removes the others.
package etcd
