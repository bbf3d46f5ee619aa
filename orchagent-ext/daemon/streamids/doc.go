// SPDX-License-Identifier: Apache-2.0

// Package streamids gives Stream IDs to the flows in SLUICE_FLOW, by the scope that is
// configured: computed, unique on this switch, or unique in a domain of etcd. Nothing in it
// waits: a flow that lacks an ID is asked for again at the next [IDs.Show].
package streamids
