// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// perRPC is the memory of an RPC besides its request, in octets.
	perRPC = 8 << 10

	// fresh is added to the age of an RPC, so that a new one has some, and oldest is how
	// old it counts at most: a stream is open for days.
	fresh  = 50 * time.Millisecond
	oldest = 10 * time.Second
)

// Requests bounds the octets of the requests of all RPCs that are open, by all
// connections of all listeners that have it. gRPC bounds those of an RPC alone, and
// receives a request as a whole before the server sees it.
type Requests struct {
	most int

	mu   sync.Mutex
	held int
	of   map[*requests]bool
}

// NewRequests returns a bound of so many octets. It is shared by all listeners of a
// process.
func NewRequests(most int) *Requests {
	return &Requests{most: most, of: make(map[*requests]bool)}
}

// requests are those of a connection, behind TLS.
type requests struct {
	net.Conn
	conn *Conn
	all  *Requests

	in, out frames           // of Read and of Write
	rpcs    map[uint32]*open // by stream; guarded by all.mu
}

// open is an RPC between its begin and its end.
type open struct {
	held  int
	since time.Time
}

// follow counts the requests of a connection, which is c's behind TLS.
func (r *Requests) follow(plain net.Conn, c *Conn) net.Conn {
	f := &requests{Conn: plain, conn: c, all: r, in: frames{skip: preface}, rpcs: make(map[uint32]*open)}
	r.mu.Lock()
	r.of[f] = true
	r.mu.Unlock()
	if !c.has(f) { // it was closed meanwhile
		f.left()
	}
	return f
}

// Read reads the client's octets, and closes the connection with the most requests where
// all together have too many.
func (f *requests) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	r := f.all
	r.mu.Lock()
	f.in.take(p[:n], f.came)
	var surplus []*requests
	for now := time.Now(); r.held > r.most; {
		worst := r.worst(now)
		if worst == nil {
			break
		}
		worst.forget()
		surplus = append(surplus, worst)
	}
	r.mu.Unlock()
	for _, worst := range surplus {
		worst.conn.drop("the requests of all RPCs take too much memory, and those of this connection take most")
	}
	return n, err
}

// came takes a frame of the client.
func (f *requests) came(h frame) {
	rpc := f.rpcs[h.stream]
	switch {
	case h.kind == typeReset:
		f.end(h.stream)
	case h.kind == typeHeaders && rpc == nil && f.rpcs != nil:
		f.rpcs[h.stream] = &open{since: time.Now()}
		f.hold(f.rpcs[h.stream], perRPC)
	case h.kind == typeData && rpc != nil:
		f.hold(rpc, h.length)
	}
}

// Write writes the server's octets, and finds the ends of RPCs in them.
func (f *requests) Write(p []byte) (int, error) {
	f.all.mu.Lock()
	f.out.take(p, func(h frame) {
		if h.kind == typeReset || h.kind == typeHeaders && h.flags&flagEndStream != 0 {
			f.end(h.stream)
		}
	})
	f.all.mu.Unlock()
	return f.Conn.Write(p)
}

// left ends the RPCs of a connection that is closed.
func (f *requests) left() {
	f.all.mu.Lock()
	f.forget()
	f.all.mu.Unlock()
}

// hold adds octets to an RPC and to the sum of all connections.
func (f *requests) hold(rpc *open, octets int) {
	rpc.held += octets
	f.all.held += octets
}

// end ends an RPC and frees its octets.
func (f *requests) end(stream uint32) {
	if rpc := f.rpcs[stream]; rpc != nil {
		f.hold(rpc, -rpc.held)
		delete(f.rpcs, stream)
	}
}

// forget ends all RPCs, and ignores later ones.
func (f *requests) forget() {
	for stream := range f.rpcs {
		f.end(stream)
	}
	f.rpcs = nil
	delete(f.all.of, f)
}

// worst is the connection to close: of the address whose requests take most, the one
// whose requests take most for the longest time. A client that sends a long request at
// full speed comes after one that keeps many open.
func (r *Requests) worst(now time.Time) (worst *requests) {
	sources := map[netip.Prefix]int{}
	for f := range r.of {
		for _, rpc := range f.rpcs {
			sources[f.conn.source] += rpc.held
		}
	}
	most := 0.0
	for f := range r.of {
		weight := 0.0
		for _, rpc := range f.rpcs {
			weight += float64(rpc.held) * min(now.Sub(rpc.since)+fresh, oldest).Seconds()
		}
		if worst == nil || sources[f.conn.source] > sources[worst.conn.source] || sources[f.conn.source] == sources[worst.conn.source] && weight > most {
			worst, most = f, weight
		}
	}
	return worst
}
