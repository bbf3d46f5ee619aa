// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// A list whose count grows with the room, or is beyond all that a switch has, is refused
// after a few calls, without memory for it.
func TestFalseCountsOfListsAreRefused(t *testing.T) {
	library := saitest.New(t)
	for _, how := range []string{"more", "endless"} {
		for call, read := range map[string]func(l *sai.Library) error{
			"get switch.PORT_LIST": func(l *sai.Library) error {
				_, err := l.GetObjects(saiattr.Switch, l.Switch, saiattr.SwitchPorts)
				return err
			},
			"get port.HW_LANE_LIST": func(l *sai.Library) error {
				_, err := l.GetNumbers(saiattr.Port, id(port, 1), saiattr.PortLanes)
				return err
			},
			"list acl_table": func(l *sai.Library) error {
				_, err := l.Objects(saiattr.ACLTable)
				return err
			},
			"values hash.NATIVE_HASH_FIELD_LIST": func(l *sai.Library) error {
				if _, known := l.Takes(saiattr.Hash, saiattr.HashFields, "SRC_IP"); known {
					return nil
				}
				return sai.ErrNotSupported
			},
		} {
			t.Run(call+" "+how, func(t *testing.T) {
				l := open(t, library, library.Profile("FAIL", call+" 0 "+how))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := read(l)
				runtime.ReadMemStats(&after)
				if !errors.Is(err, sai.ErrNotSupported) {
					t.Errorf("%v", err)
				}
				if answer := (*sai.Error)(nil); errors.As(err, &answer) && !strings.Contains(err.Error(), "elements") {
					t.Errorf("the error names no count: %v", err)
				}
				if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
					t.Errorf("%d octets of memory", took)
				}
			})
		}
	}
}

// An object that a library creates without an id is none.
func TestCreateWithoutAnIDIsRefused(t *testing.T) {
	library := saitest.New(t)
	l := must(sai.Open(library.Path, library.Profile("FAIL", "create hash 0 null"), nil))
	if err := l.CreateSwitch(true); err != nil {
		t.Fatal(err)
	}
	created, err := createHash(l, "SRC_IP")
	if !errors.Is(err, sai.ErrNotSupported) || created != sai.Null || !strings.Contains(err.Error(), "SUCCESS without an object's id") {
		t.Errorf("%s, %v", created, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = must(sai.Open(library.Path, library.Profile("FAIL", "create switch 0 null"), nil))
	defer func() { _ = l.Close() }()
	if err := l.CreateSwitch(true); !errors.Is(err, sai.ErrNotSupported) {
		t.Errorf("the switch: %v", err)
	}
}
