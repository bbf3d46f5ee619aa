// SPDX-License-Identifier: Apache-2.0

package past

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/db/telemetry/metrics"
	"sluice/orchagent-ext/view/frame"
	"sluice/yang/rows"
)

// now is the time of tests.
var now = time.Date(2026, 11, 27, 14, 5, 0, 0, time.UTC)

// asked are the arguments of requests.
type asked []url.Values

// served is a Prometheus with an answer for each request; its result is the JSON of the series.
func served(t *testing.T, answer func(path string, args url.Values) (result string)) (address string, got *asked) {
	t.Helper()
	got = &asked{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s: %v", r.Method, err)
		}
		*got = append(*got, r.PostForm)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":%s}}`, answer(r.URL.Path, r.PostForm))
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

// one is a series as JSON; points are seconds before now and values in turn.
func one(name string, labels map[string]string, points ...float64) string {
	metric := map[string]string{"__name__": name}
	for k, v := range labels {
		metric[k] = v
	}
	var values [][]any
	for i := 0; i < len(points); i += 2 {
		values = append(values, []any{float64(now.UnixMilli())/1000 - points[i], fmt.Sprint(points[i+1])})
	}
	text, _ := json.Marshal(map[string]any{"metric": metric, "values": values})
	return string(text)
}

// list is series as JSON.
func list(all ...string) string { return "[" + strings.Join(all, ",") + "]" }

// opened returns the source at an address.
func opened(t *testing.T, address string, o Options) *Source {
	t.Helper()
	s, err := New(address, o)
	if err != nil {
		t.Fatal(err)
	}
	s.now = func() time.Time { return now }
	return s
}

// of is the labels of an instance and of a port; "": none.
func of(instance, port string) map[string]string {
	labels := map[string]string{"instance": instance, "job": "sluice"}
	if port != "" {
		labels["port"] = port
	}
	return labels
}

func TestFrameHasTheRowsOfTheLastScrapes(t *testing.T) {
	address, got := served(t, func(_ string, args url.Values) string {
		if strings.Contains(args.Get("query"), metrics.Scraped+`"`) {
			return list(
				one(metrics.Scraped, of("leaf1:9475", ""), 31, 1, 16, 1, 1, 1),
				one(metrics.Scraped, of("leaf2:9475", ""), 25, 1, 10, 1),
				one(metrics.Scraped, of("leaf3:9475", ""), 130, 1, 115, 1, 100, 1), // it was switched off
				one(metrics.Scraped, of("leaf4:9475", ""), 3, 1),                   // it is new
				one(metrics.Scraped, of("leaf5:1", ""), 30, 1, 15, 1, 0, 1), one(metrics.Scraped, of("leaf5:2", ""), 30, 1, 15, 1, 0, 1),
			)
		}
		return list(
			one("sluice_port_tx_bytes_total", of("leaf1:9475", "Ethernet0"), 16, 100, 1, 250),
			one("sluice_port_oper_status", map[string]string{"instance": "leaf1:9475", "port": "Ethernet0", "oper_status": "up"}, 16, 1, 1, 0),
			one("sluice_port_oper_status", map[string]string{"instance": "leaf1:9475", "port": "Ethernet0", "oper_status": "down"}, 16, 0, 1, 1),
			one("sluice_port_tx_bytes_total", of("leaf1:9475", "PortChannel1"), 1, 7), // it is new
			one("sluice_port_tx_bytes_total", of("leaf2:9475", "Ethernet0"), 25, 1, 10, 2),
			one("sluice_port_tx_bytes_total", of("leaf4:9475", "Ethernet0"), 3, 3),
			one("sluice_port_tx_bytes_total", of("leaf9:9475", "Ethernet0"), 3, 3), // of a scrape that is not known
		)
	})
	f, before, err := opened(t, address, Options{}).At(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	at := func(seconds int) time.Time { return now.Add(time.Duration(-seconds) * time.Second) }
	port := func(name string, fields ...string) []rows.Row {
		r := rows.Row{Table: "SLUICE_PORT_STATS", Key: name, Fields: map[string]string{}}
		for i := 0; i < len(fields); i += 2 {
			r.Fields[fields[i]] = fields[i+1]
		}
		return []rows.Row{{Table: "PORT", Key: name}, r}
	}
	leaf1 := port("Ethernet0", "tx_bytes", "250", "oper_status", "down")
	leaf1 = append(leaf1, port("PortChannel1", "tx_bytes", "7")[1])
	want := &frame.Frame{At: at(0), Switches: []frame.Switch{
		{Name: "leaf1", Address: "leaf1:9475", At: at(1), Rows: leaf1},
		{Name: "leaf2", Address: "leaf2:9475", At: at(10), Rows: port("Ethernet0", "tx_bytes", "2")},
		{Name: "leaf3", Address: "leaf3:9475", Missing: "it was scraped last at 2026-11-27T14:03:20Z"},
		{Name: "leaf4", Address: "leaf4:9475", At: at(3), Rows: port("Ethernet0", "tx_bytes", "3")},
		{Name: "leaf5:1", Address: "leaf5:1", At: at(0)},
		{Name: "leaf5:2", Address: "leaf5:2", At: at(0)},
	}}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
	wantBefore := &frame.Frame{At: at(15), Switches: []frame.Switch{
		{Name: "leaf1", Address: "leaf1:9475", At: at(16), Rows: port("Ethernet0", "tx_bytes", "100", "oper_status", "up")},
		{Name: "leaf2", Address: "leaf2:9475", At: at(25), Rows: port("Ethernet0", "tx_bytes", "1")},
		{Name: "leaf5:1", Address: "leaf5:1", At: at(15)},
		{Name: "leaf5:2", Address: "leaf5:2", At: at(15)},
	}}
	if diff := cmp.Diff(wantBefore, before); diff != "" {
		t.Error(diff)
	}
	if len(*got) != 2 || (*got)[1].Get("time") != "1795788300.000" || !strings.HasSuffix((*got)[1].Get("query"), "[25001ms]") {
		t.Errorf("asked %v", *got)
	}
}

func TestOnlyWhatIsWantedIsAsked(t *testing.T) {
	address, got := served(t, func(_ string, args url.Values) string {
		return list(one(metrics.Scraped, of("leaf.1:9475", ""), 1, 1))
	})
	s := opened(t, address, Options{Tables: []string{"PORT", "SLUICE_PORT_STATS", "SLUICE_HOLD"}, Switches: []string{"leaf.1", `x"\`}})
	if _, _, err := s.At(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	const instances = `instance=~"\\[?leaf\\.1\\]?(:[0-9]+)?|\\[?x\"\\\\\\]?(:[0-9]+)?"`
	if q := (*got)[0].Get("query"); q != `{__name__="sluice_redis_up",`+instances+`}[300000ms]` {
		t.Errorf("scrapes: %s", q)
	}
	if q := (*got)[1].Get("query"); !strings.HasPrefix(q, `{__name__=~"sluice_port_oper_status|`) || strings.Contains(q, "queue") || !strings.Contains(q, instances) {
		t.Errorf("metrics: %s", q)
	}
	if s.Has("SLUICE_HOLD") || s.Has("SLUICE_PORT") || !s.Has("PORT") || !s.Has("SLUICE_FLOW") || !s.Has("SLUICE_QUEUE_STATS") {
		t.Error("it has other tables")
	}
}

// TestSwitchThatMovedIsThatOfItsLastScrape: its series has other labels since a job or a collector has another
// name, and the old one is there for five minutes more.
func TestSwitchThatMovedIsThatOfItsLastScrape(t *testing.T) {
	series := func(name, collector string, points ...float64) string {
		return one(name, map[string]string{"instance": "leaf1:9475", "collector": collector}, points...)
	}
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		address, _ := served(t, func(_ string, args url.Values) string {
			name, values := metrics.Scraped, []float64{1, 1, 1, 1}
			if !strings.Contains(args.Get("query"), metrics.Scraped+`"`) {
				name, values = "sluice_flows", []float64{7, 8, 9, 10}
			}
			both := []string{series(name, "0", 120, values[0], 105, values[1]), series(name, "1", 17, values[2], 2, values[3])}
			return list(both[order[0]], both[order[1]])
		})
		f, before, err := opened(t, address, Options{}).At(t.Context(), now)
		if err != nil || before == nil || len(f.Switches) != 1 || len(f.Switches[0].Rows) != 1 {
			t.Fatalf("%v after %v: %v", f, before, err)
		}
		if s := f.Switches[0]; s.Missing != "" || s.Rows[0].Fields["flows"] != "10" || before.Switches[0].Rows[0].Fields["flows"] != "9" {
			t.Errorf("%v after %v", s, before.Switches[0])
		}
	}
}

// TestSwitchWhoseDatabasesFailedIsMissing: its scrape has no row, which is not that it has none.
func TestSwitchWhoseDatabasesFailedIsMissing(t *testing.T) {
	address, _ := served(t, func(_ string, args url.Values) string {
		if strings.Contains(args.Get("query"), metrics.Scraped+`"`) {
			return list(one(metrics.Scraped, of("leaf1:9475", ""), 17, 1, 2, 0), one(metrics.Scraped, of("leaf2:9475", ""), 17, 0, 2, 1))
		}
		return list(one("sluice_port_tx_bytes_total", of("leaf1:9475", "Ethernet0"), 17, 1))
	})
	f, _, err := opened(t, address, Options{}).At(t.Context(), now)
	if err != nil || len(f.Switches) != 2 {
		t.Fatalf("%v, %v", f, err)
	}
	if s := f.Switches[0]; s.Missing != "its sluiced could not read its databases at 2026-11-27T14:04:58Z" || s.Rows != nil {
		t.Errorf("%+v", s)
	}
	if s := f.Switches[1]; s.Missing != "" {
		t.Errorf("%+v", s)
	}
}

func TestPrometheusThatHangsIsLeft(t *testing.T) {
	a, err := newAPI("http://127.0.0.1:9090")
	if err != nil || a.client.Timeout <= 0 || a.client.Timeout > 5*time.Minute {
		t.Errorf("it waits %v: %v", a.client.Timeout, err)
	}
}

func TestPrometheusWithoutScrapesHasNoFrame(t *testing.T) {
	address, _ := served(t, func(string, url.Values) string { return "[]" })
	s := opened(t, address, Options{})
	if f, before, err := s.At(t.Context(), now); f != nil || before != nil || err != nil {
		t.Errorf("%v, %v, %v", f, before, err)
	}
	if _, _, ok := s.Span(); ok {
		t.Error("it has a span")
	}
}

func TestSpanIsThatOfTheScrapes(t *testing.T) {
	const first, last = 100_000, 4
	address, got := served(t, func(path string, args url.Values) string {
		if strings.HasSuffix(path, "/query_range") {
			return list(one("", nil, first-30, 3, 50_000, 3, 700, 3))
		}
		if strings.Contains(args.Get("query"), "[1296000ms]") {
			return list(one(metrics.Scraped, of("leaf1:9475", ""), first, 1, first-15, 1))
		}
		return list(one(metrics.Scraped, of("leaf1:9475", ""), last+15, 1, last, 1))
	})
	s := opened(t, address, Options{})
	for range 2 {
		from, to, ok := s.Span()
		if !ok || !from.Equal(now.Add(-first*time.Second)) || !to.Equal(now.Add(-last*time.Second)) {
			t.Errorf("from %v to %v, %t", from, to, ok)
		}
	}
	if len(*got) != 3 {
		t.Errorf("%d questions", len(*got))
	}
	s.now = func() time.Time { return now.Add(fresh) } // only the end is asked again
	if _, _, ok := s.Span(); !ok || len(*got) != 4 {
		t.Errorf("%d questions", len(*got))
	}
}

func TestAnswersThatAreNoneAreErrors(t *testing.T) {
	for want, answer := range map[string]struct {
		status     int
		kind, body string
	}{
		"500 Internal Server Error, and no JSON": {500, "text/html", "<html>"},
		"bad·query":                              {400, "application/json", `{"status":"error","errorType":"bad_data","error":"bad\nquery"}`},
		"read the answer: unexpected EOF":        {200, "application/json", `{"status":"success","data":{"resultType":"matrix","result":[`},
		`is a "vector", and no matrix`:           {200, "application/json", `{"status":"success","data":{"resultType":"vector","result":[]}}`},
		"a point must be a time and a value":     {200, "application/json", `{"status":"success","data":{"resultType":"matrix","result":[{"values":["x"]}]}}`},
		"a value must be a number":               {200, "application/json", `{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1,"x"]]}]}}`},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", answer.kind)
			w.WriteHeader(answer.status)
			fmt.Fprint(w, answer.body)
		}))
		source := opened(t, s.URL, Options{})
		if f, _, err := source.At(t.Context(), now); err == nil || f != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, not %q", f, err, want)
		}
		if _, _, ok := source.Span(); ok {
			t.Errorf("%s: it has a span", want)
		}
		s.Close()
	}
	for _, address := range []string{"", "localhost:9090", "ftp://x", "http://", "://"} {
		if _, err := New(address, Options{}); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}
