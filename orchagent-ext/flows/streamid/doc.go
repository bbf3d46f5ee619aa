// SPDX-License-Identifier: Apache-2.0

// Package streamid gives flows Stream IDs of scope "global": one id a flow in a
// domain of nodes, kept in etcd (draft-yang, PFCM). [Global] is a
// [flow.Allocator].
//
// The packet path may call [Global.ID], which returns at once. Callers decide which flows
// need an id; messages and measurements are theirs, too.
//
// # Keys in etcd
//
// Each node has a lease, and under it a reference to each of its flows, in both
// directions:
//
//	/sluice/DOMAIN/node/LEASE       the node's name; its revision is the fence
//	/sluice/DOMAIN/flow/FLOW/LEASE  the flow's id
//	/sluice/DOMAIN/id/ID/LEASE      the flow
//
// A reference is written by a transaction only if all references of the flow, if any,
// name this id, and all references to this id are of the flow. So all references of a
// flow name one id, all of an id name one flow, and both are free when the last node's
// reference is gone. Leases do the cleaning.
//
// A transaction whose answer is lost may have been carried out, or may yet be. So each
// that writes asks for the revision of the node's key and moves it: it is carried out
// once at most. After a lost answer that key is written again, so that a transaction
// still under way fails, and the state is read again: to claim an id that one has, or to
// remove a key that is gone, has no effect.
//
// # When an id ceases to be valid
//
// The lease is granted for the validity and the quarantine together, 10 s and 5 s
// ([Validity], [Quarantine]), and renewed every quarter of the validity. etcd counts from
// the moment it grants or renews, this node from the moment before it asked, on its own
// monotonic clock, and only to the validity. At that deadline every id of the node ceases
// to be valid ([ErrLost]), by the clock alone. etcd frees it the quarantine later at the
// earliest. The quarantine pays for three things:
//   - messages about the flow that are still under way;
//   - a caller that asked just before the deadline and acts just after it;
//   - clocks that run apart (15 s at 200 ppm are 3 ms).
//
// A flow that is released keeps its reference in etcd for the quarantine, too.
//
// A renewal counts only if the node's key is still there by a linearized read after it,
// under a leader of the same term: a member of etcd that hangs on its disk can be deposed
// and still answer renewals, which the new leader does not know.
//
// Some losses are noticed at the next renewal only: that an operator revokes the lease or
// deletes the domain, that etcd itself revokes it wrongly (a leader that hangs can, in
// etcd before 3.4.31 and 3.5.13), or that the machine's clock stopped, as that of a
// suspended virtual machine. Until then, at most a quarter of the validity and the time
// of a request, another node could be given the same id. References that another program
// deletes, though it leaves the node's key, are missed within half the validity: the keys
// under the lease are listed that often. It counts as a loss of the lease.
//
// After a loss the node takes a new lease and claims all its flows again: the
// same id if it is free or another node keeps it for the flow, else a new one.
package streamid
