// SPDX-License-Identifier: Apache-2.0

package asic

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"

	"sluice/sai-shim/saiattr"
)

// Tried is the driver of a SAI library that tells for which method of which need each
// change of the switch is, and does without methods that have ended a process before.
type Tried struct {
	*SAI

	// Trying is told before a change, and after it with no need: a library that ends the
	// process meanwhile is at fault.
	Trying func(n Need, m Method, mark string)

	// Blamed are the methods that are not to be tried for a policy, and why.
	Blamed func(Policy) Abilities

	choices Choices
	mark    string
}

// Mark is a short name of a policy: another policy has another one.
func Mark(p Policy) string {
	encoded, err := json.Marshal(p)
	if err != nil {
		return "unknown" // no policy has what cannot be encoded
	}
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(encoded))
}

// Blames implements [Blamer].
func (t *Tried) Blames(p Policy) Abilities { return t.Blamed(p) }

// Objects implements [Driver].
func (t *Tried) Objects(p Policy, c Choices, f Features) []Object {
	t.choices, t.mark = c, Mark(p)
	return t.SAI.Objects(p, c, f)
}

// Create implements [Driver].
func (t *Tried) Create(o *Object, existing map[string]*Record) (*Record, error) {
	defer t.try(o)()
	return t.SAI.Create(o, existing)
}

// Set implements [Setter].
func (t *Tried) Set(r *Record, o *Object, attr string, existing map[string]*Record) error {
	defer t.try(o)()
	return t.SAI.Set(r, o, attr, existing)
}

// try tells that an object is being changed. The function that it returns tells the end.
func (t *Tried) try(o *Object) func() {
	n := t.needOf(o)
	t.Trying(n, t.choices.Method(n), t.mark)
	return func() { t.Trying("", "", "") }
}

// needOf is the need that an object is for, by its key and by what it refers to.
func (t *Tried) needOf(o *Object) Need {
	key := strings.TrimPrefix(o.Key, prefixTrial)
	port, _ := o.value(saiattr.PortIngressACL.Name)
	switch {
	case strings.HasPrefix(key, prefixFlow) && t.choices.Method(NeedPlacement) == Entries, key == keySeed:
		return NeedPlacement
	case strings.HasPrefix(key, "export/"), strings.HasPrefix(key, keyLearn+"/"), strings.HasSuffix(strings.TrimSuffix(port, suffixGroup), keyExportTable):
		return NeedExport
	case strings.HasPrefix(key, "cpu/") && t.choices.Method(NeedFlowLabel) != Rewrite:
		return NeedExport
	}
	return NeedFlowLabel
}

// NeedOfCall is the need that a call of the extension's API is for, or of its attributes,
// which [Exact] meets; "": it is another call.
func NeedOfCall(call string) Need {
	switch {
	case strings.HasPrefix(call, "set hold"), strings.HasPrefix(call, "get hold"):
		return NeedHold
	case strings.HasPrefix(call, "get flow"), strings.HasPrefix(call, "set queue"), strings.HasPrefix(call, "set switch flow events"),
		strings.Contains(call, "SAI_SWITCH_ATTR_FLOW_KEY"), strings.Contains(call, "SAI_SWITCH_ATTR_STREAM_SEED"):
		return NeedThreshold
	}
	return ""
}
