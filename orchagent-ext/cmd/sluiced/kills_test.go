// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/db/telemetry"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
	"sluice/yang/rows"
)

// TestKilledClientsOfAServedSwitch: of a switch that another process serves and that lists
// nothing, sluiced is killed again and again while it programs: the next one is in step, none
// is left, and the other owner's table and hash stay. `make soak` kills 200 times, `make test`
// a few times.
func TestKilledClientsOfAServedSwitch(t *testing.T) {
	kills := 3
	if os.Getenv("SLUICE_SOAK") != "" {
		kills = 200
	}
	library, lister, folder := saitest.New(t, "sai_get_object_key"), saitest.New(t), t.TempDir()
	served := map[string]string{"OWNER": filepath.Join(folder, "owner"), "EXTENSION": "0", "HASH_FIELDS": "0 1 8"}
	profile := lister.Profile()
	for key, value := range served {
		profile[key] = value
	}
	other, err := sai.Open(lister.Path, profile, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	must := func(id sai.ObjectID, err error) sai.ObjectID {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	must(sai.Null, other.CreateSwitch(true))
	ports, err := other.GetObjects(saiattr.Switch, other.Switch, saiattr.SwitchPorts)
	must(sai.Null, err)
	table := must(other.Create(saiattr.ACLTable, saiattr.ACLTableStage.Enum("ingress"), saiattr.ACLTablePort.Is(true)))
	must(sai.Null, other.Set(saiattr.Port, ports[1], saiattr.PortIngressACL.Object(uint64(table))))
	hash := must(other.Create(saiattr.Hash, saiattr.HashFields.Enum("SRC_IP")))
	must(sai.Null, other.Set(saiattr.Switch, other.Switch, saiattr.ECMPHashIPv6.Object(uint64(hash))))
	there := func() map[string][]sai.ObjectID {
		all := map[string][]sai.ObjectID{}
		for _, kind := range []saiattr.Kind{saiattr.ACLTable, saiattr.ACLEntry, saiattr.ACLCounter, saiattr.Hash, saiattr.UDF, saiattr.UDFGroup, saiattr.UDFMatch, saiattr.Sample, saiattr.UserTrap, saiattr.TrapGroup, saiattr.Policer, saiattr.TrapRoute} {
			ids, err := other.Objects(kind)
			must(sai.Null, err)
			all[kind.Name] = ids
		}
		all["on port 0"] = []sai.ObjectID{must(other.GetObject(saiattr.Port, ports[0], saiattr.PortIngressACL))}
		all["on port 1"] = []sai.ObjectID{must(other.GetObject(saiattr.Port, ports[1], saiattr.PortIngressACL))}
		all["ecmp"] = []sai.ObjectID{must(other.GetObject(saiattr.Switch, other.Switch, saiattr.ECMPHashIPv6))}
		return all
	}
	before := there()

	d, file := labelled(t)
	configure(t, d, rows.Row{Table: "PORT", Key: "Ethernet4", Fields: map[string]string{"lanes": "4", "admin_status": "up"}})
	configure(t, d, rows.Row{Table: "SLUICE_PORT", Key: "Ethernet4", Fields: map[string]string{"role": "edge"}})
	configure(t, d, rows.Row{Table: "SLUICE_FLOW_LABEL", Key: "global", Fields: map[string]string{"admin_state": "enabled", "manage_switch_hash": "true"}})
	configure(t, d, rows.Row{Table: "SLUICE_IPFIX", Key: "global", Fields: map[string]string{"admin_state": "enabled", "sampling_rate": "1000"}})
	configure(t, d, rows.Row{Table: "SLUICE_IPFIX_COLLECTOR", Key: "c", Fields: map[string]string{"address": "127.0.0.1", "port": "4739"}})
	args := []string{"--sai-connect"}
	for key, value := range served {
		args = append(args, "--sai-profile", key+"="+value)
	}
	admin := func(state string) {
		configure(t, d, rows.Row{Table: "SLUICE", Key: "global", Fields: map[string]string{"admin_state": state}})
	}
	start := func() *running {
		admin("enabled")
		forgetState(t, d)
		r := runSluiced(t, d, file, library, filepath.Join(folder, "sluiced.json"), "get acl_table.ENTRY_LIST 0 -2", args...)
		fields := r.until(telemetry.TableState, "global", func(f map[string]string) bool { return f["flow_label"] == "active" })
		if strings.Contains(fields["warnings"], "left on the switch") {
			t.Errorf("warnings %q", fields["warnings"])
		}
		return r
	}
	for n := range kills {
		r := start()
		admin("disabled")
		if n%2 == 0 {
			time.Sleep(rand.N(20 * time.Millisecond)) // the kill is to come at any time
			admin("enabled")
		}
		time.Sleep(rand.N(40 * time.Millisecond))
		if err := r.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		r.ends()
	}
	start()
	if is := there(); len(is[saiattr.Hash.Name]) != 2 || len(is[saiattr.ACLTable.Name]) != 2 {
		t.Errorf("in step, there are %v", is)
	}
	admin("disabled")
	diff := cmp.Diff(before, there())
	for deadline := time.Now().Add(time.Minute); diff != "" && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		diff = cmp.Diff(before, there())
	}
	if diff != "" {
		t.Errorf("after %d kills (-want +got):\n%s", kills, diff)
	}
}
