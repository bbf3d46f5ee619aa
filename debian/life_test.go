// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"path/filepath"
	"strings"
	"testing"
)

// machine prepares a script's own namespaces of mounts, processes and network as a machine:
// two hosts behind eth1 and eth2, between which it forwards. systemctl is the stand-in.
const machine = `
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
ip link set lo up
for i in 1 2; do
	ip link add eth$i type veth peer name host$i
	ip link set eth$i up
	ip link set host$i up
	ip -6 address add 2001:db8:$i::1/64 dev eth$i nodad
done
mac() { cat /sys/class/net/$1/address; }
ip -6 neigh replace 2001:db8:2::2 lladdr $(mac host2) dev eth2
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
ours() { tc qdisc show; cat /proc/sys/net/ipv[46]/fib_multipath_hash_*; ip -br link | sed 's/@.*//'; }
before=$(ours)
state() { redis-cli -s /run/sluice-redis/redis.sock -n 6 HGET 'SLUICE_STATE|global' $1; }
await() { for try in $(seq 600); do [ "$(state $1)" != "$2" ] || return 0; sleep 0.1; done; tail /tmp/unit-*.log; echo "$1 is $(state $1), not $2"; exit 1; }
# labelled sends packets of 4 queue pairs from host 1 to host 2, and asks what arrives.
labelled() {
	sluice-lab gen --live host1 --from 2001:db8:1::2 --to 2001:db8:2::2 --next-hop-mac $(mac eth1) --qps 4 --rate 1 --for 10m >/tmp/sent 2>&1 &
	sender=$!
	sluice observe --dev host2 --json --count 4 --for 2m >/tmp/seen 2>/tmp/observed || :
	kill $sender
	wait $sender || :
	[ "$(grep -c '"flow_label":[1-9]' /tmp/seen)" = 4 ] || { cat /tmp/seen /tmp/sent /tmp/observed; echo 'not labelled'; exit 1; }
}
`

// live runs a script in the Debian as on a machine.
func (d *debianRoot) live(t *testing.T, script string) string {
	t.Helper()
	return d.inside(t, machine+script)
}

// withVersion makes of a package one of another version with the same programs.
func withVersion(t *testing.T, deb, version string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	run(t, "dpkg-deb", "--raw-extract", deb, root)
	run(t, "sed", "-i", "s/^Version: .*/Version: "+version+"/", filepath.Join(root, "DEBIAN/control"))
	changed := filepath.Join(t.TempDir(), "sluice_"+version+".deb")
	run(t, "dpkg-deb", "--build", "--root-owner-group", root, changed)
	return changed
}

// In a fresh Debian the units' programs, as their users, label traffic after commands of
// sluice config, over an upgrade and a downgrade; purge leaves no process, no queueing
// discipline, no setting and no device.
func (d *debianRoot) upgradesAndDowngrades(t *testing.T, deb string) {
	newer := withVersion(t, deb, "99.1")
	run(t, "cp", newer, filepath.Join(d.root, "srv/newer.deb"))
	run(t, "install", "-m", "755", "testdata/systemctl", filepath.Join(d.root, "usr/bin/systemctl"))
	said := d.live(t, `
apt-get install -y /srv/sluice_*.deb
systemctl enable --now sluiced sluice-gnmi
sluice config port set eth1 --role edge
sluice config port set eth2 --role fabric
sluice config flow-label set --admin-state enabled --manage-switch-hash true
await flow_label active
for process in /proc/[0-9]*; do
	case $(cat $process/comm) in
	sluiced | sluice-gnmi) [ "$(stat -c %U $process)" = "$(cat $process/comm)" ] ;;
	redis-server) [ "$(stat -c %U $process)" = sluice-redis ] ;;
	esac
done
labelled
printf '%s\n' "# change of the operator" "SLUICE_METRICS=off unquoted $(false" "neither" >>/etc/sluice/sluiced.env

apt-get install -y /srv/newer.deb
[ "$(dpkg-query -W -f '${Version}' sluice)" = 99.1 ]
await flow_label active
labelled
grep -q 'change of the operator' /etc/sluice/sluiced.env

apt-get install -y --allow-downgrades /srv/sluice_*.deb
[ "$(dpkg-query -W -f '${Version}' sluice)" != 99.1 ]
await flow_label active
labelled
grep -q 'change of the operator' /etc/sluice/sluiced.env
for program in sluiced sluice-gnmi; do [ $(cat /proc/[0-9]*/comm | grep -c "^$program$") = 1 ]; done

apt-get purge -y sluice
! cat /proc/[0-9]*/comm | grep -E '^(sluice|redis)'
[ "$(ours)" = "$before" ] || { echo "before:"; echo "$before"; echo "after:"; ours; exit 1; }
! ls /etc/sluice /var/lib/sluice /run/sluice* 2>/dev/null
echo whole`)
	if !strings.HasSuffix(said, "\nwhole") {
		t.Errorf("%s", said)
	}
}
