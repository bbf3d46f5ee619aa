// SPDX-License-Identifier: Apache-2.0

// Package auth identifies clients and decides which leaves they may read and write.
//
//   - [Certificates]: TLS 1.2 or later, with client certificates if there is a CA;
//     the files are read again when they change;
//   - [Authenticator]: the user of an RPC, from certificate, password or socket; the room
//     host/login has the names and passwords;
//   - [Policy]: rules on paths, for reading and for writing.
//
// It logs that a changed file cannot be read; the previous content then stays in force.
package auth
