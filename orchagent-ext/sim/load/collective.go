// SPDX-License-Identifier: Apache-2.0

package load

import "sluice/orchagent-ext/sim/paths"

// ring is all-reduce by rings: 2(n-1) steps, in each of which a host sends to the next one a
// part of its data, once it has that part from the one before (Patarasuk and Yuan, 2009). It
// also waits for its own last part to arrive, as collective libraries with one buffer do.
type ring struct {
	spec   Spec
	hosts  []int
	chunk  float64
	steps  int32
	sent   []int32 // by position: steps that began
	there  []int32 // steps whose messages have all arrived at the next
	pieces []int32 // messages of the step under way that arrived
}

func newRing(s Spec, hosts []int, total float64) *ring {
	steps := int32(2 * (s.Size - 1))
	n := len(hosts)
	return &ring{s, hosts, total / float64(steps), steps, make([]int32, n), make([]int32, n), make([]int32, n)}
}

// Groups implements Program.
func (l *ring) Groups() int { return len(l.hosts) / l.spec.Size }

// Octets implements Program.
func (l *ring) Octets() float64 { return l.chunk * float64(l.steps) * float64(len(l.hosts)) }

// neighbor is the position d after position i in its ring.
func (l *ring) neighbor(i, d int) int {
	ring := i / l.spec.Size
	return ring*l.spec.Size + (i-ring*l.spec.Size+d+l.spec.Size)%l.spec.Size
}

// step appends the next step of a position.
func (l *ring) step(to []Message, i int) []Message {
	l.sent[i]++
	next := l.neighbor(i, 1)
	return pair(to, l.hosts[i], l.hosts[next], l.spec.QueuePairs, l.chunk, int32(i), int32(i/l.spec.Size), l.sent[i] == l.steps)
}

// First implements Program.
func (l *ring) First(to []Message) []Message {
	for i := range l.hosts {
		to = l.step(to, i)
	}
	return to
}

// Arrived implements Program. The tag is the position of the sender.
func (l *ring) Arrived(to []Message, tag int32) []Message {
	i := int(tag)
	if l.pieces[i]++; l.pieces[i] < int32(l.spec.QueuePairs) {
		return to
	}
	l.pieces[i] = 0
	l.there[i]++
	for _, j := range []int{i, l.neighbor(i, 1)} {
		before := l.neighbor(j, -1)
		if l.sent[j] < l.steps && l.there[j] == l.sent[j] && l.there[before] >= l.sent[j] {
			to = l.step(to, j)
		}
	}
	return to
}

// Connections implements Program.
func (l *ring) Connections() (all []paths.Connection) {
	for i, h := range l.hosts {
		for k := range l.spec.QueuePairs {
			all = append(all, paths.Connection{Src: h, Dst: l.hosts[l.neighbor(i, 1)], K: k})
		}
	}
	return all
}

// tree is all-reduce by a binary tree: parts go up to the root, each host adding its own, and
// down again. Parts follow each other: treeParts of them.
type tree struct {
	spec  Spec
	hosts []int
	chunk float64
	up    []int32 // by position and part: messages from children that arrived
	down  []int32 // likewise from the parent
}

// treeParts is how many parts follow each other.
const treeParts = 16

func newTree(s Spec, hosts []int, total float64) *tree {
	n := len(hosts) * treeParts
	return &tree{s, hosts, total / treeParts, make([]int32, n), make([]int32, n)}
}

// Groups implements Program.
func (l *tree) Groups() int { return len(l.hosts) / l.spec.Size }

// Octets implements Program: each part goes over each edge of a tree twice.
func (l *tree) Octets() float64 {
	return 2 * treeParts * l.chunk * float64(len(l.hosts)-l.Groups())
}

// family returns the first position of the tree of a position, its place there, and how many
// children it has.
func (l *tree) family(i int) (root, place, children int) {
	root = i / l.spec.Size * l.spec.Size
	place = i - root
	return root, place, max(min(2, l.spec.Size-1-2*place), 0)
}

// tag has position, part, and direction.
func treeTag(i, part int, down bool) int32 {
	t := int32(i*treeParts+part) * 2
	if down {
		t++
	}
	return t
}

// rise appends the message of a part to a position's parent, or from the root down.
func (l *tree) rise(to []Message, i, part int) []Message {
	root, place, _ := l.family(i)
	if place == 0 {
		return l.fall(to, i, part)
	}
	return pair(to, l.hosts[i], l.hosts[root+(place-1)/2], l.spec.QueuePairs, l.chunk, treeTag(root+(place-1)/2, part, false), int32(i/l.spec.Size), part == treeParts-1)
}

// fall appends the messages of a part to a position's children.
func (l *tree) fall(to []Message, i, part int) []Message {
	root, place, children := l.family(i)
	for c := range children {
		child := root + 2*place + 1 + c
		to = pair(to, l.hosts[i], l.hosts[child], l.spec.QueuePairs, l.chunk, treeTag(child, part, true), int32(i/l.spec.Size), part == treeParts-1)
	}
	return to
}

// First implements Program: leaves of the tree send the first part, and each further one when
// the one before has arrived.
func (l *tree) First(to []Message) []Message {
	for i := range l.hosts {
		if _, _, children := l.family(i); children == 0 {
			to = l.rise(to, i, 0)
		}
	}
	return to
}

// Arrived implements Program.
func (l *tree) Arrived(to []Message, tag int32) []Message {
	i, part, down := int(tag/2)/treeParts, int(tag/2)%treeParts, tag%2 == 1
	k := i*treeParts + part
	if down {
		if l.down[k]++; l.down[k] == int32(l.spec.QueuePairs) {
			to = l.fall(to, i, part)
		}
		return to
	}
	root, place, children := l.family(i)
	l.up[k]++
	if l.up[k] == int32(children*l.spec.QueuePairs) {
		to = l.rise(to, i, part)
	}
	// A child without children sends its next part once this one is there.
	if l.up[k] == int32(children*l.spec.QueuePairs) && part+1 < treeParts {
		for c := range children {
			child := root + 2*place + 1 + c
			if _, _, n := l.family(child); n == 0 {
				to = l.rise(to, child, part+1)
			}
		}
	}
	return to
}

// Connections implements Program.
func (l *tree) Connections() (all []paths.Connection) {
	for i, h := range l.hosts {
		root, place, _ := l.family(i)
		if place == 0 {
			continue
		}
		parent := l.hosts[root+(place-1)/2]
		for k := range l.spec.QueuePairs {
			all = append(all, paths.Connection{Src: h, Dst: parent, K: k}, paths.Connection{Src: parent, Dst: h, K: k})
		}
	}
	return all
}

// allToAll has each host send to all others, in the order of their distance, to Parallel of
// them at a time.
type allToAll struct {
	spec  Spec
	hosts []int
	each  float64
	next  []int32 // by position: distance of the host that is next
	left  []int32 // by position and place among those under way: messages
	slots int
}

func newAllToAll(s Spec, hosts []int, total float64) *allToAll {
	slots := min(s.Parallel, len(hosts)-1)
	return &allToAll{s, hosts, total / float64(len(hosts)-1), make([]int32, len(hosts)), make([]int32, len(hosts)*slots), slots}
}

// Groups implements Program.
func (l *allToAll) Groups() int { return 1 }

// Octets implements Program.
func (l *allToAll) Octets() float64 { return l.each * float64(len(l.hosts)*(len(l.hosts)-1)) }

// begin appends the messages to the next host of a position.
func (l *allToAll) begin(to []Message, i, slot int) []Message {
	n := len(l.hosts)
	if int(l.next[i]) >= n-1 {
		return to
	}
	l.next[i]++
	l.left[i*l.slots+slot] = int32(l.spec.QueuePairs)
	dst := l.hosts[(i+int(l.next[i]))%n]
	return pair(to, l.hosts[i], dst, l.spec.QueuePairs, l.each, int32(i*l.slots+slot), 0, true)
}

// First implements Program.
func (l *allToAll) First(to []Message) []Message {
	for i := range l.hosts {
		for slot := range l.slots {
			to = l.begin(to, i, slot)
		}
	}
	return to
}

// Arrived implements Program.
func (l *allToAll) Arrived(to []Message, tag int32) []Message {
	if l.left[tag]--; l.left[tag] > 0 {
		return to
	}
	return l.begin(to, int(tag)/l.slots, int(tag)%l.slots)
}

// Connections implements Program: all of them, since switches decide about queue pairs rather
// than about messages. The nearest come first.
func (l *allToAll) Connections() (all []paths.Connection) {
	n := len(l.hosts)
	for d := 1; d < n; d++ {
		for i := range l.hosts {
			for k := range l.spec.QueuePairs {
				all = append(all, paths.Connection{Src: l.hosts[i], Dst: l.hosts[(i+d)%n], K: k})
			}
		}
	}
	return all
}
