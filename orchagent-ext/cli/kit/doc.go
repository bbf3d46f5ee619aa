// SPDX-License-Identifier: Apache-2.0

// Package kit has the parts that the commands of sluice and of sluice-lab share: values of
// flags, errors of usage, completion, and how a program runs a command line. It knows no
// command.
package kit
