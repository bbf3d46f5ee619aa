// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/sonicdb"
	"sluice/yang/rows"
)

// commandOf is what `config sluice` calls a table.
var commandOf = map[string]string{
	"SLUICE": "global", "SLUICE_PORT": "port", "SLUICE_FLOW_LABEL": "flow-label",
	"SLUICE_IPFIX": "ipfix", "SLUICE_IPFIX_COLLECTOR": "ipfix-collector",
}

// odd are values that some field takes, and others do not.
var odd = []string{
	"", " ", "0", "1", "-1", "+5", "007", "1024", "4294967295", "4294967296", "18446744073709551616", strings.Repeat("9", 5000), "0x10", "1e3", "1.0", "\u0665", "\u00b2",
	"enabled", "Enabled", "enabled ", "true", "TRUE", "True", "null", "None", "edge", "tls", "udp",
	"10.0.0.1", "10.0.0.01", "10.0.0.1/8", "10.0.0", "::1", "::FFFF:1.2.3.4", "fe80::1%eth0", "2001:DB8::1", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1::2::3", "256.0.0.1", "[::1]",
	"Ethernet0", "ethernet0", "Ethernet0 ", "Ethernet1", "PortChannel1", "a|b", "a/b", "a,b", "gold.1", "x=y", "--", "-n", "@", "*", "%41", "\\", "'", `"`,
	strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("x", 4096), strings.Repeat("x", 4097),
	strings.Repeat("\u00e4", 64), strings.Repeat("\u00e4", 4096), "\u00e4\u00df", "\u200b", "\u00a0", "\u202e", "\t", "a\nb", "\r", "\x01", "\x1b[31m", "\x7f", "\u0085", "\ufffe", "\U0001f600",
}

// judged are rows: those of a field with an odd value, of an odd key, and some.
func judged() []rows.Row {
	row := func(table, key string, pairs ...string) rows.Row {
		r := rows.Row{Table: table, Key: key, Fields: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			r.Fields[pairs[i]] = pairs[i+1]
		}
		return r
	}
	all := []rows.Row{
		row("SLUICE_IPFIX_COLLECTOR", "gold"),
		row("SLUICE_IPFIX_COLLECTOR", "gold", "address", "::1", "transport", "tls"),
		row("SLUICE_IPFIX_COLLECTOR", "gold", "address", "::1", "transport", "dtls", "ca_file", "/a", "cert_file", "/b"),
		row("SLUICE_IPFIX_COLLECTOR", "gold", "address", "::1", "transport", "udp", "ca_file", "/a"),
		row("SLUICE_IPFIX_COLLECTOR", "gold", "address", "::1", "transport", "tls", "ca_file", "/a", "cert_file", "/b", "key_file", "/c"),
		row("SLUICE_FLOW_LABEL", "global", "admin_state", "enabled", "algorithm", "md5"),
		row("SLUICE_FLOW_LABEL", "global", "color", "red"),
		row("SLUICE", "global", "flow_capacity", "1023"), row("SLUICE", "global", "flow_capacity", "1024"), row("SLUICE", "global", "driver", "SAI"),
		row("SLUICE_PORT", "Ethernet0", "role", "edge"), row("SLUICE_PORT", "Ethernet0", "role", "Edge"),
	}
	for _, endpoints := range []string{
		",", "http://a:1", "HTTP://a:1", "http://a", "http://a:1/", "http://a:1,http://a:1", "http://a:1,", "http://a:1, http://b:1", "http://a:1,https://b:1",
		"https://a:1", "http://[::1]:1", "http://[::1]", "http://::1:1", "http://a:0", "http://a:65536", "http://a:99999", "http://u:p@a:1", "http://a_b:1", "http://\u00e4:1", "ftp://a:1",
		"http://a:1,http://b:1,http://c:1,http://d:1,http://e:1,http://f:1,http://g:1,http://h:1,http://i:1",
		"http://a:1,http://b:1,http://c:1,http://d:1,http://e:1,http://f:1,http://g:1,http://h:1,http://i:1,http://j:1",
	} {
		all = append(all, row("SLUICE", "global", "etcd_endpoints@", endpoints), row("SLUICE", "global", "etcd_endpoints@", endpoints, "stream_id_scope", "global"),
			row("SLUICE", "global", "etcd_endpoints@", endpoints, "etcd_ca_file", "/a"))
	}
	for _, fields := range [][]string{
		{"etcd_user", "u"}, {"etcd_password_file", "/p"}, {"etcd_user", "u", "etcd_password_file", "/p"},
		{"etcd_cert_file", "/c", "etcd_key_file", "/k"}, {"etcd_endpoints@", "https://a:1", "etcd_ca_file", "/a", "etcd_cert_file", "/c"},
		{"etcd_endpoints@", "https://a:1", "etcd_ca_file", "/a", "etcd_cert_file", "/c", "etcd_key_file", "/k"}, {"stream_id_scope", "global"},
	} {
		all = append(all, row("SLUICE", "global", fields...))
	}
	for _, v := range odd {
		all = append(all,
			row("SLUICE_FLOW_LABEL", "global", "manage_switch_hash", v), row("SLUICE_IPFIX", "global", "pen", v),
			row("SLUICE_IPFIX_COLLECTOR", "gold", "address", v), row("SLUICE_IPFIX_COLLECTOR", "gold", "address", "::1", "port", v),
			row("SLUICE_IPFIX_COLLECTOR", "gold", "address", "::1", "transport", "tls", "ca_file", v))
		if v != "" { // a key that is not there is no word of a command
			all = append(all, row("SLUICE_PORT", v, "role", "edge"), row("SLUICE_IPFIX_COLLECTOR", v, "address", "::1"))
		}
	}
	return all
}

// TestVerdicts: sluiced, gNMI and the commands take the same rows. Only the commands
// reject characters that a terminal does not show, though a string may have them.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3" // Debian's, which sees Debian's modules
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import pytest, click, redis, tabulate, natsort").CombinedOutput(); err != nil {
		t.Skipf("make deps: %v: %s", err, out)
	}
	s := start(t)
	ports := []rows.Row{{Table: "PORT", Key: "Ethernet0", Fields: map[string]string{"lanes": "0"}}, {Table: "PORTCHANNEL", Key: "PortChannel1"}}
	for _, r := range ports {
		s.write(s.config, r.Name(), "admin_status", "up")
	}
	client := s.client()
	cases := judged()
	var lines [][]string
	for _, r := range cases {
		line := []string{"config", "sluice", commandOf[r.Table], "set"}
		for _, name := range slices.Sorted(maps.Keys(r.Fields)) {
			line = append(line, "--"+strings.ReplaceAll(strings.TrimSuffix(name, "@"), "_", "-")+"="+r.Fields[name])
		}
		if r.Key != "global" || rows.Only(r.Table) == "" {
			line = append(line, "--", r.Key)
		}
		lines = append(lines, line)
		if r.Key != "global" { // each row is judged alone
			lines = append(lines, []string{"config", "sluice", commandOf[r.Table], "del", "--", r.Key})
		} else {
			lines = append(lines, []string{"config", "sluice", commandOf[r.Table], "del"})
		}
	}
	said := s.play(python, lines)
	taken := map[bool]int{}
	for i, r := range cases {
		byDaemon := takes(ports, r)
		byGNMI := gnmiTakes(t, client, r)
		byCLI := said[2*i].Code == 0
		hidden := strings.ContainsFunc(r.Key+fmt.Sprint(r.Fields), func(c rune) bool { return strings.ContainsRune("\u200b\u00a0\u202e\t\n\r\x7f\u0085", c) })
		if byDaemon == "" != (byGNMI == "") || byDaemon == "" != byCLI && (byCLI || !hidden) {
			t.Errorf("%s %.80q:\n  sluiced: %.200s\n  gNMI: %.200s\n  command: %.200s", r.Name()[:min(len(r.Name()), 80)], r.Fields, byDaemon, byGNMI, said[2*i].Text)
		}
		taken[byDaemon == ""]++
	}
	if taken[true] < 50 || taken[false] < 50 {
		t.Errorf("a poor choice of rows: %v", taken)
	}
}

// takes returns why sluiced rejects a row; empty: it accepts it.
func takes(ports []rows.Row, r rows.Row) string {
	var changes []sonicdb.Change
	for _, row := range append([]rows.Row{r}, ports...) {
		changes = append(changes, sonicdb.Change{Row: row})
	}
	_, rejected := config.New().Apply(changes)
	for i := range rejected {
		return fmt.Sprint(&rejected[i])
	}
	return ""
}

// gnmiTakes returns why gNMI rejects a row; empty: it accepted it, and the row was
// deleted again.
func gnmiTakes(t *testing.T, c gpb.GNMIClient, r rows.Row) string {
	t.Helper()
	p := sonic("/CONFIG_DB/localhost")
	p.Elem = append(p.Elem, &gpb.PathElem{Name: r.Table}, &gpb.PathElem{Name: r.Key})
	fields := map[string]any{}
	for name, value := range r.Fields {
		fields[name] = value
		if leaf, isList := strings.CutSuffix(name, "@"); isList {
			delete(fields, name)
			fields[leaf] = strings.Split(value, ",")
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Set(limited(t), &gpb.SetRequest{Replace: []*gpb.Update{{Path: p, Val: jsonOf(string(text))}}}); err != nil {
		return err.Error()
	}
	if _, err := c.Set(limited(t), &gpb.SetRequest{Delete: []*gpb.Path{p}}); err != nil {
		t.Fatal(err)
	}
	return ""
}

// verdict is what a command said.
type verdict struct {
	Code int
	Text string
}

func (v *verdict) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &[]any{&v.Code, &v.Text}) }

// play runs command lines on the server's Redis.
func (s *server) play(python string, lines [][]string) []verdict {
	s.t.Helper()
	in, err := json.Marshal(lines)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), python, "-B", "../../sonic-container/cli/tests/play.py")
	cmd.Env = append(os.Environ(), "SLUICE_TEST_REDIS="+s.redis.Socket)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	var said []verdict
	if err := json.Unmarshal(out, &said); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	return said
}
