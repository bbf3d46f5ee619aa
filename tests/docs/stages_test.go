// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/tests/programs"
)

// A stage is how a script of a page runs in the box.
type stage struct {
	page  string // below docs/
	first string // what it begins with
	given string // script that makes what the page presupposes

	// until is when a script that goes on has done its work; empty: it ends.
	until string

	alone bool   // each of its lines is a script of its own, by turns
	then  string // script that checks that it did what the page says; /tmp/output is what it printed
}

const stateIs = `[ "$(redis-cli -s /run/sluice/redis.sock -n 6 HGET 'SLUICE_STATE|global' `

// stages are the scripts of all pages, those of a page in its order. Each finds what
// those before it left.
// ctrlC is what pressing Ctrl-C where sluiced runs does. The box has processes of
// its own, so that this reaches no other sluiced.
const ctrlC = "pkill -INT -x sluiced; while pgrep -x sluiced; do sleep 0.1; done"

var stages = []stage{
	{
		page:  "install.md",
		first: "sudo apt-get install",
		then:  "! pgrep -x sluiced && grep -q '^sluice  *'\"$(dpkg-query -W -f '${Version}' sluice)\" /tmp/output",
	},
	{
		page:  "install.md",
		given: "mkdir -p /run/systemd/system; ip link add eth1 type veth peer name far-eth1; ip link set eth1 up; ip link set far-eth1 up",
		first: "sudo systemctl enable --now sluiced",
		then:  "for i in $(seq 600); do grep -q 'listening' /tmp/unit-sluice-gnmi.log && pgrep -x -u sluiced sluiced && pgrep -x -u sluice-gnmi sluice-gnmi && pgrep -x -u sluice-redis redis-server && exit 0; sleep 0.1; done; tail /tmp/unit-*.log; exit 1",
	},
	{
		page:  "install.md",
		given: `for i in $(seq 600); do ! redis-cli -s /run/sluice-redis/redis.sock -n 6 HGET 'SLUICE_STATE|global' state | grep -q . || exit 0; sleep 0.1; done; tail /tmp/unit-*.log; exit 1`,
		first: "sudo sluice config port set eth1",
		then:  `for i in $(seq 600); do ! [ "$(redis-cli -s /run/sluice-redis/redis.sock -n 6 HGET 'SLUICE_STATE|global' flow_label)" = active ] || { tc qdisc show dev eth1 | grep -q clsact && exit 0; }; sleep 0.1; done; tail /tmp/unit-*.log; exit 1`,
	},
	{
		page:  "install.md",
		first: "sudo apt-get purge",
		then: `cat /tmp/output; ! tc qdisc show | grep clsact && ! pgrep -x 'sluiced|sluice-gnmi' && ! getent passwd sluiced sluice-gnmi sluice-redis && ! getent group sluice && ! [ -e /etc/sluice ] && ! [ -e /var/lib/sluice ] &&
ip link del eth1 && rm -r /run/systemd`,
	},
	{
		page:  "linux.md",
		first: "install bin/",
	},
	{
		page:  "linux.md",
		first: "sluice config port set eth1",
		given: "while ! redis-cli -s /run/sluice/redis.sock PING; do sleep 0.1; done; for port in eth1 eth2; do ip link add $port type veth peer name far-$port; ip link set $port up; ip link set far-$port up; done",
		until: stateIs + `state)" = running ]`,
	},
	{
		page:  "linux.md",
		first: "sluice config flow-label set",
		then:  `for i in $(seq 600); do ! ` + stateIs + `flow_label)" = active ] || exit 0; sleep 0.1; done; exit 1`,
	},
	{
		page:  "record.md",
		first: "sluice sim --compare label --record simulated.record",
		then:  "grep -q '^as of 2000-01-01T00:00:00Z, by simulated.record$' /tmp/output && grep -q '^spine0.3  *up ' /tmp/output",
	},
	{
		page:  "linux.md",
		given: ctrlC,
		first: "sluiced --sai-library /usr/lib/libsoftsai.so \\\n    --sai-profile SLUICE_QUEUES=8",
		until: `[ "$(redis-cli -s /run/sluice/redis.sock -n 6 HGET 'SLUICE_CAPABILITY|switch' queues)" = 8 ] && redis-cli -s /run/sluice/redis.sock -n 2 HGET 'SLUICE_QUEUE_STATS:eth1|3' queued_bytes | grep -q 0 && ` + stateIs + `flow_label)" = active ]`,
	},
	{
		page:  "configuration/README.md",
		first: "redis-cli -s /run/sluice/redis.sock -n 4 HSET 'SLUICE_PORT|Ethernet0'",
		given: "ip link add Ethernet0 type veth peer name far-Ethernet0; ip link set Ethernet0 up; ip link set far-Ethernet0 up; redis-cli -s /run/sluice/redis.sock -n 4 HSET 'PORT|Ethernet0' admin_status up",
		then:  `[ "$(redis-cli -s /run/sluice/redis.sock -n 4 HGET 'SLUICE_PORT|Ethernet0' role)" = edge ]`,
	},
	{
		page:  "configuration/README.md",
		first: "sluiced --dry-run",
		then:  "grep -q label/table /tmp/output",
	},
	{
		page:  "gnmi.md",
		first: "openssl req -x509",
	},
	{
		page:  "gnmi.md",
		first: "sluice-gnmi --cert",
		given: "printf 'alice:%s\\n' '$2y$10$abcdefghijklmnopqrstuuE7oEx4fFXO1SvdQgrfMHWgV4K2gJd3S' >/etc/sluice/users",
		alone: true,
		until: "grep -q 'sluice-gnmi starts' /tmp/output",
	},
	{
		page:  "gnmi.md",
		first: `tls="-address SWITCH:50070`,
		given: "(sluice-gnmi --cert server.pem --key server.key --ca clients-ca.pem >/tmp/gnmi 2>&1 &); for i in $(seq 600); do grep -q 'sluice-gnmi starts' /tmp/gnmi && exit 0; sleep 0.1; done; cat /tmp/gnmi; exit 1",
		until: `grep -q 'op: *UPDATE' /tmp/output && grep -q 'eth1.*role.*edge' /tmp/output && grep -q 'rewrite.*zero-only' /tmp/output`,
	},
	{
		page:  "operations.md",
		first: "sluice techsupport --out",
		then:  "cd /tmp && tar -xzf techsupport.tar.gz && grep -q 'sluice_filter *yes' sluice-techsupport-*/links.txt && grep -q 'driver *sai' sluice-techsupport-*/state.txt",
	},
	{
		page:  "operations.md",
		first: "sluice top --once",
		then:  `grep -q '^eth1  *edge ' /tmp/output && [ "$(grep -c '"method":"compute"' /tmp/output)" = 3 ]`,
	},
	{
		page:  "operations.md",
		first: "$ curl -s http://127.0.0.1:9475/metrics",
		given: `for i in $(seq 600); do ! ` + stateIs + `state)" = running ] || exit 0; sleep 0.1; done; redis-cli -s /run/sluice/redis.sock -n 6 HGETALL "SLUICE_STATE|global"; ip -br link; exit 1`,
	},
	{
		page:  "stream-ids.md",
		first: "etcdctl get --prefix /sluice/default/node/",
		given: `(etcd --data-dir /tmp/etcd >/tmp/etcd.log 2>&1 &)
for i in $(seq 600); do etcdctl put ready yes && break; sleep 0.1; done
redis-cli -s /run/sluice/redis.sock -n 4 HSET 'SLUICE|global' stream_id_scope global etcd_endpoints@ http://127.0.0.1:2379
for i in $(seq 600); do etcdctl get --prefix /sluice/default/node/ | grep -q . && break; sleep 0.1; done`,
		then: `grep -q '^/sluice/default/node/' /tmp/output`,
	},
	{
		page:  "stream-ids.md",
		first: "etcdctl role add sluice",
		then:  `etcdctl role get sluice | grep -q '/sluice/' && redis-cli -s /run/sluice/redis.sock -n 4 DEL 'SLUICE|global'`,
	},
	{
		page:  "fleet.md",
		first: "tls=\"-address SWITCH:50070 -ca_crt ca.pem -client_crt me.pem -client_key me.key\"\ngnmi_cli $tls -set -proto '\n  update:<path:<elem:<name:\"sonic-sluice\"> elem:<name:\"SLUICE_PORT\">",
		then:  "! [ -e /var/lib/sluice/gnmi-commit.json ] && " + stateIs + `flow_label)" = active ]`,
	},
	{
		page:  "fleet.md",
		first: "export SLUICE_TARGET_CA=ca.pem SLUICE_TARGET_CERT=me.pem SLUICE_TARGET_KEY=me.key\nsluice show",
		then:  "grep -q '^eth1  *up  *edge' /tmp/output && grep -q '^leaf1  *eth1  *up  *edge' /tmp/output",
	},
	{
		page:  "fleet.md",
		first: "export SLUICE_TARGET_CA=ca.pem SLUICE_TARGET_CERT=me.pem SLUICE_TARGET_KEY=me.key\nsluice config",
		then:  "[ $(grep -c '^leaf1  *written' /tmp/output) = 2 ] && grep -q '^leaf1  *+ SLUICE_FLOW_LABEL|global  *algorithm  *crc32' /tmp/output",
	},
	{
		page:  "linux.md",
		given: ctrlC,
		first: "sluiced --sai-library /usr/lib/libsoftsai.so --remove",
		then:  `! tc qdisc show | grep -e clsact -e htb && for db in 2 6; do ! redis-cli -s /run/sluice/redis.sock -n $db KEYS '*' | grep -v GNMI | grep -i sluice || exit 1; done`,
	},
	{
		page:  "vendors.md",
		first: "$ sluice sai-check /usr/lib/libsoftsai.so --port eth1 --profile",
	},
	{
		page:  "vendors.md",
		first: "$ sluice sai-check /usr/lib/libsoftsai.so --port eth1 --json",
	},
	{
		page:  "notifications.md",
		first: "sluice-lab send pfcm --dev eth0",
		given: "install bin/sluice-lab /usr/local/bin/; ip netns add far; ip link add eth0 type veth peer name eth0 netns far; ip link set eth0 up; ip -n far addr add fe80::2/64 dev eth0 nodad; ip -n far link set eth0 up; while ip addr show dev eth0 | grep -q tentative; do sleep 0.1; done",
	},
	{
		page:  "advice.md",
		first: "sluice advise listen --dev eth0",
	},
	{
		page:  "security.md",
		first: "sluice-lab send pfcm --dev Ethernet0",
		given: "ip addr add fe80::1/64 dev Ethernet0 nodad; ip link set Ethernet0 up; ip link set far-Ethernet0 up; ip neigh add fe80::2 lladdr 00:00:5e:00:53:02 dev Ethernet0",
		then:  "grep -q '^5 ' /tmp/output",
	},
	{
		page:  "ipfix/README.md",
		first: "sluice export capture.pcap --collector",
		given: certificates + `
cp ` + "tests/captures/rc-send-ipv4.pcap" + ` capture.pcap
ip addr add 10.0.0.9/32 dev lo
(exec >/tmp/tls 2>&1; sleep 600 | timeout 600 openssl s_server -accept 4740 -cert server.pem -key server.key -CAfile clients-ca.pem -Verify 1 -quiet &)
(timeout 600 python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("10.0.0.9", 4739)); open("/tmp/udp", "w"); [open("/tmp/got", "ab").write(s.recv(65536)) for _ in range(1000)]' >/tmp/udp.log 2>&1 &)
for i in $(seq 1000); do [ -e /tmp/udp ] && break; sleep 0.1; done
`,
		then: `for i in $(seq 1000); do [ -s /tmp/got ] && grep -q rdmaOpCode /tmp/tls && exit 0; sleep 0.1; done; exit 1`,
	},
}

// certificates makes those that the page names, of one CA, for its names.
const certificates = `
{
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.pem
	printf 'subjectAltName=DNS:SWITCH,DNS:flows.example\n' >names
	for who in server me; do
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$who -keyout $who.key -out $who.csr
		openssl x509 -req -in $who.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out $who.pem
	done
	cp ca.pem clients-ca.pem
} 2>/dev/null
`

// TestFirstHourPagesWorkOnABox runs the scripts of the pages that change a machine, in a box.
func TestFirstHourPagesWorkOnABox(t *testing.T) {
	all := pages(t)
	next := make(map[string]int) // how many blocks of a page have run
	for _, s := range stages {
		next["docs/"+s.page]++
	}
	for name, p := range all {
		if len(p.box) != next[name] {
			t.Errorf("%s has %d scripts for a box, and there are %d stages here", name, len(p.box), next[name])
		}
	}
	if t.Failed() {
		return
	}
	clear(next)
	b, here := furnishedBox(t)
	packaged(t, b, here)
	commands, outputs := make(map[string][]command), make(map[string][][]string)
	for _, s := range stages {
		p := all["docs/"+s.page]
		block := p.box[next[p.name]]
		next[p.name]++
		if !strings.HasPrefix(block.text, s.first) {
			t.Fatalf("%s:%d: the script begins with %q, want %q", p.name, block.line, block.text, s.first)
		}
		if s.given != "" {
			b.run(here, s.given)
		}
		if block.commands != nil {
			for _, c := range block.commands {
				commands[p.name] = append(commands[p.name], c)
				outputs[p.name] = append(outputs[p.name], b.shows(here, p, c))
			}
			continue
		}
		b.stage(here, s, block.text)
	}
	if *update && !t.Failed() {
		for name, run := range commands {
			all[name].write(t, run, outputs[name])
		}
	}
}

// stage runs a script as a stage says.
func (b *box) stage(here string, s stage, text string) {
	b.t.Helper()
	scripts := []string{text}
	if s.alone {
		scripts = strings.Split(strings.TrimSpace(text), "\n")
	}
	for _, script := range scripts {
		if s.until == "" {
			b.run(here, printing(script))
			continue
		}
		b.start(here, script, s.until)
		if s.alone {
			b.run("/", "pkill -x "+strings.Fields(script)[0]+"; while pgrep -x "+strings.Fields(script)[0]+"; do sleep 0.1; done")
		}
	}
	if s.then != "" {
		b.run("/", s.then)
	}
}

// furnishedBox makes a box with what the pages presuppose, and returns the folder
// of the source in it.
func furnishedBox(t *testing.T) (*box, string) {
	t.Helper()
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	b := newBox(t, here)
	for _, file := range []string{"sluiced", "libsoftsai.so"} {
		if _, err := os.Stat(filepath.Join(here, "bin", file)); err != nil {
			t.Skipf("needs what make build makes: %v", err)
		}
	}
	clients, err := programs.Build("-modfile=tools/go.mod", "github.com/openconfig/gnmi/cmd/gnmi_cli")
	if err != nil {
		t.Fatal(err)
	}
	b.install(filepath.Join(clients, "gnmi_cli"))
	b.run(here, strings.Join([]string{
		"printf '127.0.0.1 localhost SWITCH flows.example\\n' >/etc/hosts",
		`printf '#!/bin/sh\nexec "$@"\n' >/usr/local/bin/sudo`,
		"chmod +x /usr/local/bin/sudo",
		"rm -f /var/lib/man-db/auto-update", // an index of all manual pages after each apt-get install
	}, "\n"))
	return b, here
}
