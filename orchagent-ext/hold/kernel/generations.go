// SPDX-License-Identifier: Apache-2.0

package kernel

// generations has values by key in two generations, so that it stays bounded: keys that rest while as
// many others are recorded or looked up as one has room for are forgotten.
type generations[K comparable, V any] struct{ young, old map[K]V }

// newGenerations returns generations with all their memory.
func newGenerations[K comparable, V any](room int) generations[K, V] {
	return generations[K, V]{make(map[K]V, room), make(map[K]V, room)}
}

// put records a value in the young generation. When that has as many as room the old one is dropped.
func (g *generations[K, V]) put(k K, v V, room int) {
	if _, known := g.young[k]; !known && len(g.young) >= room {
		g.young, g.old = g.old, g.young
		clear(g.young)
	}
	g.young[k] = v
}

// find returns the value of a key, and has it in the young generation from then on.
func (g *generations[K, V]) find(k K, room int) (v V, ok bool) {
	if v, ok = g.young[k]; ok {
		return v, true
	}
	if v, ok = g.old[k]; ok {
		g.put(k, v, room)
	}
	return v, ok
}
