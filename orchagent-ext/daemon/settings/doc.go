// SPDX-License-Identifier: Apache-2.0

// Package settings makes the settings of each part of sluiced, and the policy of the switch, out of
// a snapshot of the configuration. [Of] alone reads a snapshot: a part gets the values of its own
// settings. It is pure: its functions return values of their arguments alone, besides the name of
// the machine.
package settings
