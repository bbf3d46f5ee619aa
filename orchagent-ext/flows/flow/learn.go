// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"net/netip"

	"sluice/orchagent-ext/wire/roce"
)

// Provenance is the source by which a source queue pair became known.
type Provenance uint8

// How a source queue pair became known.
const (
	None Provenance = iota // it is not known
	DETH                   // it is in the packet
	CM                     // from RDMA-CM, REQ joined with REP
	Ack                    // from the answers of the reverse direction
)

// provenanceNames are the names in rows and output.
var provenanceNames = [...]string{"", "deth", "cm", "ack"}

// String returns "deth", "cm" or "ack", and "" for None.
func (p Provenance) String() string { return provenanceNames[p] }

// endpoint is one direction of a connection: the packets from a source to a queue
// pair of a destination.
type endpoint struct {
	src, dst [16]byte
	destQP   uint32
}

// end is one direction of a connection, with the values that are rarely read.
type end struct {
	endpoint
	refs  uint32 // flows
	srcQP uint32
}

// pair is the state of one direction of a connection. Several flows (of other
// labels or ports) can share it. It is half a cache line, all that a packet
// needs; the rest is in learner.ends.
type pair struct {
	peer uint32 // number + 1 of the other direction, the candidate; 0: none
	// requests that were sent this way, PSNs of 24 bits
	first, high uint32
	next, prev  uint32 // number + 1 of neighbors in the PSN bucket's list
	anchor      uint32 // high when the last vote was counted
	votes       uint8  // answers in a row that named peer
	asked       uint8  // kinds of requests that were sent
	from        Provenance
	requests    bool // first and high hold
	closed      bool // DREQ was seen
	// ambiguous: answers contradicted each other: never learned from answers again
	ambiguous bool
	kept      bool  // is in the ring of pairs that CM announced
	tries     uint8 // answers of this direction that told nothing
}

const (
	// votesNeeded is how many answers must agree on a source queue pair.
	votesNeeded = 3
	// bucketBits is the size of a PSN bucket. An answer looks at three buckets,
	// so that connections less than 1024 PSNs from it make it ambiguous: more
	// than a sender has outstanding.
	bucketBits = 10
	numBuckets = 1 << (24 - bucketBits)
	// patience is how many answers are tried without result; after that only one
	// of so many is.
	patience = 32
)

// learner finds the source queue pairs of connections, which their packets lack.
//
// By RDMA-CM: REQ and REP are joined by their communication ids.
//
// By answers: an acknowledgement or read response with PSN p names the queue pair
// that asked. It is evidence for a connection of the same two addresses only if
// that one has sent p and all others have their PSNs far from p: many libraries
// start every queue pair at PSN 0, and then the PSN is ambiguous. The request
// must have been sent since the vote before, so that each vote is worth a round
// trip, and be of the kind that is answered. Three such answers in a row that
// agree are taken as proof; one that contradicts ends it for both connections.
//
// Connections are found by their newest PSN in lists of 1024 PSNs, so that an
// answer costs three short walks.
//
// Limit: two connections of the same hosts in lockstep, of which only the
// requests of one and only the answers of the other pass here, as on a spine,
// look like one. Labels are written where hosts are attached, and both directions
// pass.
type learner struct {
	secret *secret
	stats  *Stats
	pairs  []pair
	ends   []end // of pairs
	index  index
	free   []uint32
	used   uint32
	heads  []uint32 // lists of pairs by addresses and PSN bucket, number + 1
	// generation counts the changes of source QPs that were known
	generation uint32
	// pairs that CM announced and that have zero flows now; a ring
	kept     []uint32 // number + 1
	keptNext int
	pending  []request

	learned func(src, dst netip.Addr, destQP, srcQP uint32) // may be nil
}

// request is a REQ that waits for its REP.
type request struct {
	src, dst [16]byte
	commID   uint32
	qpn      uint32
	time     int64
	used     bool
}

const (
	// Bounds of RDMA-CM requests that wait for their reply; the lifetime is in ns.
	pendingRequests   = 1024 // a power of 2
	requestLifetimeNs = 60e9
	minKept           = 1024
)

// newLearner returns a learner for capacity connections, with all its memory.
func newLearner(capacity int, secret *secret, stats *Stats) learner {
	kept := max(minKept, capacity/8)
	size := capacity + kept + 1 // one more while a pair enters the ring
	l := learner{
		secret: secret, stats: stats, generation: 1,
		pairs: make([]pair, size), ends: make([]end, size), index: newIndex(size), free: make([]uint32, 0, size),
		kept: make([]uint32, kept), pending: make([]request, pendingRequests),
	}
	l.heads = make([]uint32, len(l.index.slots))
	return l
}

// connected learns from a packet of a connection. settled is its result for the
// flow's packet before: a flow whose source QP is known skips its pair, except
// for one request of 16, to follow its PSNs.
func (l *learner) connected(p *roce.Packet, n, settled uint32) uint32 {
	op := p.Opcode()
	if s := op.Service(); s != roce.ServiceRC && s != roce.ServiceXRC || !op.Known() {
		return settled
	}
	response := op.IsResponse()
	if settled == l.generation && (response || !spotCheck(p.PSN())) {
		return settled
	}
	if !response {
		l.requested(n, asks(op), p.PSN())
	} else if kind := answers(op); kind != 0 {
		if h, ok := p.AETH(); ok && h.Ack() {
			l.answered(n, kind, p.PSN())
		}
	}
	if q := &l.pairs[n]; q.from != None && !q.closed {
		return l.generation
	}
	return 0
}

// spotCheck picks one of 16 PSNs, also where they come in regular steps.
func spotCheck(psn uint32) bool { return psn*0x9e3779b1>>28 == 0 }

// Kinds of requests, by the response that answers them.
const (
	askAck = 1 << iota // sends and writes
	// askRead: reads; flushes and atomic writes get a read response, too
	askRead
	askAtomic // compare and swap, fetch and add
)

// operationMask takes the service off an opcode: XRC's operations are RC's.
const operationMask = 0x1f

// asks returns the kind of a request.
func asks(op roce.Opcode) uint8 {
	switch op & operationMask {
	case roce.RCReadRequest, roce.RCFlush, roce.RCAtomicWrite:
		return askRead
	case roce.RCCompareSwap, roce.RCFetchAdd:
		return askAtomic
	}
	return askAck
}

// answers returns the kind of request that a response answers; 0 for the later
// packets of a read response, whose PSNs follow that of the request.
func answers(op roce.Opcode) uint8 {
	switch op & operationMask {
	case roce.RCAck:
		return askAck
	case roce.RCReadResponseFirst, roce.RCReadResponseOnly:
		return askRead
	case roce.RCAtomicAck:
		return askAtomic
	}
	return 0
}

// requested notes that a request of a kind, with this PSN, was sent.
func (l *learner) requested(n uint32, kind uint8, psn uint32) {
	p := &l.pairs[n]
	if p.closed { // the queue pair is used again, by an unknown peer
		l.forget(n)
	}
	if !p.requests {
		p.requests, p.first, p.high, p.anchor, p.asked = true, psn, psn, (psn-1)&0xffffff, kind
		l.link(n)
		return
	}
	p.asked |= kind
	if !after(psn, p.high) {
		return
	}
	if psn>>bucketBits != p.high>>bucketBits {
		l.unlink(n)
		p.high = psn
		l.link(n)
		return
	}
	p.high = psn
}

// forget takes back all that was learned of a pair.
func (l *learner) forget(n uint32) {
	p := &l.pairs[n]
	l.unlink(n)
	if p.peer != 0 && l.pairs[p.peer-1].peer == n+1 {
		l.pairs[p.peer-1].peer = 0
	}
	*p = pair{kept: p.kept}
	l.ends[n].srcQP = 0
	l.generation++
}

// answered takes an answer to a kind of request, with this PSN and sent on pair
// n, as evidence for the one connection that it can belong to.
func (l *learner) answered(n uint32, kind uint8, psn uint32) {
	q := &l.pairs[n]
	if q.from != None || q.ambiguous {
		return
	}
	if q.tries++; q.tries > patience {
		if q.tries < 2*patience {
			return
		}
		q.tries = patience
	}
	end := &l.ends[n]
	asked, unique := l.candidate(end.dst, end.src, psn)
	p := &l.pairs[asked]
	if !unique || p.from == CM || p.ambiguous || p.asked&kind == 0 || p.from == None && !within(psn, p.first, p.high) {
		l.stats.Ambiguous++
		if q.peer != 0 {
			l.pairs[q.peer-1].votes = 0
		}
		return
	}
	if p.peer == 0 && q.peer == 0 {
		p.peer, q.peer = n+1, asked+1
	}
	if p.peer != n+1 || q.peer != asked+1 {
		l.contradict(n)
		l.contradict(asked)
		return
	}
	q.tries = 0
	if !after(psn, p.anchor) {
		return
	}
	p.anchor = p.high
	if p.votes++; p.votes == votesNeeded {
		// A connection joins two queue pairs, so both directions are known now.
		l.learn(asked, end.destQP)
		l.learn(n, l.ends[asked].destQP)
	}
}

// learn records a source queue pair that answers proved; one that is known stays.
func (l *learner) learn(n, srcQP uint32) {
	if p := &l.pairs[n]; p.from == None {
		p.from, l.ends[n].srcQP = Ack, srcQP
		l.stats.LearnedAck++
		l.tell(n)
	}
}

// tell reports a pair whose source queue pair became known to Config.Learned.
func (l *learner) tell(n uint32) {
	if e := &l.ends[n]; l.learned != nil {
		l.learned(netip.AddrFrom16(e.src).Unmap(), netip.AddrFrom16(e.dst).Unmap(), e.destQP, e.srcQP)
	}
}

// contradict ends learning by answers for a pair and the one that it seemed to
// belong to.
func (l *learner) contradict(n uint32) {
	peer := l.pairs[n].peer
	l.withdraw(n)
	if peer != 0 {
		l.withdraw(peer - 1)
	}
}

// withdraw excludes a connection from learning by answers. A source queue pair that
// answers proved becomes unknown again.
func (l *learner) withdraw(n uint32) {
	p := &l.pairs[n]
	p.ambiguous, p.peer, p.votes = true, 0, 0
	if p.from == Ack {
		p.from, l.ends[n].srcQP = None, 0
		l.stats.Withdrawn++
		l.generation++
	}
}

// candidate returns the only connection from src to dst whose newest PSN is
// near psn, if there is exactly one.
func (l *learner) candidate(src, dst [16]byte, psn uint32) (n uint32, unique bool) {
	addresses := l.addresses(src, dst)
	bucket := psn >> bucketBits
	for _, b := range [...]uint32{bucket, (bucket + 1) % numBuckets, (bucket - 1) % numBuckets} {
		for i := l.heads[l.head(addresses, b)]; i != 0; {
			p := &l.pairs[i-1]
			if e := &l.ends[i-1]; p.high>>bucketBits == b && e.src == src && e.dst == dst {
				if unique {
					return 0, false
				}
				n, unique = i-1, true
			}
			i = p.next
		}
	}
	return n, unique
}

// after reports whether PSN a comes behind b, by serial number arithmetic.
func after(a, b uint32) bool { return a != b && (a-b)&0xffffff < 1<<23 }

// within reports whether PSN x lies between first and last.
func within(x, first, last uint32) bool { return !after(first, x) && !after(x, last) }
