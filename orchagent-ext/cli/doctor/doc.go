// SPDX-License-Identifier: Apache-2.0

// Package doctor judges whether Sluice helps a fabric, and whether a machine is ready
// for it. [Judge] turns facts into verdicts, each with the next step; [Traffic] sums up
// the packets that passed. Both are pure: the command `sluice doctor` collects the facts.
package doctor
