// SPDX-License-Identifier: Apache-2.0

// Package subscribe sends the updates of one gNMI STREAM subscription: the state
// there is, then what changes and what is sampled.
//
// Changes wait in a queue by leaf: a leaf that changes again before it is sent is sent
// once, as it is then, with the number of changes in between (duplicates). So the
// queue is bounded by the number of leaves and by its limit: a full queue ends the
// stream of its client, and affects no other client.
//
// Package server calls it. It knows no gRPC stream but a function that sends.
package subscribe
