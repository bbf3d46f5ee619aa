// SPDX-License-Identifier: Apache-2.0

// Package downstream is this node as the downstream node of draft-yang: it has the upstream neighbor
// that a congested flow comes from hold the flow, by PFCM, or by PFC at a border port.
//
// A [Notifier] gets the signals of flows from package detector, which keeps the [Request] of each flow
// beside it. A flow that waits here since a downstream neighbor holds it is asked for until that hold
// ends, and again only when that neighbor has refreshed it: so holds in a loop die.
package downstream
