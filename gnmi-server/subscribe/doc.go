// SPDX-License-Identifier: Apache-2.0

// Package subscribe sends the updates of one gNMI STREAM subscription: the present state,
// then changes and samples.
//
// Changes wait in a queue by leaf: a leaf that changes again before it is sent is sent
// once, as it is then, with the number of changes in between (duplicates). So the queue
// is bounded by the number of leaves and by its limit: a full queue ends the stream of
// its own client only.
//
// A stream of gRPC is a function that sends to it.
package subscribe
