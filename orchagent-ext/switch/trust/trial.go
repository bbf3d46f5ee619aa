// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"cmp"
	"slices"
	"strings"

	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/switch/saicheck"
	"sluice/sai-shim/saiattr"
)

// Prefix of the keys of the objects of trials, and their keys.
const (
	prefixTrial = engine.PrefixRedirect + "trial/"

	keyPort   = prefixTrial + "interface"
	keyHop    = prefixTrial + "next-hop"
	keyGroup  = prefixTrial + "group"
	keyBackup = prefixTrial + "protection"
	keyDrops  = prefixTrial + "drops"
	keyTables = prefixTrial + "tables"
)

// trialPriority is that of the entries of trials. Another one is above it.
const trialPriority = 100

// trials are the further abilities that are tried: each is a list of objects, with a next hop by a
// port. A vendor's DROP beside a redirection is tried as far as calls go: which one
// wins needs packets.
func trials(port string) (names []string, objects map[string][]engine.Object) {
	hops := []engine.Object{
		engine.NewObject(keyPort, engine.TypeInterface, saiattr.InterfaceType.Enum("port"), saiattr.InterfacePort.As(0, port)),
		engine.NewObject(keyHop, engine.TypeNextHop, saiattr.NextHopType.Enum("ip"), saiattr.NextHopAddress.IP(redirections(port)[0].To.Address), saiattr.NextHopOf.Ref(keyPort)),
	}
	group := append(slices.Clone(hops),
		engine.NewObject(keyGroup, engine.TypeHopGroup, saiattr.HopGroupType.Enum("ecmp")),
		engine.NewObject(keyGroup+"/member", engine.TypeHopMember, saiattr.HopMemberGroup.Ref(keyGroup), saiattr.HopMemberHop.Ref(keyHop)),
	)
	backup := append(slices.Clone(group),
		engine.NewObject(keyBackup, engine.TypeHopGroup, saiattr.HopGroupType.Enum("protection")),
		engine.NewObject(keyBackup+"/primary", engine.TypeHopMember, saiattr.HopMemberGroup.Ref(keyBackup), saiattr.HopMemberHop.Ref(keyHop), saiattr.HopMemberRole.Enum("primary")),
		engine.NewObject(keyBackup+"/standby", engine.TypeHopMember, saiattr.HopMemberGroup.Ref(keyBackup), saiattr.HopMemberHop.Ref(keyGroup), saiattr.HopMemberRole.Enum("standby")),
	)
	drops := []engine.Object{
		engine.NewObject(keyDrops, engine.TypeACLTable, saiattr.ACLTableStage.Enum("ingress"), saiattr.ACLTableBindPoints.Enum("port"), saiattr.ACLTablePort.Is(true), saiattr.ACLTableSourcePort.Is(true)),
		trialEntry("drop", keyDrops, trialPriority, saiattr.ACLEntryPacket.Enum("drop")),
		engine.NewObject(keyTables, engine.TypeACLGroup, saiattr.ACLGroupStage.Enum("ingress"), saiattr.ACLGroupBindPoints.Enum("port"), saiattr.ACLGroupType.Enum("parallel")),
	}
	for i, table := range []string{engine.KeyExportTable, keyDrops} {
		drops = append(drops, engine.NewObject(keyTables+"/"+table, engine.TypeACLMember, saiattr.ACLMemberGroup.Ref(keyTables), saiattr.ACLMemberTable.Ref(table), saiattr.ACLMemberPriority.Of(uint64(i))))
	}
	names = []string{"to a group", "to a next hop with a group as backup", "a second equal match", "a table with DROP beside it"}
	return names, map[string][]engine.Object{
		names[0]: append(group, trialEntry("to-group", engine.KeyExportTable, trialPriority, saiattr.ACLEntryRedirect.Ref(keyGroup))),
		names[1]: append(backup, trialEntry("to-backup", engine.KeyExportTable, trialPriority, saiattr.ACLEntryRedirect.Ref(keyBackup))),
		names[2]: append(hops,
			trialEntry("first", engine.KeyExportTable, trialPriority, saiattr.ACLEntryRedirect.Ref(keyHop)),
			trialEntry("second", engine.KeyExportTable, trialPriority+1, saiattr.ACLEntryRedirect.Ref(keyHop)),
		),
		names[3]: append(drops, engine.NewBinding(port, keyTables)),
	}
}

// trialEntry is an entry that matches packets that are never sent: from the port 1 of UDP.
func trialEntry(name, table string, priority uint64, action saiattr.Value) engine.Object {
	return engine.NewObject(prefixTrial+name, engine.TypeACLEntry, saiattr.ACLEntryTable.Ref(table), saiattr.ACLEntryPriority.Of(priority),
		saiattr.ACLEntryPort.Of(1), saiattr.ACLEntrySourcePort.Of(1), action)
}

// Objects implements [engine.Driver]: those of the method, and of the trial. A binding of the trial
// is in place of that of the method.
func (c *checker) Objects(p engine.Policy, by engine.Choices, f engine.Features) []engine.Object {
	all := slices.DeleteFunc(c.Driver.Objects(p, by, f), func(o engine.Object) bool {
		return slices.ContainsFunc(c.trial, func(t engine.Object) bool { return t.Key == o.Key })
	})
	return append(all, c.trial...)
}

// try makes the objects of each trial beside those of the method, and removes them again.
func (c *checker) try(e *engine.Engine, l engine.Ledger, p engine.Policy) (all []saicheck.Trial) {
	if _, err := e.Redirect(nil); err != nil { // a port takes one router interface
		return nil
	}
	names, objects := trials(p.Ports[0])
	for _, name := range names {
		c.trial = objects[name]
		for i := range c.trial {
			c.trial[i].Optional = true
		}
		out, err := settled(e, p)
		is := saicheck.Trial{Name: name, Taken: err == nil}
		if err != nil {
			is.Reason = err.Error()
		}
		records, err := l.Load()
		for i := range c.trial {
			key := c.trial[i].Key
			if !is.Taken || err == nil && slices.ContainsFunc(records, func(r *engine.Record) bool { return r.Key == key && r.ID != "" }) {
				continue
			}
			is.Taken, is.Reason = false, cmp.Or(problem(out.Problems, key), "it is not on the switch")
		}
		all = append(all, is)
		c.trial = nil
		if _, err := settled(e, p); err != nil {
			break // the method's result shows it, since objects are left
		}
	}
	return all
}

// problem is the one of an object, "" for none.
func problem(all []string, key string) string {
	i := slices.IndexFunc(all, func(text string) bool { return strings.Contains(text, key) })
	if i < 0 {
		return ""
	}
	return all[i]
}
