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
	None Provenance = iota // unknown
	DETH                   // it is in the packet
	CM                     // from RDMA-CM, REQ joined with REP
	Ack                    // from the answers of the reverse direction
)

// provenanceNames are the names in rows and output.
var provenanceNames = [...]string{"", "deth", "cm", "ack"}

// String returns "deth", "cm" or "ack", and "" for None. p is one of the constants;
// another value panics.
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
	peer uint32 // number + 1 of the other direction, the candidate, or 0
	// requests that were sent this way, PSNs of 24 bits
	first, high uint32
	next, prev  uint32 // number + 1 of neighbors in the PSN bucket's list
	anchor      uint32 // high when the last vote was counted
	votes       uint8  // the weight of answers in a row that named peer
	// kinds of requests that were sent; 0: none, first and high do not hold
	asked  uint8
	from   Provenance
	closed bool  // DREQ was seen
	kept   bool  // is in the ring of pairs that CM announced
	doubts uint8 // contradictions between answers; see votesNeeded
	tries  uint8 // answers of this direction that proved useless
	// steady: requests in a row that followed the one before, up to maxSteady. A gap ends
	// such a run with 0, as one packet may be lost; below 0: more gaps in a row, down to
	// -maxSteady
	steady int8
}

const (
	// bucketBits is the size of a PSN bucket. An answer is compared with the connections
	// in three buckets, up to 1024 PSNs from it and more: as many as a sender has outstanding.
	bucketBits = 10
	numBuckets = 1 << (24 - bucketBits)
	// patience is how many answers are tried without result; after that only one
	// of sparseTries is.
	patience    = 128
	sparseTries = 16
	// maxNear is how many connections near its PSN an answer is compared with.
	maxNear = 32

	// A connection whose last wholeRun requests all followed each other passes here whole.
	// Then an answer to a PSN that is skew or more above its newest one is of another
	// connection: rings are read less than that out of step.
	wholeRun, skew = 16, 32
	// A connection with sampledRun gaps in a row passes here in part.
	sampledRun = -4
	maxSteady  = 100

	// The weight of an answer as evidence for a connection that passes here whole, and for one
	// of which a sample passes: others may have sent nothing that came here.
	voteWhole, voteSampled = 3, 1
)

// votesNeeded is the weight of answers that must agree on a source queue pair, after so
// many contradictions: that of three answers to requests that all pass here. Answers that
// contradicted each other have to agree for longer, and are ignored in the end.
var votesNeeded = [...]uint8{9, 96, 192}

// learner finds the source queue pairs of connections, which their packets lack.
//
// By RDMA-CM: REQ and REP are joined by their communication ids.
//
// By answers: an acknowledgement or read response with PSN p names the queue pair
// that asked. It is evidence for a connection of the same two addresses only if
// that one has sent p and all others cannot have been asked for it: their PSNs are
// far from p, or they pass here whole and have not sent p yet, or their own queue pair is
// known. Many libraries start every queue pair at PSN 0, and as long as connections
// are in step the PSN is ambiguous. The request
// must have been sent since the vote before, so that each vote is worth a round
// trip, and be of the kind that is answered. Three such answers in a row that
// agree are taken as proof, or nine where only a sample of the requests passes. Those between
// them to requests that did not pass here yet, such as the end of a burst of which the first
// packets did, are no evidence. One that contradicts makes both connections wait for more;
// after a proof it ends learning by answers for both.
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
	// Bounds of RDMA-CM requests that wait for their reply, of which hosts send a thousand at once as
	// a job begins; the lifetime is in ns. A request is in one of requestWays places.
	pendingRequests   = 4096
	requestWays       = 16
	requestLifetimeNs = 60e9
	minKept           = 1024
)

// newLearner returns a learner for capacity connections, with its memory but for the index and heads.
func newLearner(capacity int, secret *secret, stats *Stats) learner {
	kept := max(minKept, capacity/8)
	size := capacity + kept + 1 // one more while a pair enters the ring
	return learner{
		secret: secret, stats: stats, generation: 1,
		pairs: make([]pair, size), ends: make([]end, size), free: make([]uint32, 0, size),
		kept: make([]uint32, kept), pending: make([]request, pendingRequests),
	}
}

// connected learns from a packet of a connection, with its key. settled is its result for the
// flow's packet before: a flow whose source QP is known skips its pair, except
// for one request of 16, to follow its PSNs.
func (l *learner) connected(p *roce.Packet, k *Key, n, settled uint32) uint32 {
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
			l.answered(k, n, kind, p.PSN())
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
	if p.asked == 0 {
		p.first, p.high, p.anchor, p.asked = psn, psn, (psn-1)&0xffffff, kind
		l.link(n)
		return
	}
	p.asked |= kind
	if !after(psn, p.high) {
		return
	}
	if psn == (p.high+1)&0xffffff {
		p.steady = min(max(p.steady, 0)+1, maxSteady)
	} else {
		p.steady = max(min(p.steady-1, 0), -maxSteady)
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

// answered takes an answer to a kind of request, with this PSN and sent on pair n, of
// which k is the key, as evidence for the one connection that it can belong to.
func (l *learner) answered(k *Key, n uint32, kind uint8, psn uint32) {
	q := &l.pairs[n]
	if q.from != None || q.excluded() {
		return
	}
	if q.tries++; q.tries > patience {
		if q.tries < patience+sparseTries {
			return
		}
		q.tries = patience
	}
	asked, ok := l.candidate(k, psn)
	p, weight := &l.pairs[asked], uint8(0)
	if ok {
		weight = p.weight(kind, psn)
	}
	if weight == 0 {
		l.stats.Ambiguous++
		unseen := ok && q.peer == asked+1 && after(psn, p.high)
		if q.peer != 0 && !unseen {
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
	if p.votes += weight; p.votes >= votesNeeded[max(p.doubts, q.doubts)] {
		// A connection joins two queue pairs, so both directions are known now.
		l.learn(asked, k.DestQP)
		l.learn(n, l.ends[asked].destQP)
	}
}

// excluded reports whether answers contradicted each other too often to learn from them.
func (p *pair) excluded() bool { return int(p.doubts) >= len(votesNeeded) }

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

// contradict takes back the evidence for a pair and the one that it seemed to belong to.
func (l *learner) contradict(n uint32) {
	peer := l.pairs[n].peer
	l.withdraw(n)
	if peer != 0 {
		l.withdraw(peer - 1)
	}
}

// withdraw makes a connection need more evidence. A source queue pair that answers proved
// becomes unknown again, and the connection is excluded from learning by answers.
func (l *learner) withdraw(n uint32) {
	p := &l.pairs[n]
	p.peer, p.votes = 0, 0
	if p.from == Ack {
		p.doubts, p.from, l.ends[n].srcQP = uint8(len(votesNeeded)), None, 0
		l.stats.Withdrawn++
		l.generation++
	}
	if !p.excluded() {
		p.doubts++
	}
}

// candidate returns the only connection that an answer with this key and PSN can be an
// answer to; ok is false where there is no such connection, or several.
func (l *learner) candidate(k *Key, psn uint32) (only uint32, ok bool) {
	src, dst := k.Session()
	addresses, bucket := l.addresses(dst, src), psn>>bucketBits
	near, possible, others := 0, 0, 0
	for _, b := range [...]uint32{bucket, (bucket + 1) % numBuckets, (bucket - 1) % numBuckets} {
		for i := l.heads[l.head(addresses, b)]; i != 0; i = l.pairs[i-1].next {
			p := &l.pairs[i-1]
			a := &l.ends[i-1]
			if p.high>>bucketBits != b || a.src != dst || a.dst != src {
				continue
			}
			if near++; near > maxNear {
				return 0, false
			}
			switch {
			case p.from != None && a.srcQP != k.DestQP: // another queue pair's
				if others++; possible == 0 {
					only = i - 1
				}
			case p.steady < wholeRun || (psn-p.high)&0xffffff-skew >= 1<<23-skew:
				if possible++; possible > 1 {
					return 0, false // the lists are long where all queue pairs begin at PSN 0
				}
				only = i - 1
			}
		}
	}
	return only, possible == 1 || others == 1
}

// weight returns how much evidence an answer to a kind of request, with this PSN, is; 0 if it
// cannot be for this connection.
func (p *pair) weight(kind uint8, psn uint32) uint8 {
	switch {
	case p.from == CM || p.excluded() || p.asked&kind == 0:
		return 0
	case p.from != None || p.steady >= 0 && within(psn, p.first, p.high):
		return voteWhole
	case within(psn, p.first, p.high) || p.steady <= sampledRun && !after(p.first, psn):
		return voteSampled
	}
	return 0
}

// after reports whether PSN a comes behind b, by serial number arithmetic.
func after(a, b uint32) bool { return a != b && (a-b)&0xffffff < 1<<23 }

// within reports whether PSN x lies between first and last.
func within(x, first, last uint32) bool { return !after(first, x) && !after(x, last) }
