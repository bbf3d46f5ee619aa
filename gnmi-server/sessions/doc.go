// SPDX-License-Identifier: Apache-2.0

// Package sessions limits the connections of a listener by state and by address.
//
// A connection is in one of three states, each with a limit of its own:
//
//   - [Handshake]: until TLS is complete;
//   - [Login]: until the first RPC of a user, who is known by then;
//   - [Session]: from then on.
//
// When too many connections wait for a login, the newest stays, and an old one of the
// address with the most connections is closed, a silent one first: a client that floods
// displaces its own connections. Sessions keep their places; those over the limit are
// refused. A connection that is no session by its deadline is closed, and so is one that
// sends too much or asks too often before.
//
// The command wraps its listeners and their TLS in it; package server reports the
// connection of an RPC and whether its user is known. It works below gNMI.
package sessions
