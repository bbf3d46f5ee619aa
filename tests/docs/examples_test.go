// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An example is a line of a program's --help, and how it runs in the box. Every line runs.
type example struct {
	text  string
	given string // script that makes what it presupposes
	run   string // what is run for it, where a placeholder is filled in; empty: text
	until string // when a line that goes on has done its work, a script; empty: it ends
	then  string // script that checks what it did; /tmp/output is what it printed
	long  bool   // make soak runs it
}

const (
	library     = "bin/libsoftsai.so" // which is put in place of any SAI library
	config      = "redis-cli -s /run/sluice/redis.sock -n 4 "
	printed     = "grep -q . /tmp/output"
	running     = stateIs + `state)" = running ]`
	endDaemon   = `pkill -INT -x sluiced; while pgrep -r D,R,S -x sluiced; do sleep 0.1; done; redis-cli -s /run/sluice/redis.sock -n 6 FLUSHDB`
	endGNMI     = "pkill -INT -x sluice-gnmi; while pgrep -x sluice-gnmi; do sleep 0.1; done"
	startGNMI   = "for i in 1 2; do echo leaf$i unix:/var/run/sluice/gnmi.sock; done >/etc/sluice/targets; (echo '[leaf]'; sed 's/ / ansible_host=/' /etc/sluice/targets) >hosts.ini; (sluice-gnmi >/tmp/gnmi 2>&1 &); for i in $(seq 600); do ! grep -q 'sluice-gnmi starts' /tmp/gnmi || exit 0; sleep 0.1; done; cat /tmp/gnmi; exit 1"
	endTool     = "pkill -INT -x sluice; while pgrep -x sluice; do sleep 0.1; done"
	seen        = "curl -sf http://127.0.0.1:8650/api/picture | grep -q switches"
	endLab      = "pkill -INT -x sluice-lab; while pgrep -x sluice-lab; do sleep 0.1; done"
	serves      = "grep -q 'sluice-gnmi starts' /tmp/output"
	fromFar     = "ip netns exec far /usr/local/bin/sluice-lab send "
	sendPFC     = fromFar + "pfc --dev eth0 --priority 3 --time 10 --speed 100000; "
	heardPFC    = sendPFC + printed
	verifiedFar = "ip netns exec far /usr/local/bin/sluice-lab gen --dev eth0 --src 2001:db8::1 --dst 2001:db8::5 --count 10 >/tmp/far; grep -q 'that were acknowledged' /tmp/far"
	advised     = fromFar + "rate-advice --dev eth0 --src 2001:db8::1 --dst 2001:db8::5 --dest-qp 0x11 --rate 25000; " + printed
	start       = "(sluiced --sai-library " + library + " >/tmp/sluiced 2>&1 &); for i in $(seq 600); do ! " + running + " || exit 0; sleep 0.1; done; cat /tmp/sluiced; exit 1"
)

// collector receives what is exported to an address, by TCP or UDP, and keeps it.
func collector(kind, address string) string {
	script := `import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_` + map[string]string{"udp": "DGRAM", "tcp": "STREAM"}[kind] + `)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("` + address + `", 4739))
if "` + kind + `" == "tcp": s.listen()
open("/tmp/ready", "w")
if "` + kind + `" == "tcp": s = s.accept()[0]
while True:
    got = s.recv(65536)
    if not got: break
    open("/tmp/got", "ab").write(got)`
	return "rm -f /tmp/got /tmp/ready; (timeout 600 python3 -c '" + script + "' >/tmp/collector 2>&1 &); for i in $(seq 1000); do [ -e /tmp/ready ] && break; sleep 0.1; done"
}

// prometheus answers as a Prometheus that has scraped a port a moment before.
const prometheus = `cat >/tmp/prometheus.py <<'END'
import http.server, json, urllib.parse
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        at = float(asked["time"][0]) - 1
        series = lambda name, value, **labels: {"metric": {"__name__": name, "instance": "leaf1:9475", **labels}, "values": [[at - 1, value], [at, value]]}
        scrapes = [series("sluice_redis_up", "1")]
        rows = [series("sluice_state", "1", state="running"), series("sluice_port_rx_packets_total", "4711", port="Ethernet0")]
        body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": scrapes if "sluice_redis_up" in asked["query"][0] else rows}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)
s = http.server.HTTPServer(("127.0.0.1", 9090), Handler)
open("/tmp/serves", "w")
s.serve_forever()
END
(timeout 600 python3 /tmp/prometheus.py >/tmp/prometheus 2>&1 &); for i in $(seq 1000); do [ -e /tmp/serves ] && break; sleep 0.1; done`

const received = "for i in $(seq 1000); do [ -s /tmp/got ] && exit 0; sleep 0.1; done; exit 1"

// examples are all lines, in the order in which they run: each finds what those before
// it left.
var examples = []example{
	{text: "sluice capture label --src-qp 0x123456 --dst-qp 0xABCDEF --src 2001:db8::1 --dst 2001:db8::2", then: "[ $(cat /tmp/output) = 0x6cb3e ]"},
	{text: "sluice capture label --dst-qp 17 --src 2001:db8::1 --dst 2001:db8::2 --algorithm crc32", then: "grep -qx '0x[0-9a-f]*' /tmp/output"},
	{text: "sluice-lab gen out.pcap --pairs 1 --qps 64 --packets 10000", then: "[ -s /tmp/here/out.pcap ]"},
	{text: "sluice-lab gen - --service ud --start-psn random --seed 7 | sluice decode --flows -", then: printed},
	{text: "sluice decode capture.pcap", then: "grep -q '105 RoCEv2' /tmp/output"},
	{text: "sluice decode --flows capture.pcapng", given: "cp capture.pcap capture.pcapng", then: printed},
	{
		// tcpdump is not on every machine of the project; this one sends a capture as it does.
		text:  "tcpdump -U -w - udp port 4791 | sluice decode --json -",
		given: `printf '#!/bin/sh\n[ "$*" = "-U -w - udp port 4791" ] && exec cat /tmp/here/capture.pcap\n' >/usr/local/bin/tcpdump; chmod +x /usr/local/bin/tcpdump`,
		then:  `[ $(grep -c '"frame"' /tmp/output) = 105 ]`,
	},
	{text: "sluice decode --flows --health capture.pcap", then: "[ $(wc -l </tmp/output) = 4 ]"},
	{text: "sluice observe --dev eth0 --health --for 10s", run: "sluice observe --dev eth0 --health --for 1s", then: "grep -q RTT-P99 /tmp/output"},
	{text: "sluice path --src 2001:db8:1::1 --dst 2001:db8:2::1 --src-qp 0x11 --dst-qp 0x12", then: "grep -q eth0 /tmp/output"},
	{text: "sluice path --src 10.0.1.1 --dst 10.0.2.1 --src-qp 17 --dst-qp 18 --sport 49152 --json", then: "grep -q '\"port\":\"eth0\"' /tmp/output"},
	{
		text: "sluice path --src 2001:db8:1::1 --dst 2001:db8:2::1 --dst-qp 0x12 --trace --gnmi-ca ca.pem --gnmi-cert me.pem --gnmi-key me.key",
		run:  "sluice path --src 2001:db8:1::1 --dst 2001:db8:2::1 --dst-qp 0x12 --trace", then: "grep -q 'eth0 is not known' /tmp/output",
	},
	{text: "sluice decode --nak --cnp -o yaml capture.pcap", then: "grep -q '0 shown' /tmp/output"},
	{text: "sluice observe --dev eth0 --not --opcode ACKNOWLEDGE --write data.pcapng --for 10s", run: "sluice observe --dev eth0 --not --opcode ACKNOWLEDGE --write data.pcapng --for 1s", then: "[ -s /tmp/here/data.pcapng ]"},
	{text: "sluice observe capture.pcap --since 1.5s --fields time,src,dst_qp,psn,event", then: "grep -q '^TIME  *SRC  *DST-QP  *PSN  *FLAGS' /tmp/output"},
	{text: "sluice export --dev eth0 --for 1h --collector 127.0.0.1:4739", given: collector("udp", "127.0.0.1"), run: "sluice export --dev eth0 --for 1s --collector 127.0.0.1:4739", then: "grep -q 'exporting what passes on eth0' /tmp/output"},
	{text: "sluice observe --src 192.168.70.0/24 --opcode ACKNOWLEDGE capture.pcap", then: "grep -q '37 shown' /tmp/output"},
	{text: "tcpdump -U -w - udp port 4791 | sluice observe --opcode write -", then: "grep -q '0 shown' /tmp/output"},
	{text: "sluice observe --dev eth0", until: fromFar + "cnp --dev eth0 --src 2001:db8::1 --dst 2001:db8::5; grep -q CNP /tmp/output", then: endTool},
	{text: "sluice observe --dev any --nak --cnp", until: fromFar + "cnp --dev eth0 --src 2001:db8::1 --dst 2001:db8::5; grep -q CNP /tmp/output", then: endTool},
	{text: "sluice observe --dev eth0 --qp 0x11 --ecn ce --json --for 10s", run: "sluice observe --dev eth0 --qp 0x11 --ecn ce --json --for 1s", then: "grep -q '; 0 shown' /tmp/output"},
	{text: "sluice capture lift6 roce-ipv4.pcap roce-ipv6.pcap", given: "cp capture.pcap roce-ipv4.pcap", then: "[ -s /tmp/here/roce-ipv6.pcap ]"},
	{text: "sluice capture relabel in.pcap out.pcap", given: "cp roce-ipv6.pcap in.pcap; rm -f out.pcap", then: "grep -q 'labels written: 105' /tmp/output"},
	{text: "sluice capture relabel in.pcapng out.pcapng --algorithm crc32 --rewrite always", given: "cp roce-ipv6.pcap in.pcapng", then: "grep -q 'labels written: 105' /tmp/output"},
	{text: "sluice doctor", then: "grep -q ' kernel ' /tmp/output"},
	{text: "sluice doctor --dev any --for 10s", run: "sluice doctor --dev any --for 1s", then: "grep -q ' rights ' /tmp/output"},
	{text: "sluice doctor --target all", given: startGNMI, then: `grep -q '^[0-9]* faults on 2 of 2 switches$' /tmp/output; ` + endGNMI},
	{text: "sluice doctor capture.pcap", then: "grep -q ' ports ' /tmp/output"},
	{
		text: "sluice doctor capture.pcap --switch sonic-202505 --paths 8 --fail-on act",
		run:  "sluice doctor capture.pcap --switch sonic-202505 --paths 8 --fail-on act || [ $? = 4 ]", then: "grep -q ' answer ' /tmp/output",
	},
	{text: "sluice balance capture.pcap --paths 8", then: printed},
	{text: "sluice balance capture.pcap --paths 8 --placed", then: printed},
	{text: "sluice balance capture.pcap --paths 16 --hash crc16 --weights packets --svg balance.svg", then: "[ -s /tmp/here/balance.svg ]"},

	{text: "sluice export capture.pcap --file flows.ipfix", then: "[ -s /tmp/here/flows.ipfix ]"},
	{text: "sluice export capture.pcap --collector 127.0.0.1:4739", given: collector("udp", "127.0.0.1"), then: received},
	{text: "sluice export capture.pcap --mode packet --sampling 100 --collector 10.0.0.9 --transport tcp", given: collector("tcp", "10.0.0.9"), then: received},
	{
		text:  "sluice export capture.pcap --collector flows.example --transport tls --ca ca.pem --cert me.pem --key me.key",
		given: certificates + "(exec >/tmp/tls 2>&1; sleep 600 | timeout 600 openssl s_server -accept 4740 -cert server.pem -key server.key -CAfile clients-ca.pem -Verify 1 -quiet &)\nfor i in $(seq 1000); do ss -ltn | grep -q :4740 && break; sleep 0.1; done",
		then:  "for i in $(seq 1000); do grep -q rdmaOpCode /tmp/tls && exit 0; sleep 0.1; done; exit 1",
	},

	{text: "sluice-lab send pfcm --dev eth0 --dst fe80::2 --action pause --time 500"},
	{text: "sluice-lab send pfcm --dev eth0 --dst fe80::2 --action reduce --reduction 50 --time 1000"},
	{text: "sluice-lab send pfcm --encapsulation hop-by-hop --write pfcm.pcap", then: "sluice decode /tmp/here/pfcm.pcap | grep -qi pfcm"},
	{text: "sluice-lab send ppfc --hex --transport udp --flow qps --flow-dst-qp 0x11", then: "grep -qx '[0-9a-f ]*' /tmp/output"},
	{text: "sluice-lab send ppfc --dev eth0 --dst 2001:db8::1 --pt stop --duration 1000"},
	{text: "sluice-lab send ppfc --src 192.0.2.1 --dst 203.0.113.9 --transport udp --flow qps --flow-dst-qp 0x11"},
	{text: "sluice-lab send rate-advice --dst 2001:db8::11 --dest-qp 0x11 --rate 25000 --count 10 --interval 1ms"},
	{text: "sluice-lab send rate-advice --dev eth0 --dst 2001:db8::11 --dest-qp 0x11 --source-qp 0x22 --rate 25000"},
	{text: "sluice-lab send cnp --dev eth0 --dst 2001:db8::11 --dest-qp 0x11"},
	{text: "sluice-lab send pfc --write pfc.pcap --priority 3 --time 10 --speed 100000", then: "sluice decode /tmp/here/pfc.pcap | grep -qi pfc"},
	{text: "sluice-lab send pfc --dev eth0 --priority 3 --time 10 --speed 100000"},
	{text: "sluice-lab send pfc --dev eth0 --priority 3,4 --quanta 0"},
	{text: "sluice-lab gen --dev eth0 --dst 2001:db8:0:2::b --qps 64 --line-rate 1Gbps --rate 1Gbps --for 2s", then: printed},
	{text: "sluice-lab gen --dev eth0 --dst 2001:db8:0:2::b --qps 2 --rate 100Mbps --count 1000 --obey pfcm,pfc", then: printed},
	{text: "sluice-lab gen --dev eth0 --dst 10.0.2.2 --qps 16 --rate 100Mbps --for 2s", then: printed},
	{text: "sluice listen", until: heardPFC, then: endTool},
	{text: "sluice listen --dev eth0 --json --for 10s", until: heardPFC, then: endTool},
	{text: "sluice listen --count 1", until: heardPFC, then: "while pgrep -x sluice; do " + sendPFC + "sleep 0.1; done"}, // the first one may come before it listens
	{text: "sluice-lab verify --dev eth0 --count 6400 --json", run: "sluice-lab verify --dev eth0 --count 10 --json", until: verifiedFar, then: printed},
	{text: "sluice-lab verify --dev eth0 --for 10s", until: verifiedFar, then: endLab},
	{text: "sluice advise listen --json", until: advised, then: endTool},
	{text: "sluice advise listen", until: advised, then: endTool},
	{text: "sluice advise listen --dev eth0 --json --from 2001:db8::/32 --for 10s", until: advised, then: endTool},

	{text: "sluice sai-check bin/libsoftsai.so --port eth0", run: "sluice sai-check " + library + " --port eth0", then: "grep -q '^flow-label by compute: works' /tmp/output"},
	// The software switch takes the place of an ASIC's library, which no machine of the project has.
	{
		text:  "sluice sai-check /usr/lib/libsai.so --profile @/etc/sonic/sluice/sai.profile --port Ethernet0:0,1,2,3",
		given: "cp bin/libsoftsai.so /usr/lib/libsai.so; mkdir -p /etc/sonic/sluice; echo SLUICE_QUEUES=8 >/etc/sonic/sluice/sai.profile",
		run:   "sluice sai-check /usr/lib/libsai.so --profile @/etc/sonic/sluice/sai.profile --port eth0:0,1,2,3", then: "grep -q '^hold by exact: works' /tmp/output",
	},
	{text: `sluice sai-check bin/libsoftsai.so --port eth0 --json | jq '.methods["flow-label"].compute.works'`, then: "[ $(cat /tmp/output) = true ]"},

	{text: "sluiced --sai-library bin/libsoftsai.so", until: running, then: endDaemon},
	// The software switch takes the place of an ASIC's library, which no machine of the project has.
	{text: "sluiced --sai-library /usr/lib/libsai.so", given: "cp bin/libsoftsai.so /usr/lib/libsai.so", until: running, then: endDaemon},
	{text: "sluiced --sai-library ... --sai-connect", run: "sluiced --sai-library " + library + " --sai-connect", until: running, then: endDaemon},
	{text: "sluiced", given: config + "HSET 'SLUICE|global' driver orchagent", until: stateIs + `driver)" = orchagent ]`, then: endDaemon + "; " + config + "DEL 'SLUICE|global'"},
	{text: "sluiced --dry-run [--json]", run: "sluiced --dry-run && sluiced --dry-run --json", then: "grep -q label/table /tmp/output && grep -q '\"steps\"' /tmp/output"},
	{text: "sluiced --sai-library ... --remove", run: "sluiced --sai-library " + library + " --remove", then: "! tc qdisc show | grep clsact"},
	{text: "sluice top", given: start, until: printed, then: endTool},
	{text: "sluice top --sort packets --port Ethernet0", until: printed, then: endTool},
	{text: "sluice top --once", then: "grep -q compute /tmp/output"},
	{text: "sluice top --json --interval 10s --count 6", run: "sluice top --json --interval 1s --count 6", until: printed, then: endTool},
	{text: "sluice show status", then: "grep -q '^state  *running' /tmp/output"},
	{text: "sluice show flows --top 10 --json", then: printed},
	{text: "sluice show queues --port Ethernet0 --watch --interval 5s", until: printed, then: endTool},
	{text: "sluice show config --json", then: "grep -q SLUICE_FLOW_LABEL /tmp/output"},
	{text: "sluice show ports --target leaf1,leaf2", given: startGNMI, then: "grep -q '^leaf2  *Ethernet0  *up  *edge' /tmp/output"},
	{text: "sluice show status --target @hosts.ini:leaf --json", then: `grep -q '"switch": "leaf2"' /tmp/output`},
	{text: "sluice path --src 2001:db8:1::1 --dst 2001:db8:2::1 --dst-qp 0x12 --target leaf1,leaf2", then: "grep -q '^leaf2: it publishes no next hops' /tmp/output"},
	{text: "sluice top --target leaf1", until: printed, then: endTool},
	{text: "sluice top --target all", until: "grep -q '^2 switches' /tmp/output", then: endTool},
	{text: "sluice record leaf1.record --for 10m", run: "sluice record leaf1.record --for 2s", then: "grep -q ' leaf1.record, .*; 1 of 1 switches answer$' /tmp/output"},
	{text: "sluice record fabric.record --target all --size 4GB", run: "sluice record fabric.record --target all --size 4GB --for 2s", then: "grep -q '; 2 of 2 switches answer$' /tmp/output"},
	{text: "sluice show queues --at 14:05 --from leaf1.record", run: "sluice show queues --at -0s --from leaf1.record", then: "grep -q '^as of ' /tmp/output"},
	{text: "sluice show ports --at -10m --prometheus http://127.0.0.1:9090", given: prometheus, then: "grep -q '^Ethernet0 .* 4711 ' /tmp/output"},
	{text: "sluice view", until: seen, then: endTool},
	{text: "sluice view --target all", until: seen, then: endTool},
	{text: "sluice view --from fabric.record", until: seen, then: endTool}, // of sluice record
	{text: "sluice view --prometheus http://127.0.0.1:9090", until: "curl -sf http://127.0.0.1:8650/ | grep -q app.js", then: endTool},
	{
		text:  "sluice view --target @hosts.ini:leaf --listen :8650 --cert view.pem --key view.key --users users",
		given: `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout view.key -out view.pem -days 1 -subj /CN=localhost 2>/dev/null; echo 'alice:$2a$10$CwTycUXWue0Thq9StjUM0uJ8.5oCj3hUfJgqHUbB0q8QUaKkQZ3Ya' >users`,
		until: "[ $(curl -sk -o /dev/null -w '%{http_code}' https://localhost:8650/) = 401 ]", then: endTool,
	},
	{text: "sluice diff config_db.json --target leaf1,leaf2", given: `echo '{"SLUICE_PORT": {"Ethernet0": {"role": "border"}}}' >config_db.json`, then: "grep -q '^leaf2  *- SLUICE_PORT|Ethernet0  *role  *border' /tmp/output; " + endGNMI},
	{text: "sluice clear counters", then: "grep -q Cleared /tmp/output"},
	{text: "sluice config port set Ethernet0 --role edge", given: config + "DEL 'SLUICE_PORT|Ethernet0'", then: config + "HGET 'SLUICE_PORT|Ethernet0' role | grep -qx edge"},
	{text: "sluice config flow-label set --admin-state enabled --manage-switch-hash true", given: config + "DEL 'SLUICE_FLOW_LABEL|global'", then: config + "HGET 'SLUICE_FLOW_LABEL|global' admin_state | grep -qx enabled"},
	{text: "sluice config flow-label del manage-switch-hash", then: config + "HGET 'SLUICE_FLOW_LABEL|global' manage_switch_hash | grep -qx ''"},
	{text: "sluice config port del Ethernet0", then: config + "EXISTS 'SLUICE_PORT|Ethernet0' | grep -qx 0"},
	{text: "sluice config load config_db.json --dry-run", given: `echo '{"SLUICE_PORT": {"Ethernet0": {"role": "border"}}}' >config_db.json`, then: "grep -qx '+ SLUICE_PORT|Ethernet0  *role  *border' /tmp/output"},
	{text: "sluice diff", then: "grep -qx -- '- SLUICE_PORT|Ethernet0  *role  *edge' /tmp/output"},
	{text: "sluice diff --last 3 --json", then: "grep -q '\"admin_state\": \"enabled\"' /tmp/output"},
	{text: "sluice diff config_db.json", then: "grep -qx -- '- SLUICE_PORT|Ethernet0     role         border' /tmp/output"},
	{text: "sluice rollback --list", then: "[ $(grep -c ' config ' /tmp/output) = 4 ]"},
	{text: "sluice rollback --dry-run", then: "grep -qx '+ SLUICE_PORT|Ethernet0  *role  *edge' /tmp/output"},
	{text: "sluice rollback", then: config + "HGET 'SLUICE_PORT|Ethernet0' role | grep -qx edge; " + config + "HSET 'SLUICE_FLOW_LABEL|global' manage_switch_hash true"},
	// both names of startGNMI are one switch
	{
		text:  "sluice config flow-label set --admin-state enabled --target leaf1,leaf2",
		given: config + "HDEL 'SLUICE_FLOW_LABEL|global' admin_state; " + startGNMI,
		run:   "sluice config flow-label set --admin-state enabled --target leaf1", then: "grep -qx 'leaf1  written  1 row' /tmp/output; " + config + "HGET 'SLUICE_FLOW_LABEL|global' admin_state | grep -qx enabled",
	},
	{text: "sluice diff --target all", run: "sluice diff --target leaf1", then: "grep -qx '+ SLUICE_FLOW_LABEL|global  *admin_state  *enabled' /tmp/output"},
	{text: "sluice rollback --target all --dry-run", run: "sluice rollback --target leaf1 --dry-run", then: "grep -qx -- '- SLUICE_FLOW_LABEL|global  *admin_state  *enabled' /tmp/output"},
	{
		text: "sluice config global set --admin-state disabled --target all", run: "sluice config global set --admin-state disabled --target leaf1",
		then: config + "HGET 'SLUICE|global' admin_state | grep -qx disabled; " + config + "HDEL 'SLUICE|global' admin_state; " + endGNMI,
	},
	{text: "sluice version", then: "grep -q '^sluiced, running *[0-9]' /tmp/output"},
	{text: "sluice version --json", then: "[ $(grep -c '\"version\"' /tmp/output) = 6 ]"},
	{text: "sluice techsupport", then: "grep -q 'driver *sai' /tmp/output"},
	{text: "sluice techsupport --out techsupport.tar.gz --since 2h", then: "tar -tzf /tmp/here/techsupport.tar.gz | grep -q state.txt && rm /tmp/here/techsupport.tar.gz"},
	{
		// The container runs on a switch with SONiC; this docker runs the command in it here.
		text:  "docker exec sluice start.sh sluice techsupport --out - > techsupport.tar.gz",
		given: `printf '#!/bin/sh\n[ "$1 $2 $3" = "exec sluice start.sh" ] && shift 3 && exec "$@"\n' >/usr/local/bin/docker; chmod +x /usr/local/bin/docker`,
		then:  "tar -tzf /tmp/here/techsupport.tar.gz | grep -q state.txt",
	},
	{text: `sluice techsupport -o json | jq '.parts[] | select(.name == "errors")'`, then: `grep -q '"name": "errors"' /tmp/output; ` + endDaemon},

	{text: "sluice-gnmi", until: serves, then: endGNMI},
	{text: "sluice-gnmi --cert C --key K --ca CA", run: "sluice-gnmi --cert server.pem --key server.key --ca clients-ca.pem", until: serves, then: endGNMI},
	{
		text:  "sluice-gnmi --cert C --key K --users FILE",
		given: "printf 'alice:%s\\n' '$2y$10$abcdefghijklmnopqrstuuE7oEx4fFXO1SvdQgrfMHWgV4K2gJd3S' >users",
		run:   "sluice-gnmi --cert server.pem --key server.key --users users", until: serves, then: endGNMI,
	},
	{text: "sluice-gnmi --insecure-loopback 127.0.0.1:50070", until: serves, then: endGNMI},

	{text: "sluice sim", then: printed},
	{text: "sluice sim --example > fabric.yaml", then: "grep -q hosts_per_leaf /tmp/here/fabric.yaml"},
	{
		text: "sluice sim fabric.yaml --compare none,label,placement,plan --html report.html",
		then: "grep -q '</html>' /tmp/here/report.html; [ $(wc -l </tmp/output) = 14 ]",
	},
	{text: "sluice sim fabric.yaml --compare none,pfc,dcqcn,label+pfcm,advice", then: "grep -q label+pfcm /tmp/output"},
	{text: "sluice sim advise fabric.yaml", then: "grep -q high_bytes /tmp/output"},
	{text: "sluice sim fabric.yaml --compare placement --record fabric.record", given: "rm -f fabric.record", then: "sluice show placement --at -0s --from /tmp/here/fabric.record | grep -q leaf7"},
	{text: "sluice sim fabric.yaml --json", then: "grep -q '\"collective_s\"' /tmp/output"},

	{text: "sudo bin/sluice-lab demo", then: printed},
	{text: "sudo bin/sluice-lab demo --scenario hold", then: printed, long: true}, // as make demo does,
	{text: "sudo bin/sluice-lab demo --sai-profile SLUICE_HIDE=compute,rewrite", then: printed},
}

// furniture is what the examples presuppose: Redis with rows, ports, a neighbor on eth0.
const furniture = `
install bin/sluiced bin/sluice-gnmi bin/sluice bin/sluice-lab /usr/local/bin/
mkdir -p /etc/sluice /run/sluice /tmp/here
cat >/etc/sluice/database_config.json <<'END'
{"INSTANCES": {"redis": {"unix_socket_path": "/run/sluice/redis.sock"}},
 "DATABASES": {"COUNTERS_DB": {"id": 2, "separator": ":", "instance": "redis"},
               "CONFIG_DB":   {"id": 4, "separator": "|", "instance": "redis"},
               "STATE_DB":    {"id": 6, "separator": "|", "instance": "redis"},
               "APPL_DB":     {"id": 0, "separator": ":", "instance": "redis"}}}
END
redis-server --daemonize yes --port 0 --unixsocket /run/sluice/redis.sock --dir /run/sluice --save '' --notify-keyspace-events KEA
while ! redis-cli -s /run/sluice/redis.sock PING; do sleep 0.1; done
ip netns add far
ip link add eth0 type veth peer name eth0 netns far
ip -n far addr add fe80::2/64 dev eth0 nodad
for a in 2001:db8::1/64 2001:db8::11/64; do ip -n far addr add $a dev eth0 nodad; done
ip -n far addr add 192.0.2.2/24 dev eth0
ip addr add 2001:db8::5/64 dev eth0 nodad
ip addr add 192.0.2.1/24 dev eth0
ip addr add 10.0.0.9/32 dev lo
ip link set eth0 up
ip -n far link set eth0 up
ip link add Ethernet0 type veth peer name far-Ethernet0
ip link set Ethernet0 up
ip link set far-Ethernet0 up
ip route add default via 192.0.2.2
ip route add default via 2001:db8::1
redis-cli -s /run/sluice/redis.sock -n 4 HSET 'PORT|Ethernet0' admin_status up
redis-cli -s /run/sluice/redis.sock -n 4 HSET 'SLUICE_PORT|Ethernet0' role edge
redis-cli -s /run/sluice/redis.sock -n 4 HSET 'SLUICE_FLOW_LABEL|global' admin_state enabled manage_switch_hash true
cp tests/captures/rc-send-ipv4.pcap /tmp/here/capture.pcap
ln -s "$PWD/bin" "$PWD/tests" /tmp/here/
while ip addr show dev eth0 | grep -q tentative; do sleep 0.1; done
`

// helpOf returns the text of --help of a program's command, and of those below it.
func helpOf(t *testing.T, words ...string) (texts []string) {
	t.Helper()
	out, err := exec.Command(filepath.Join(root, "bin", words[0]), append(words[1:], "--help")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s --help: %v\n%s", strings.Join(words, " "), err, out)
	}
	texts = append(texts, string(out))
	for _, name := range commandsIn(string(out)) {
		texts = append(texts, helpOf(t, append(words, name)...)...)
	}
	return texts
}

// titles are those of the groups of commands in a text of --help.
var titles = []string{"Available Commands:", "Use it:", "Look:", "Captures:", "Plan:", "For experts:", "Show it:", "Traffic:", "Notifications:"}

// commandsIn returns the commands that a text of --help lists, of all groups.
func commandsIn(help string) (names []string) {
	for block := range strings.SplitSeq(help, "\n\n") {
		title, list, _ := strings.Cut(block, "\n")
		if !slices.Contains(titles, title) {
			continue
		}
		for line := range strings.Lines(list) {
			if name := strings.Fields(line)[0]; name != "help" && name != "completion" {
				names = append(names, name)
			}
		}
	}
	return names
}

// withRemark is an example and what it does, behind some blanks.
var withRemark = regexp.MustCompile(`^  (sluiced|sluice-gnmi)($|  | -.*?($|   ))`)

// examplesOf returns the lines of --help of all programs that are examples.
func examplesOf(t *testing.T) (lines []string) {
	t.Helper()
	for _, program := range []string{"sluice", "sluice-lab", "sluiced", "sluice-gnmi"} {
		for _, text := range helpOf(t, program) {
			text, _, _ = strings.Cut(text, "\nFlags:")
			if _, list, ok := strings.Cut(text, "Examples:\n"); ok {
				list, _, _ = strings.Cut(list, "\n\n")
				for line := range strings.Lines(list) {
					lines = append(lines, strings.TrimSpace(line))
				}
				continue
			}
			for line := range strings.Lines(text) {
				if m := withRemark.FindString(strings.TrimSuffix(line, "\n")); m != "" {
					lines = append(lines, strings.TrimSpace(m))
				}
			}
		}
	}
	return lines
}

// TestExamplesOfHelpWork runs each example of each --help in a box.
func TestExamplesOfHelpWork(t *testing.T) {
	lines := examplesOf(t)
	for _, line := range lines {
		if !slices.ContainsFunc(examples, func(e example) bool { return e.text == line }) {
			t.Errorf("no test runs the example %q", line)
		}
	}
	for _, e := range examples {
		if !slices.Contains(lines, e.text) {
			t.Errorf("no --help has the example %q", e.text)
		}
	}
	if t.Failed() {
		return
	}
	b, here := furnishedBox(t)
	b.run(here, furniture)
	for range 10 {
		b.run("/", "rm -f /tmp/go; "+printing("echo before"))
		b.start("/", "while [ ! -e /tmp/go ]; do sleep 0.01; done; echo after", "grep . /tmp/output >/tmp/seen && exit; touch /tmp/go; exit 1")
		if b.run("/", "grep -qx after /tmp/seen"); t.Failed() {
			return
		}
	}
	for _, e := range examples {
		t.Run(e.text, func(t *testing.T) {
			if e.long && os.Getenv("SLUICE_SOAK") == "" {
				t.Skip("make soak runs it: it takes long, or loads the machine")
			}
			b := *b
			b.t = t
			if e.given != "" {
				b.run("/tmp/here", e.given)
			}
			line := e.run
			if line == "" {
				line = e.text
			}
			if e.until == "" {
				b.run("/tmp/here", printing(line))
			} else {
				b.start("/tmp/here", line, e.until)
			}
			if e.then != "" {
				b.run("/", e.then)
			}
		})
	}
}
