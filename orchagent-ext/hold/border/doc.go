// SPDX-License-Identifier: Apache-2.0

// Package border translates holds into PFC for ports whose neighbor knows PFC only (draft-yang section
// 3.4, role border): the requests of this node, and the messages by which other nodes hold flows that
// come in by such a port.
//
// Package downstream passes it requests and congested flows, package upstream the messages that changed
// holds; it reads the demands in force from package holder. It decides by package enforce how long a
// priority is paused, and is free of allocations but for more demands than ever before.
package border
