// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strings"
	"testing"
	"time"

	"sluice/yang/rows"
	"sluice/yang/text"
)

// TestWhatIsWrongIsCut: however long what is wrong in a row is, its error, its row in
// STATE_DB and the line of the log are short, and say how long it was.
func TestWhatIsWrongIsCut(t *testing.T) {
	const size = 4 << 20
	long := strings.Repeat("x", size)
	for name, r := range map[string]rows.Row{
		"value":     {Table: "SLUICE", Key: "global", Fields: map[string]string{"cpu_rate": long}},
		"leaf-list": {Table: "SLUICE", Key: "global", Fields: map[string]string{"etcd_endpoints@": long + "," + long}},
		"many":      {Table: "SLUICE", Key: "global", Fields: map[string]string{"etcd_endpoints@": strings.Repeat("http://a:1,", size/10)}},
		"field":     {Table: "SLUICE", Key: "global", Fields: map[string]string{long: "1"}},
		"key":       {Table: "SLUICE_THRESHOLD", Key: long, Fields: map[string]string{"high_bytes": "1"}},
		"only key":  {Table: "SLUICE", Key: long},
		"pattern":   {Table: "SLUICE", Key: "global", Fields: map[string]string{"router_id": long}},
		"file":      {Table: "SLUICE", Key: "global", Fields: map[string]string{"etcd_ca_file": "/" + long, "etcd_cert_file": "/" + long}},
	} {
		before := text.Cuts()
		_, err := rows.Decode(r)
		wrong := rows.AsError(err)
		if wrong == nil {
			t.Errorf("%s is accepted", name)
			continue
		}
		row := encode(t, ConfigError(wrong, time.Unix(0, 0), nil))
		if text.Cuts() == before && name != "many" { // whose number is wrong
			t.Errorf("%s: that it was cut is not counted", name)
		}
		all := len(row.Key)
		for field, value := range row.Fields {
			all += len(field) + len(value)
		}
		if all > 4096 || len(wrong.Error()) > 4096 {
			t.Errorf("%s: a row of %d octets, a text of %d", name, all, len(wrong.Error()))
		}
		if text := wrong.Error() + row.Fields["value"]; name != "many" && name != "file" && !strings.Contains(text, "x… (") {
			t.Errorf("%s: does not say how long it is: %.300s", name, text)
		}
	}
}
