// SPDX-License-Identifier: Apache-2.0

// Package topology builds the fabrics of the simulator: hosts, switches, directed links, and
// the equal-cost paths between each two leaves.
//
// A fabric is a Clos of two tiers, of three, or of two sites that a WAN joins. Rails decide
// only which hosts share a leaf. Package network runs packets over it; it is immutable.
package topology
