// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"

	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/switch/saidriver"
	"sluice/sai-shim/saiattr"
)

// Driver is the driver of a SAI library that records for which method of which need each
// change of the switch is made, so that the journal can name the method whose call ended
// the process. It excludes the methods that ended an earlier one.
type Driver struct {
	*saidriver.Driver

	record func(Trying) // before a change; the zero Trying after it
	// methods that are never tried for a policy, with the reason
	excluded func(engine.Policy) engine.Abilities

	choices engine.Choices
	mark    string
}

// Mark returns a short name of a policy, 8 hexadecimal digits. Other policies have other
// names, but for a chance of one in 2^32.
func Mark(p engine.Policy) string {
	encoded, err := json.Marshal(p)
	if err != nil {
		return "unknown" // no policy has what cannot be encoded
	}
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(encoded))
}

// ExcludedMethods implements [engine.MethodExcluder]. They come from the file of
// exclusions, by library and policy.
func (d *Driver) ExcludedMethods(p engine.Policy) engine.Abilities { return d.excluded(p) }

// Objects implements [engine.Driver]. It remembers choices and policy: the changes after
// it are attributed to them.
func (d *Driver) Objects(p engine.Policy, c engine.Choices, f engine.Features) []engine.Object {
	d.choices, d.mark = c, Mark(p)
	return d.Driver.Objects(p, c, f)
}

// Create implements [engine.Driver]. The journal names need and method for as long as the
// call takes.
func (d *Driver) Create(o *engine.Object, existing map[string]*engine.Record) (*engine.Record, error) {
	defer d.begin(o)()
	return d.Driver.Create(o, existing)
}

// Set implements [engine.Setter]. The journal names need and method for as long as the
// call takes.
func (d *Driver) Set(r *engine.Record, o *engine.Object, attr string, existing map[string]*engine.Record) error {
	defer d.begin(o)()
	return d.Driver.Set(r, o, attr, existing)
}

// begin records that an object is being changed. The function that it returns records the
// end of the change.
func (d *Driver) begin(o *engine.Object) (end func()) {
	n := d.needOf(o)
	d.record(Trying{string(n), string(d.choices.Method(n)), d.mark})
	return func() { d.record(Trying{}) }
}

// needOf is the need that an object is for, by its key and by its references.
func (d *Driver) needOf(o *engine.Object) engine.Need {
	key := strings.TrimPrefix(o.Key, engine.PrefixTrial)
	port, _ := o.Value(saiattr.PortIngressACL.Name)
	switch {
	case strings.HasPrefix(key, engine.PrefixFlow) && d.choices.Method(engine.NeedPlacement) == engine.Entries, strings.HasPrefix(key, engine.PrefixRedirect), key == engine.KeySeed:
		return engine.NeedPlacement
	case strings.HasPrefix(key, "export/"), strings.HasPrefix(key, engine.KeyLearn+"/"), strings.HasSuffix(strings.TrimSuffix(port, engine.SuffixGroup), engine.KeyExportTable):
		return engine.NeedExport
	case strings.HasPrefix(key, "cpu/") && d.choices.Method(engine.NeedFlowLabel) != engine.Rewrite:
		return engine.NeedExport
	}
	return engine.NeedFlowLabel
}

// needOfCall returns the need that a call of the extension's API, or of its attributes, is
// for: one that [engine.Exact] meets; "" for any other call.
func needOfCall(call string) engine.Need {
	switch {
	case strings.HasPrefix(call, "set hold"), strings.HasPrefix(call, "get hold"):
		return engine.NeedHold
	case strings.HasPrefix(call, "get flow"), strings.HasPrefix(call, "set queue"), strings.HasPrefix(call, "set switch flow events"),
		strings.Contains(call, "SAI_SWITCH_ATTR_FLOW_KEY"), strings.Contains(call, "SAI_SWITCH_ATTR_STREAM_SEED"):
		return engine.NeedThreshold
	}
	return ""
}
