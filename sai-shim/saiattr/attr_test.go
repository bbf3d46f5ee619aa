// SPDX-License-Identifier: Apache-2.0

package saiattr

import (
	"net/netip"
	"slices"
	"testing"
)

// TestValueTextIsThatOfTheLedger: values as the ledger has them. A process adopts the objects of another one by
// comparing these, so they do not change.
func TestValueTextIsThatOfTheLedger(t *testing.T) {
	for want, v := range map[string]Value{
		"true":                    ACLTablePort.Is(true),
		"ingress":                 ACLTableStage.Enum("ingress"),
		"16":                      ACLTableSize.Of(16),
		"0x00000":                 ACLEntryLabel.Of(0),
		"0xabcde":                 ACLEntrySetLabel.Of(0xabcde),
		"0x000012":                ACLEntryUDF.Word(0x12, 0xffffff),
		"ipv6any":                 ACLEntryIPType.Enum("ipv6any"),
		"17":                      ACLEntryNextHeader.Of(17),
		"2001:db8::1":             ACLEntrySource.IP(netip.MustParseAddr("2001:db8::1")),
		"sr-tcm":                  PolicerMode.Enum("sr-tcm"),
		"SRC_IP,RDMA_BTH_DEST_QP": HashFields.Enum("SRC_IP", "RDMA_BTH_DEST_QP"),
		"@hash":                   ECMPHashIPv6.Ref("hash"),
		"@a,@b":                   HashUDFGroups.Ref("a", "b"),
		"crc32 outer":             ACLEntryCompute.As(LabelCRC32|LabelOuter, "crc32 outer"),
		"0x00ffffff":              UDFHashMask.Of(0xffffff),
	} {
		if v.Text != want {
			t.Errorf("%s: %q, want %q", v.Name, v.Text, want)
		}
	}
}

// TestNamesBecomeTheNumbersOfSAI: names become SAI's numbers (sai_abi.h), and keys the ids of objects.
func TestNamesBecomeTheNumbersOfSAI(t *testing.T) {
	if v := ACLEntryPacket.Enum("copy"); v.Number != 2 || v.ID() != 0 {
		t.Errorf("%+v", v)
	}
	if v := HashFields.Enum("SRC_IP", "RDMA_BTH_DEST_QP"); !slices.Equal(v.List, []uint64{0, 35}) {
		t.Errorf("%+v", v)
	}
	if v := ACLEntryUDF.Word(0x12, 0xffffff); v.Number != 0x12 || v.Mask != 0xffffff {
		t.Errorf("%+v", v)
	}
	before := HashUDFGroups.Ref("a", "b")
	after := before.Resolve(func(key string) uint64 { return uint64(key[0]) })
	if !slices.Equal(after.List, []uint64{'a', 'b'}) || after.ID() != 'a' || before.List != nil {
		t.Errorf("%+v, %+v", before, after)
	}
	if ACLEntry.Number != 8 || ACLEntry.String() != "acl_entry" || ByName("SAI_POLICER_ATTR_CIR") != PolicerRate || ByName("SAI_NONE") != nil {
		t.Errorf("%+v, %+v", ACLEntry, ByName("SAI_POLICER_ATTR_CIR"))
	}
}
