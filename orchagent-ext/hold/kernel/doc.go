// SPDX-License-Identifier: Apache-2.0

// Package kernel has the parts that the machines of flow control share: the clock, the ports, the
// messages that go out ([Outbox]), the counters, and the names of flows and sessions.
//
// Package flowcontrol makes one [Kernel] and passes it to each machine (packages upstream, holder,
// border, downstream, gateway, advisor, source, detector). All of it is for the one thread of flow
// control, and is free of allocations once it was made. It makes no decision about a flow.
package kernel
