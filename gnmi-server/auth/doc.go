// SPDX-License-Identifier: Apache-2.0

// Package auth identifies clients and decides which leaves they may read and write.
//
//   - [Certificates]: TLS 1.2 or later, with client certificates if there is a CA;
//     the files are read again when they change;
//   - [Users]: names and bcrypt hashes in a file, as htpasswd -B writes it; wrong
//     passwords are limited by user and by address;
//   - [Authenticator]: the user of an RPC, from certificate, password or socket;
//   - [Policy]: rules on paths, for reading and for writing.
//
// It logs only that a changed file cannot be read; the previous content then stays in force.
package auth
