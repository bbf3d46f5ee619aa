// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// TestOpenErrors: what is wrong with a library is one line that names it.
func TestOpenErrors(t *testing.T) {
	library := saitest.New(t)
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("this is text, and longer than the header of a library would be"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path string
		profile    map[string]string
		want       []string
	}{
		{"no such file", "/nosuch/libsai.so", nil, []string{"load the SAI library: /nosuch/libsai.so", "No such file"}},
		{"a directory", t.TempDir(), nil, []string{"load the SAI library: "}},
		{"no library", text, nil, []string{"load the SAI library: " + text}},
		{"no SAI library", "libc.so.6", nil, []string{"libc.so.6 is no SAI library: it has no symbol sai_api_initialize"}},
		{"no query", saitest.New(t, "sai_api_query").Path, nil, []string{"librecorder.so is no SAI library: it has no symbol sai_api_query"}},
		{"old", library.Path, library.Profile("VERSION", "11102"), []string{library.Path + " speaks SAI 1.11; 1.12 is the least that is needed"}},
		{"does not initialize", library.Path, library.Profile("FAIL", "initialize api 0 -3"), []string{library.Path + ": sai_api_initialize answers -3"}},
		{"no switch", library.Path, library.Profile("FAIL", "query switch 0 -15"), []string{library.Path + ": sai_api_query knows no switch API"}},
		{
			"no number", library.Path, library.Profile("SLUICE_EXT_COMPUTE_IPV6_FLOW_LABEL", "-1"),
			[]string{`SAI profile: SLUICE_EXT_COMPUTE_IPV6_FLOW_LABEL="-1" is not an attribute id, decimal or with 0x`},
		},
	} {
		_, err := sai.Open(tt.path, tt.profile, nil)
		if err == nil {
			t.Fatalf("%s: no error", tt.name)
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want %q", tt.name, err, want)
			}
		}
	}
	open(t, library, library.Profile()) // each of them is accepted
}

func TestOldestAndSilentVersions(t *testing.T) {
	library := saitest.New(t)
	l := must(sai.Open(library.Path, library.Profile("VERSION", "11200"), nil))
	if v := l.Version(); v != 11200 {
		t.Errorf("version %d", v)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	library = saitest.New(t, "sai_query_api_version")
	if v := open(t, library, library.Profile()).Version(); v != 0 {
		t.Errorf("version %d of a library that does not say", v)
	}
}

func TestOneLibraryAtATime(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile())
	if _, err := sai.Open(saitest.New(t).Path, library.Profile(), nil); err == nil || err.Error() != "a SAI library is open already: one a process" {
		t.Errorf("%v", err)
	}
	if ports := must(l.GetObjects(saiattr.Switch, l.Switch, saiattr.SwitchPorts)); len(ports) != 3 { // the first does not mind
		t.Errorf("%v", ports)
	}
}

// TestConnectLeavesTheSwitchInitialized: a switch that another process initialized is not initialized again.
func TestConnectLeavesTheSwitchInitialized(t *testing.T) {
	library := saitest.New(t)
	l := must(sai.Open(library.Path, library.Profile("FAIL", "create switch 0 -12 1"), nil))
	defer l.Close()
	if err := l.CreateSwitch(false); !refused(err, "create", "switch", "", "UNINITIALIZED") || l.Switch != sai.Null {
		t.Errorf("%v, switch %s", err, l.Switch)
	}
	if err := l.CreateSwitch(false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"create switch#1 INIT_SWITCH=false", "set switch#1 PACKET_EVENT_NOTIFY=function", "get switch#1 SLUICE_EXTENSION"}, library.Calls()); diff != "" {
		t.Error(diff)
	}
}

// TestALibraryThatDoesNotTell: without functions for capabilities nothing is known.
func TestALibraryThatDoesNotTell(t *testing.T) {
	library := saitest.New(t, "sai_query_attribute_capability", "sai_query_attribute_enum_values_capability", "sai_get_object_key")
	l := open(t, library, library.Profile())
	for name, ask := range map[string]func() (can, known bool){
		"compute": func() (bool, bool) { return l.CanCreate(saiattr.ACLEntry, saiattr.ACLEntryCompute) },
		"hash":    func() (bool, bool) { return l.Takes(saiattr.Hash, saiattr.HashFields, "RDMA_BTH_DEST_QP") },
		"use":     func() (bool, bool) { return l.CanSet(saiattr.Switch, saiattr.ECMPHashIPv6) },
	} {
		if can, known := ask(); can || known {
			t.Errorf("%s: can %v, known %v", name, can, known)
		}
	}
	if ids, err := l.Objects(saiattr.ACLCounter); !errors.Is(err, sai.ErrNotSupported) {
		t.Errorf("objects %v, %v", ids, err)
	}
}

// TestVendorsIDs: the profile maps the extension's attributes to a vendor's own.
func TestVendorsIDs(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile("SLUICE_EXT_COMPUTE_IPV6_FLOW_LABEL", "0x10000055", "SLUICE_EXT_SET_IPV6_FLOW_LABEL", "268435542", "CAN", "0x10000055"))
	aTable := must(createTable(l))
	library.Calls()
	if can, known := l.CanCreate(saiattr.ACLEntry, saiattr.ACLEntryCompute); !can || !known {
		t.Errorf("compute: can %v, known %v", can, known)
	}
	if can, known := l.CanCreate(saiattr.ACLEntry, saiattr.ACLEntrySetLabel); can || !known {
		t.Errorf("set: can %v, known %v", can, known)
	}
	must(createEntry(l, aTable, 0, saiattr.ACLEntryCompute.As(saiattr.LabelCRC32, "")))
	// The first word of an action holds enable, the second the parameter.
	if diff := cmp.Diff([]string{"create acl_entry#1 TABLE_ID=acl_table#1 PRIORITY=0 ADMIN_STATE=true 0x10000055=0x1/0x1"}, library.Calls()); diff != "" {
		t.Error(diff)
	}
	_, err := createEntry(l, aTable, 0, saiattr.ACLEntrySetLabel.Of(1))
	if !refused(err, "create", "acl_entry", "SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL", "UNKNOWN_ATTRIBUTE") {
		t.Errorf("%v", err)
	}
}
