// SPDX-License-Identifier: Apache-2.0

// Package login checks the passwords of users. [Users] are names and bcrypt hashes in a file, as
// htpasswd -B writes it; wrong passwords are limited by user and by address. A [File] is read
// again when it changes. sluice-gnmi and the page of sluice view call it. It decides nothing but
// whether a password is right.
//
// It logs that a changed file is in force, or cannot be read; the previous content then stays in force.
package login
