// SPDX-License-Identifier: Apache-2.0

// Package entries is the registry of the flows that have entries on the switch. [Entries] admits
// new flows to a bounded number of entries, reads their counters, and takes entries from idle
// flows. Placement has its part in each flow.
package entries
