// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The check gets headers that differ from Sluice's in one thing each: what it does not
// find here it would not find in a vendor's headers. How Sluice's compare with real
// headers only a run against those can tell.
func TestABICheckFindsDifferences(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	ours, err := os.ReadFile("include/sai_abi.h")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, old, new string
		ok             bool
		want           string
	}{
		{"the same", "", "", true, "numbers, sizes and offsets agree"},
		{"a number", "SAI_ACL_TABLE_ATTR_SIZE = 2,", "SAI_ACL_TABLE_ATTR_SIZE = 9,", false, "differs: SAI_ACL_TABLE_ATTR_SIZE"},
		{"a number that is missing", "\tSAI_NATIVE_HASH_FIELD_RDMA_BTH_DEST_QP = 35,\n", "", true, "not compared: SAI_NATIVE_HASH_FIELD_RDMA_BTH_DEST_QP"},
		{"the place of a method", "\tsai_create_fn create_acl_entry;\n\tsai_remove_fn remove_acl_entry;\n", "\tsai_remove_fn remove_acl_entry;\n\tsai_create_fn create_acl_entry;\n", false, "differs: offsetof(sai_acl_api_t, create_acl_entry)"},
		{"a table of fewer methods", "\tsai_unused_fn set_queues_attribute;\n\tsai_unused_fn get_queues_attribute;\n", "", true, "not compared: offsetof(sai_queue_api_t, get_queues_attribute)"},
		{"the size of a type", "uint64_t room[5];", "uint64_t room[6];", false, "differs: sizeof(sai_attribute_t)"},
		{"the size of a member of a union", "\t\tuint16_t u16;\n", "\t\tuint32_t u16;\n", false, "differs: sizeof(((sai_acl_field_data_t *)0)->mask.u16)"},
		{"headers that do not compile", "#include <stdbool.h>", "#include <absent.h>", false, "do not compile"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(string(ours), test.old) {
				t.Fatalf("sai_abi.h has no %q", test.old)
			}
			dir := t.TempDir()
			theirs := strings.Replace(string(ours), test.old, test.new, 1)
			if err := os.WriteFile(filepath.Join(dir, "sai.h"), []byte(theirs), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("sh", "abi_check.sh", dir).CombinedOutput()
			if (err == nil) != test.ok || !strings.Contains(string(out), test.want) {
				t.Errorf("%v\n%s\nwant ok %v and %q", err, out, test.ok, test.want)
			}
		})
	}
	t.Run("no headers", func(t *testing.T) {
		dir := t.TempDir()
		out, err := exec.Command("sh", "abi_check.sh", dir).CombinedOutput()
		if want := dir + " has no sai.h: nothing to compare with"; err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v\n%s\nwant %q", err, out, want)
		}
	})
}

// On arm64 every size and offset of the header is as on this machine.
func TestARM64ABI(t *testing.T) {
	const cross = "aarch64-linux-gnu-gcc"
	for _, compiler := range []string{"gcc", cross} {
		if _, err := exec.LookPath(compiler); err != nil {
			t.Skipf("%v: make arm64-test", err)
		}
	}
	ours, err := os.ReadFile("include/sai_abi.h")
	if err != nil {
		t.Fatal(err)
	}
	check := func(header string) (string, error) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "sai.h"), []byte(header), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.Command("sh", "abi_check.sh", dir)
		c.Env = append(os.Environ(), "CC="+cross, "HOSTCC=gcc")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	out, err := check(string(ours))
	if err != nil || !strings.Contains(out, "numbers, sizes and offsets agree") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Log(out)
	// What is another size there is found.
	other := strings.Replace(string(ours), "uint64_t room[5];", "char room[sizeof(long double) + 25];\n#ifndef __aarch64__\n#error not arm64\n#endif\n", 1)
	if out, err := check(other); err == nil || !strings.Contains(out, "differs: sizeof(sai_attribute_t)") {
		t.Errorf("%v\n%s", err, out)
	}
}
