// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sluice/sai-shim/saiattr"
)

// PrefixRedirect is how the keys of the objects of redirections begin.
const PrefixRedirect = "redirect/"

const (
	// Prefixes of the keys of redirections: the flows' entries, next hops and router
	// interfaces.
	prefixRedirect  = PrefixRedirect + "flow/"
	prefixNextHop   = PrefixRedirect + "next-hop/"
	prefixInterface = PrefixRedirect + "interface/"
)

// Key names the entry of a redirection. It has the 5-tuple as text, and a VRF that is not the
// default one, and leaves the next hop out, so that a flow has one entry.
func (r *Redirection) Key() string {
	key := fmt.Sprintf("%s%s/%s/%d", prefixRedirect, r.Src, r.Dst, r.SrcPort)
	if r.VRF != "" {
		key += "/" + r.VRF
	}
	return key
}

// redirections are those that are wanted on the switch.
type redirections []Redirection

// adopt reads the redirections of an earlier process from its records. One that was about to
// change is left out: it goes.
func (all *redirections) adopt(existing map[string]*Record) {
	for _, key := range slices.Sorted(maps.Keys(existing)) {
		if r, ok := parseRedirection(existing[key]); ok {
			*all = append(*all, r)
		}
	}
}

// keep forgets redirections where the method is another one.
func (all *redirections) keep(c Choices) {
	if c.Method(NeedPlacement) != Redirect {
		*all = nil
	}
}

// anyRedirected reports whether an entry of a redirected flow exists.
func anyRedirected(existing map[string]*Record) bool {
	for key := range existing {
		if strings.HasPrefix(key, prefixRedirect) {
			return true
		}
	}
	return false
}

// beside adds the objects of the redirections to those of a policy, where that has their table.
func (all redirections) beside(objects []Object, f Features) []Object {
	if len(all) == 0 || !slices.ContainsFunc(objects, func(o Object) bool { return o.Key == KeyExportTable }) {
		return objects
	}
	return append(objects, redirectObjects(all, f)...)
}

// refused returns the refusals of entries, by key, of the objects that the switch lacks. The
// entry of a next hop that was refused was refused with it.
func (all redirections) refused(without []lacking, existing map[string]*Record) map[string]error {
	refused := map[string]error{}
	for i := range without {
		refused[without[i].Key] = without[i].why
	}
	for i := range all {
		r := &all[i]
		why := errors.Join(refused[nextHopKey(r.To)], refused[prefixInterface+r.To.Port])
		if existing[r.Key()] == nil && refused[r.Key()] == nil && why != nil {
			refused[r.Key()] = why
		}
	}
	return refused
}

// parseRedirection reads the record of an entry.
func parseRedirection(o *Record) (r Redirection, ok bool) {
	flow, is := strings.CutPrefix(o.Key, prefixRedirect)
	port, address, to := cutLast(strings.TrimPrefix(o.Attr(saiattr.ACLEntryRedirect.Name), "@"+prefixNextHop), "/")
	if !is || !to {
		return r, false
	}
	parts := strings.Split(flow, "/")
	if len(parts) != 3 {
		return r, false
	}
	var errs [4]error
	var n uint64
	r.Src, errs[0] = netip.ParseAddr(parts[0])
	r.Dst, errs[1] = netip.ParseAddr(parts[1])
	n, errs[2] = strconv.ParseUint(parts[2], 10, 16)
	r.To.Address, errs[3] = netip.ParseAddr(address)
	r.SrcPort, r.To.Port = uint16(n), port
	return r, errors.Join(errs[:]...) == nil && r.Key() == o.Key && "@"+nextHopKey(r.To) == o.Attr(saiattr.ACLEntryRedirect.Name)
}

// cutLast cuts a text at the last separator.
func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// nextHopKey returns the key of a next hop.
func nextHopKey(n NextHop) string { return prefixNextHop + n.Port + "/" + n.Address.String() }

// redirectObjects are the next hops and the entries of redirections. An entry samples as the
// table does: the one with the highest priority counts.
func redirectObjects(all []Redirection, f Features) (objects []Object) {
	hops := map[string]NextHop{}
	for i := range all {
		hops[nextHopKey(all[i].To)] = all[i].To
	}
	ports := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(hops)) {
		n := hops[key]
		if !ports[n.Port] {
			ports[n.Port] = true
			objects = append(objects, optional(NewObject(prefixInterface+n.Port, TypeInterface, saiattr.InterfaceType.Enum("port"), saiattr.InterfacePort.As(0, n.Port))))
		}
		objects = append(objects, optional(NewObject(key, TypeNextHop,
			saiattr.NextHopType.Enum("ip"), saiattr.NextHopAddress.IP(n.Address), saiattr.NextHopOf.Ref(prefixInterface+n.Port))))
	}
	for i := range all {
		r := &all[i]
		e := aclEntry{key: r.Key(), table: KeyExportTable, priority: redirectPriority, redirect: r, ipv4: r.Src.Is4(), sample: keySample, udp: f.Protocol}
		objects = append(objects, optional(e.object()))
	}
	return objects
}
