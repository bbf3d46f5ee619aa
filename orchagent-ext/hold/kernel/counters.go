// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/wire/notify"
)

// Counters count since the task began.
type Counters struct {
	Sent, SendFailed   uint64 // PFCM
	PFCSent, PFCFailed uint64 // frames
	Received           uint64 // PFCM that flow control read
	// of these: packets matched what they hold, they ended a hold, or asked for nothing
	Obeyed             uint64
	Held, Refreshed    uint64 // of these
	Refused            [notify.BadSource + 1]uint64
	Sender             uint64 // not from the port's neighbor
	Unverified         uint64 // taken behind an authentication header that nothing has verified
	Policed            uint64 // more than the receive rates allow
	Late               uint64 // pauses that waited longer than they were to last
	Off                uint64 // received PFCM is not obeyed, by configuration
	Full               uint64 // lack of room for another hold
	Ignored            uint64 // their key is ignored since it held without a resume
	UnknownStream      uint64 // holds that no packet matched
	HoldFailed         uint64 // the switch refused a hold
	Watchdog           uint64 // holds that were released, since no resume came
	PPFCWatchdog       uint64 // the same of PPFC
	Unmeasured         uint64 // reductions that ended before the flow's rate was known
	Events, EventsLost uint64 // of the switch
	FlowsFull          uint64 // congested flows that lacked room
	NoNeighbor         uint64 // congested flows of a port whose neighbor is unknown
	Host               uint64 // of a port to hosts, which are sent nothing
	IPv4               uint64 // of IPv4, which PFCM does not know
	Relabelled         uint64 // whose label as the neighbor knows it is lost
	Unreadable         uint64 // whose packet or port the switch did not give
	TxPoliced          uint64 // PFCM that the send rate did not let pass
	NotTranslated      uint64 // PFC cannot say it
	PFCBudget          uint64 // pauses by PFC that used up their budget
	ReadFailed         uint64 // readings of a depth that failed

	PPFCSent, PPFCFailed uint64
	PPFCPoliced          uint64 // that the send rate did not let pass
	// congested flows that no gateway serves; whose family has no router id here
	NoGateway, NoRouterID    uint64
	PPFCReceived             uint64
	PPFCRefused              [notify.BadSource + 1]uint64
	PPFCOff                  uint64 // received PPFC is not obeyed, by configuration
	PPFCSender               uint64 // not from a peer, or of another router id
	PPFCUnverified           uint64 // as Unverified
	PPFCNotServed            uint64 // about sources that this gateway does not serve
	PPFCLate                 uint64 // as Late
	PPFCReceivePoliced       uint64 // more than the receive rate allows
	PPFCOutcome              [enforce.NumOutcomes]uint64
	PPFCObeyed, PPFCUnknown  uint64 // as Obeyed and UnknownStream
	AdviceSent, AdviceFailed uint64
	AdvicePoliced            uint64 // more than the send rate allows
	AdviceNotAllowed         uint64 // flows, and PPFC for clients, whose sender may not receive it
	AdviceQPUnknown          uint64 // flows whose source queue pair was not learned
	AdviceNotFollowing       uint64 // times that a sender began to exceed its advice by far
	LimitedFull              uint64 // flows with a policy that lacked room
	AdviceNoRouterID         uint64 // messages, for want of a router id of the family
	CNPSent, CNPFailed       uint64
	// more than the send rate allows, or the limits of a host and of all
	CNPPoliced uint64
	// flows under a hold, and messages to clients, whose sender may not be slowed
	CNPNotAllowed   uint64
	CNPNotFollowing uint64 // times that a sender began to ignore CNPs
	// packets of flows that found no room to be slowed at their sender, and looks at a target that left flows out
	SeenFull        uint64
	ClientQPUnknown uint64 // clients that could not be told, for want of their queue pair
}

// RefusedFor is how many of the messages that flow control read were refused for a reason.
func (c *Counters) RefusedFor(r notify.Reason) uint64 { return c.Refused[r] }

// Useful returns how many messages had an effect. It only grows.
func (c *Counters) Useful() uint64 {
	n := c.Obeyed + c.Held + c.Refreshed
	for _, outcome := range c.PPFCOutcome {
		n += outcome
	}
	return n
}
