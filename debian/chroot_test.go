// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inventory lists the files of a Debian, with their users, and its users and groups.
// Left out is what dpkg and apt keep of any package, and the former versions of the
// lists of users; /proc and its like are not mounted.
const inventory = `
find / -xdev \( -path /var/lib/dpkg -o -path /var/cache -o -path /var/log -o -path /var/lib/apt -o -path /tmp \) -prune -o \
	! -name '*-' -printf '%p %u:%g\n' | sort
cat /etc/passwd /etc/group`

// A debianRoot is a fresh Debian in a folder.
type debianRoot struct{ root string }

// inside runs a script in the Debian, with namespaces of its own, and returns what it printed.
func (d *debianRoot) inside(t *testing.T, script string) string {
	t.Helper()
	return run(t, "unshare", "--mount", "--pid", "--net", "--fork", "--kill-child",
		"chroot", d.root, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "sh", "-euc", script)
}

func TestFreshDebian(t *testing.T) {
	if os.Getenv("SLUICE_SOAK") == "" {
		t.Skip("makes a Debian: make soak")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, for debootstrap")
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		t.Skip("debootstrap is not installed: apt-get install debootstrap")
	}
	deb := built(t)
	for _, suite := range []string{"bookworm", "trixie"} { // Debian 12, on which the package is built, and 13
		t.Run(suite, func(t *testing.T) {
			d := fresh(t, suite)
			run(t, "cp", deb, filepath.Join(d.root, "srv"))
			t.Run("installs and purges the package", func(t *testing.T) { d.installsAndPurges(t) })
			t.Run("runs under systemd", func(t *testing.T) { d.runsUnderSystemd(t) })
			t.Run("upgrades and downgrades it while it labels", func(t *testing.T) { d.upgradesAndDowngrades(t, deb) })
		})
	}
}

// fresh makes a Debian of a suite, with what the package depends on, so that what is left
// of the package itself shows.
func fresh(t *testing.T, suite string) *debianRoot {
	t.Helper()
	d := &debianRoot{filepath.Join(t.TempDir(), "root")}
	arguments := []string{"--variant=minbase", "--include=redis-server,adduser,libbpf1,libnl-3-200,libnl-route-3-200,iproute2,systemd,systemd-sysv,dbus", suite, d.root}
	if mirror := os.Getenv("MIRROR"); mirror != "" {
		arguments = append(arguments, mirror)
	}
	run(t, "debootstrap", arguments...)
	return d
}

// The package is installed with what it depends on, works, and leaves nothing when it is
// purged.
func (d *debianRoot) installsAndPurges(t *testing.T) {
	inside := func(script string) string {
		t.Helper()
		return d.inside(t, script)
	}
	before := inside(inventory)

	inside("apt-get install -y /srv/sluice_*.deb")
	if said := inside("sluice version"); !strings.Contains(said, version(t)) {
		t.Errorf("sluice version: %s", said)
	}
	if said := inside("dpkg --verify sluice; ldd /usr/lib/sluice/libsoftsai.so | grep 'not found' || :"); said != "" {
		t.Error(said)
	}
	for _, user := range []string{"sluiced", "sluice-gnmi", "sluice-redis"} {
		if said := inside("id -ng " + user); said != "sluice" {
			t.Errorf("user %s has group %s", user, said)
		}
	}
	if said := inside("find /etc/systemd/system -name '*sluice*'"); said != "" {
		t.Errorf("enabled at installation: %s", said)
	}
	inside("apt-get install -y --reinstall /srv/sluice_*.deb")

	// What the programs and the operator add below the package's folders goes, too.
	inside(`mkdir -p /var/lib/sluice/redis /run/sluice-redis /etc/systemd/system/multi-user.target.wants
echo x >/var/lib/sluice/redis/appendonly.aof
echo x >/etc/sluice/server.pem
chown -R sluice-redis:sluice /var/lib/sluice/redis
ln -s /lib/systemd/system/sluiced.service /etc/systemd/system/multi-user.target.wants/sluiced.service`)
	inside("apt-get remove -y sluice")
	if said := inside("cat /etc/sluice/redis.conf /var/lib/sluice/redis/appendonly.aof"); !strings.Contains(said, "port 0") {
		t.Errorf("remove takes what only purge may take: %s", said)
	}
	inside("apt-get purge -y sluice")
	if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(inside(inventory), "\n")); diff != "" {
		t.Errorf("purge leaves (-before +after):\n%s", diff)
	}
}
