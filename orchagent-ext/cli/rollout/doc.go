// SPDX-License-Identifier: Apache-2.0

// Package rollout changes the configuration of many switches by gNMI, all or none, for `sluice
// config` and `sluice rollback` with --target.
//
// [Read] reads all switches and judges the change of each: all must answer and take it before
// anything is written. [Plan.Write] then goes by gNMI's commit confirmed extension: a Set for each
// switch, which the switch takes back by itself unless it is confirmed in time; the rows are read
// back; and when all switches hold the change, it is confirmed. A failure anywhere cancels the
// commits of the others. Where a switch has confirmed already, the inverse of its change is
// written. Where this program ends in the middle, or a switch is away, the commit ends by itself.
//
// [Disable] is for the change that only disables: each switch that answers is written at once and
// for good.
//
// [Journals] keep the rows that changes replaced. Flags and output are those of package cli.
package rollout
