// SPDX-License-Identifier: Apache-2.0

// Package placement is placement in sluiced. [Placement] keeps flows placed by the method
// that the engine has chosen: by labels (package placer), or by entries to next hops (package
// redirector). With scope fabric it shares the loads of this leaf through etcd. It reads next
// hops by netlink, and their order on the switch from ASIC_DB.
package placement
