// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// TestQoSMapsAreReadWhole: the pairs of a map of DSCP, and of one of classes, also where there are more
// than there was room for.
func TestQoSMapsAreReadWhole(t *testing.T) {
	var all []string
	want := make([]sai.QoSPair, 64)
	for i := range want {
		want[i] = sai.QoSPair{From: uint8(i), To: uint8(i % 8)}
		all = append(all, fmt.Sprintf("%d=%d", i, i%8))
	}
	library := saitest.New(t)
	l := open(t, library, library.Profile("QOS", strings.Join(all, " ")+";3=5 7=1"))
	dscp, err := l.GetObject(saiattr.Port, id(port, 1), saiattr.PortDSCPToClass)
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.QoSMap(dscp, false)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	queue, err := l.GetObject(saiattr.Port, id(port, 1), saiattr.PortClassToQueue)
	if err != nil {
		t.Fatal(err)
	}
	got, err = l.QoSMap(queue, true)
	if diff := cmp.Diff([]sai.QoSPair{{From: 3, To: 5}, {From: 7, To: 1}}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := l.QoSMap(id(port, 1), true); err == nil {
		t.Error("a port is read as a map")
	}
}
