// SPDX-License-Identifier: Apache-2.0

// Package server is the gNMI service (specification 0.10.0): Capabilities, Get,
// Set and Subscribe, for a client that package auth has named.
//
//   - Get, and Subscribe ONCE and POLL, read the databases when they are asked;
//   - Set reads the configuration, computes the next one, judges it as a whole, and
//     writes it all or none; it answers after Redis has taken it;
//   - a Set that is to be confirmed is taken back unless it is, even if the server
//     was restarted in between: a file has the previous rows;
//   - Subscribe STREAM is package subscribe's.
//
// Its caller opens the sockets. It works on the databases alone, apart from the switch.
package server
