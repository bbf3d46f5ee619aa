// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"strings"
)

// An op is an operation of a JSON patch (RFC 6902).
type op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// pointer returns a path of a JSON patch to names.
func pointer(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}

// apply runs config apply-patch with operations, and judges that it succeeds.
func (m *machine) apply(ctx context.Context, check string, ops ...op) error {
	if err := writeJSON("/tmp/patch.json", ops); err != nil {
		return err
	}
	m.runs(ctx, check, "config", "apply-patch", "/tmp/patch.json")
	return nil
}

// applyRefused judges that config apply-patch refuses operations, names a part, and changes nothing.
func (m *machine) applyRefused(ctx context.Context, check, part string, ops ...op) error {
	if err := writeJSON("/tmp/patch.json", ops); err != nil {
		return err
	}
	was, err := m.contents(ctx)
	if err != nil {
		return err
	}
	m.refuses(ctx, check, part, "config", "apply-patch", "/tmp/patch.json")
	return m.same(ctx, check+": nothing changes", was)
}

// patches: generic_config_updater on tables of SONiC and Sluice.
func (m *machine) patches(ctx context.Context) error {
	if err := m.installModels(); err != nil {
		return err
	}
	if err := m.begin(ctx, sonic()); err != nil {
		return err
	}
	base := sonic().flat()
	m.runs(ctx, "patch: checkpoint before Sluice", "config", "checkpoint", "before")

	// All tables of Sluice at once, with a change of SONiC's own.
	all := sluice()
	ops := []op{{"replace", pointer("PORT", "Ethernet0", "mtu"), "9000"}}
	for name, rows := range all {
		ops = append(ops, op{"add", pointer(name), rows})
	}
	if err := m.apply(ctx, "patch: adds every table of Sluice, and changes a port of SONiC", ops...); err != nil {
		return err
	}
	changed := sonic()
	changed["PORT"]["Ethernet0"]["mtu"] = "9000"
	full := changed.plus(all)
	if err := m.same(ctx, "patch: CONFIG_DB after it", full.flat()); err != nil {
		return err
	}
	m.runs(ctx, "patch: checkpoint with Sluice", "config", "checkpoint", "with-sluice")

	// References.
	if err := m.applyRefused(ctx, "patch: refuses to remove a port that Sluice refers to", "Ethernet4",
		op{Op: "remove", Path: pointer("PORT", "Ethernet4")}); err != nil {
		return err
	}
	if err := m.applyRefused(ctx, "patch: refuses to remove a threshold in use", "lossless",
		op{Op: "remove", Path: pointer("SLUICE_THRESHOLD", "lossless")}); err != nil {
		return err
	}
	if err := m.applyRefused(ctx, "patch: refuses a value that is not allowed", "driver",
		op{"replace", pointer("SLUICE", "global", "driver"), "magic"}); err != nil {
		return err
	}
	if err := m.applyRefused(ctx, "patch: refuses a list that its rule does not allow", "etcd_endpoints",
		op{Op: "remove", Path: pointer("SLUICE", "global", "etcd_endpoints")}); err != nil {
		return err
	}
	// The order of the operations is the wrong one: the row that refers goes last, and comes first.
	if err := m.apply(ctx, "patch: removes a port and the row that refers to it, in the wrong order",
		op{Op: "remove", Path: pointer("PORT", "Ethernet20")},
		op{"add", pointer("SLUICE_PORT", "Ethernet16"), map[string]any{"role": "fabric", "threshold": "second"}},
		op{"add", pointer("SLUICE_THRESHOLD", "second"), map[string]any{"high_bytes": "2000"}},
	); err != nil {
		return err
	}
	second := full.plus(tables{"SLUICE_PORT": {"Ethernet16": {"role": "fabric", "threshold": "second"}}, "SLUICE_THRESHOLD": {"second": {"high_bytes": "2000"}}})
	second["PORT"] = maps.Clone(second["PORT"])
	delete(second["PORT"], "Ethernet20")
	if err := m.same(ctx, "patch: CONFIG_DB after it, with a reference within Sluice", second.flat()); err != nil {
		return err
	}
	if err := m.apply(ctx, "patch: removes a port with the row that refers to it",
		op{Op: "remove", Path: pointer("PORT", "Ethernet16")},
		op{Op: "remove", Path: pointer("SLUICE_THRESHOLD", "second")},
		op{Op: "remove", Path: pointer("SLUICE_PORT", "Ethernet16")},
	); err != nil {
		return err
	}
	for table, key := range map[string]string{"PORT": "Ethernet16", "SLUICE_THRESHOLD": "second", "SLUICE_PORT": "Ethernet16"} {
		second[table] = maps.Clone(second[table])
		delete(second[table], key)
	}
	if err := m.same(ctx, "patch: CONFIG_DB after it, without the port", second.flat()); err != nil {
		return err
	}
	// Lists, fields, and rows without fields.
	if err := m.apply(ctx, "patch: changes a list, a field and a row without fields",
		op{"add", pointer("SLUICE_THRESHOLD", "lossless", "queues", "-"), "5"},
		op{"replace", pointer("SLUICE_THRESHOLD", "lossless", "high_bytes"), "200000"},
		op{Op: "remove", Path: pointer("SLUICE_THRESHOLD", "lossless", "sampling_rate")},
		op{"add", pointer("SLUICE_PPFC_PEER", "10.8.0.0/16"), map[string]any{}},
		op{Op: "remove", Path: pointer("SLUICE_PPFC_PEER", "2001:db8:3::/48")},
	); err != nil {
		return err
	}
	c := second.flat()
	c["SLUICE_THRESHOLD|lossless"] = "high_bytes=200000 low_bytes=50000 queues@=3,4,5"
	c["SLUICE_PPFC_PEER|10.8.0.0/16"] = ""
	delete(c, "SLUICE_PPFC_PEER|2001:db8:3::/48")
	if err := m.same(ctx, "patch: CONFIG_DB after it, by field", c); err != nil {
		return err
	}
	return m.rollbacks(ctx, base, full)
}

// rollbacks: replace and rollback over rows of Sluice, there and back.
func (m *machine) rollbacks(ctx context.Context, base content, full tables) error {
	m.runs(ctx, "rollback: to the checkpoint with Sluice", "config", "rollback", "with-sluice")
	if err := m.same(ctx, "rollback: CONFIG_DB is as it was with Sluice", full.flat()); err != nil {
		return err
	}
	if err := writeJSON("/tmp/replace.json", sonic()); err != nil {
		return err
	}
	m.runs(ctx, "replace: by a configuration without Sluice", "config", "replace", "/tmp/replace.json")
	if err := m.same(ctx, "replace: no row of Sluice is left", base); err != nil {
		return err
	}
	m.runs(ctx, "rollback: to Sluice again", "config", "rollback", "with-sluice")
	if err := m.same(ctx, "rollback: every row is back", full.flat()); err != nil {
		return err
	}
	m.runs(ctx, "rollback: to the time before Sluice", "config", "rollback", "before")
	if err := m.same(ctx, "rollback: CONFIG_DB is as it was before Sluice", base); err != nil {
		return err
	}
	if err := writeJSON("/tmp/replace.json", full.plus(tables{"SLUICE": {"global": {"driver": "magic"}}})); err != nil {
		return err
	}
	m.refuses(ctx, "replace: refuses a configuration with a bad row of Sluice", "SLUICE", "config", "replace", "/tmp/replace.json")
	if err := m.same(ctx, "replace: nothing changes", base); err != nil {
		return err
	}
	res := m.runs(ctx, "checkpoint: list", "config", "list-checkpoints")
	for _, name := range []string{"before", "with-sluice"} {
		m.has("checkpoint: the list has "+name, name, res.output)
		m.runs(ctx, "checkpoint: delete "+name, "config", "delete-checkpoint", name)
	}
	m.has("checkpoint: none is left", "[]", m.run(ctx, "config", "list-checkpoints").output)
	return nil
}
