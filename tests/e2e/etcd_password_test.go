// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Leaves that log in to etcd share their loads and have Stream IDs again each time that etcd
// has restarted and forgotten their tokens; a key "leader" without a lease, which never ends, keeps none
// from planning.
func TestLeavesLogInAgainAfterEtcdRestarts(t *testing.T) {
	soakOnly(t)
	t.Parallel()
	const secret = "correct-horse"
	folder := t.TempDir()
	file := filepath.Join(folder, "passwords", "etcd")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	leaves, m := newClos(t, func(m *management) {
		m.put("/sluice/pod-7/placement/leader", "ghost")
		m.requirePasswords(secret)
	}, []string{"etcd_user", "switch", "etcd_password_file", file, "stream_id_scope", "global"}, "--etcd-allow-plaintext", "--file-folder", folder)
	shared := func() {
		t.Helper()
		for _, l := range leaves {
			l.await("SLUICE_PLACEMENT_FABRIC", "global", func(f map[string]string) bool {
				return f["leaves"] == "2" && strings.HasPrefix(f["planner"], "leaf-")
			})
			l.awaitFields("SLUICE_STATE", "global", "stream_ids", "global")
		}
	}
	shared()
	for range 3 { // now and then the old client got a token
		refused := strings.Count(m.log.String(), "invalid auth token")
		m.etcd.Kill()
		for _, l := range leaves {
			l.await("SLUICE_PLACEMENT_FABRIC", "global", func(f map[string]string) bool {
				return f["scope"] == "local" && strings.Contains(f["reason"], "no lease in etcd")
			})
			l.awaitFields("SLUICE_STATE", "global", "stream_ids", "none")
		}
		m.start()
		began := time.Now()
		shared()
		t.Logf("the loads are shared again and flows have Stream IDs %v after etcd is back; it refused %d tokens",
			time.Since(began).Round(10*time.Millisecond), strings.Count(m.log.String(), "invalid auth token")-refused)
	}
}
