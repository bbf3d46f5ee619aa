// SPDX-License-Identifier: Apache-2.0

// Command rough runs Sluice in rough weather: bursts, weights, churn, storms and busy CPUs, with
// the built programs in network namespaces. It needs root and `make build`; `make rough` runs
// all scenarios, and TestShortScenariosMeetTheirBars a part of them in `make test`.
//
// A scenario is an entry of the list in scenarios.go. It builds a network, starts sluiced in it
// ([site.Site]), lets a generator send ([generator], frames.go), and returns a [result], whose bars
// [result.judge] applies. Generator and judge share code with the daemon nowhere: they build
// and parse packets by themselves (frames.go), judge order by the PSNs that arrive
// ([arrivals]), and the use of paths by the ports' counters beside the octets that were sent
// ([windows]). Scenarios of holds send streams ([pour], stream.go), whose packets are numbered, and
// follow each to its receiver ([fates]). Rows of the databases are written and read by sonicdb; of those, only the
// counters moves, waiting and hold_queue_full are in a result.
//
// The report is build/rough/report.json, see [report].
package main
