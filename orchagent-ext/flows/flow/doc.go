// SPDX-License-Identifier: Apache-2.0

// Package flow follows RoCEv2 flows: the fields that distinguish them ([Key]), a
// bounded table of them with their counts ([Table]), their queue pairs and how
// each was learned ([Provenance]), the IPv6 flow label by which ECMP spreads them
// ([Algorithm], draft-hu), and the Stream ID that names one in a PFCM message
// (draft-yang).
//
// A Table belongs to one goroutine and allocates only when it is made. The
// package reads no clock: times are nanoseconds that the caller passes.
package flow
