// SPDX-License-Identifier: Apache-2.0

package health

// route is where packets pass, from one host to another: directions between two hosts share it, so
// that each of them has only its number.
type route struct {
	point    uint32
	src, dst [16]byte // of the session
}

// routed is a route in use.
type routed struct {
	route
	reverse uint32 // number of the route back; 0: it is not in use
	users   uint32 // directions
}

// routes are the routes of the directions of a table.
type routes struct {
	array[routed]
	by map[route]uint32
}

// acquire returns the number of a route, for one more direction.
func (s *routes) acquire(r route) uint32 {
	n := s.by[r]
	if n == 0 {
		n = s.take()
		added := s.at(n)
		added.route, s.by[r] = r, n
		if added.reverse = s.by[route{r.point, r.dst, r.src}]; added.reverse != 0 {
			s.at(added.reverse).reverse = n
		}
	}
	s.at(n).users++
	return n
}

// release takes a direction off a route.
func (s *routes) release(n uint32) {
	r := s.at(n)
	if r.users--; r.users > 0 {
		return
	}
	if r.reverse != 0 {
		s.at(r.reverse).reverse = 0
	}
	delete(s.by, r.route)
	s.give(n)
}

// portPair is the ports that a packet comes in and goes out by, as the caller numbers them.
type portPair struct{ in, out uint64 }

// portsInUse is a pair of ports by which directions pass.
type portsInUse struct {
	portPair
	users uint32 // directions
}

// portPairs numbers the pairs of ports by which the last packets of directions passed: 0 is two unknown ones.
// A pair has its number as long as a direction has it, since the caller may number ports that come and go
// again and again.
type portPairs struct {
	array[portsInUse]
	by map[portPair]uint32
}

// set makes a direction's number of a pair that of another pair.
func (s *portPairs) set(number *uint32, p portPair) {
	s.release(*number)
	if *number = 0; p == (portPair{}) {
		return
	}
	n := s.by[p]
	if n == 0 {
		n = s.take()
		s.at(n).portPair, s.by[p] = p, n
	}
	s.at(n).users++
	*number = n
}

// release takes a direction off a pair.
func (s *portPairs) release(n uint32) {
	if n == 0 {
		return
	}
	one := s.at(n)
	if one.users--; one.users == 0 {
		delete(s.by, one.portPair)
		s.give(n)
	}
}
