// SPDX-License-Identifier: Apache-2.0

// Package gateway has both ends of PPFC (draft-xz): a [Notifier] notifies the ingress gateways of
// congested flows, and an [Ingress] is this node as such a gateway, which holds the flows of its sources
// and passes the notifications on to their senders ("clients").
//
// Package detector passes signals of flows to the notifier and keeps the [Request] of each flow beside
// it; the ingress gets received messages, and passes their demands to package holder.
package gateway
