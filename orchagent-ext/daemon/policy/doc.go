// SPDX-License-Identifier: Apache-2.0

// Package policy derives from a snapshot of the configuration which features are on, and
// the [engine.Policy] that the switch is to follow. It is pure: its functions return values
// of their arguments alone, besides the name of the machine.
package policy
