// SPDX-License-Identifier: Apache-2.0

// Package placement is placement in sluiced. [Placement] keeps flows placed by the method
// that the engine has chosen: by labels (package placer), or by rules to next hops (package
// redirect). With scope fabric it shares the loads of this leaf through etcd. It reads next
// hops by netlink, and their order on the switch from ASIC_DB.
//
// Rules change in a task beside the loop, with the samples and the news of next hops. A switch that
// is for one goroutine alone gets its calls from the loop, as a [Request], one rule at a time: a
// rule that takes long holds up the loop for its own time only.
package placement
