// SPDX-License-Identifier: Apache-2.0

package traffic

import "sluice/orchagent-ext/wire/roce"

// setUp connects every queue pair by REQ, REP and RTU.
func (g *generator) setUp() error {
	for i := range g.qps {
		q, id := &g.qps[i], uint32(i)
		// The starting PSN of a message is that of its receiver's direction: B
		// sends no requests, so A names 0, and B names A's first.
		for _, m := range []roce.CM{
			{Attribute: roce.CMReq, LocalCommID: commA | id, LocalQPN: q.a},
			{Attribute: roce.CMRep, LocalCommID: commB | id, RemoteCommID: commA | id, LocalQPN: q.b, StartingPSN: q.start},
			{Attribute: roce.CMRtu, LocalCommID: commA | id, RemoteCommID: commB | id},
		} {
			if err := g.cm(q, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// tearDown ends every connection from A's side.
func (g *generator) tearDown() error {
	for i := range g.qps {
		q, id := &g.qps[i], uint32(i)
		for _, m := range []roce.CM{
			{Attribute: roce.CMDreq, LocalCommID: commA | id, RemoteCommID: commB | id, RemoteQPN: q.b},
			{Attribute: roce.CMDrep, LocalCommID: commB | id, RemoteCommID: commA | id},
		} {
			if err := g.cm(q, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// Communication ids are the connection's number behind the side's letter.
const (
	commA = 0xa << 28
	commB = 0xb << 28
)

// cm emits one message of connection management, by UD to queue pair 1, the general
// service interface.
func (g *generator) cm(q *qp, m roce.CM) error {
	b := g.begin(q, m.LocalCommID>>28 == commA>>28, cmSport)
	b = roce.BTH{Opcode: roce.UDSendOnly, PKey: pkey, DestQP: 1}.Append(b)
	return g.finish(m.Append(b))
}
