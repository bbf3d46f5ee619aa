// SPDX-License-Identifier: Apache-2.0

// Package past reads frames from the operator's own Prometheus, or from another server with its HTTP API,
// such as Thanos, Mimir and VictoriaMetrics: a [Source]. It is the store of Sluice.
//
// The rows of a switch are those of one scrape, by the inverse of package metrics. A frame lacks
// the tables that the metrics lack: configuration, holds, and flows unless they are exported.
// The package only reads, and takes answers of a bounded size.
package past
