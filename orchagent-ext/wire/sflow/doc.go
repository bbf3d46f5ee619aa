// SPDX-License-Identifier: Apache-2.0

// Package sflow reads the packets that agents sampled out of sFlow version 5 datagrams, in
// place and without allocating. Commands that read captures call it: SONiC's switches send
// samples of forwarded packets to a collector. Counters, and records other than raw packet
// headers, are passed over. The package is pure.
//
// Source: sFlow version 5 (sflow.org, July 2004), section 5.
package sflow
