// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadFindsTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"sonic-db/database_config.json": `{
			"INSTANCES": {
				"redis": {"hostname": "127.0.0.1", "port": 6379, "unix_socket_path": "/var/run/redis/redis.sock", "persistence_for_warm_boot": "yes"},
				"redis2": {"hostname": "::1", "port": 6380}},
			"DATABASES": {
				"CONFIG_DB": {"id": 4, "separator": "|", "instance": "redis"},
				"CHASSIS_DB": {"id": 12, "separator": "|", "instance": "elsewhere"},
				"COUNTERS_DB": {"id": 2, "separator": ":", "instance": "redis2"}},
			"VERSION": "1.0"}`,
		"sonic-db/database_global.json": `{"INCLUDES": [
			{"include": "../sonic-db/database_config.json"},
			{"namespace": "asic0", "include": "../redis0/sonic-db/database_config.json"}], "VERSION": "1.0"}`,
		"redis0/sonic-db/database_config.json": `{
			"INSTANCES": {"redis": {"unix_socket_path": "/var/run/redis0/redis.sock"}},
			"DATABASES": {"CONFIG_DB": {"id": 4, "separator": "|", "instance": "redis"}}}`,
		"bad/database_config.json":  `{"INSTANCES": {}, "DATABASES": {"STATE_DB": {"id": 6, "separator": "|", "instance": "redis"}}}`,
		"bad2/database_config.json": `{"INSTANCES": {"redis": {}}, "DATABASES": {"STATE_DB": {"id": 6, "instance": "redis"}}}`,
		"bad4/database_config.json": `{"INSTANCES": {"redis": {"hostname": "::1"}}, "DATABASES": {"STATE_DB": {"id": 6, "separator": "|", "instance": "redis"}}}`,
		"bad3/database_config.json": `{`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		path, namespace, name string
		want                  Database
		err                   string
	}{
		{"sonic-db", "", "CONFIG_DB", Database{"CONFIG_DB", 4, "|", "unix", "/var/run/redis/redis.sock"}, ""},
		{"sonic-db", "", "COUNTERS_DB", Database{"COUNTERS_DB", 2, ":", "tcp", "[::1]:6380"}, ""},
		{"sonic-db", "asic0", "CONFIG_DB", Database{"CONFIG_DB", 4, "|", "unix", "/var/run/redis0/redis.sock"}, ""},
		{"sonic-db", "", "STATE_DB", Database{}, `no database "STATE_DB"; there are: CHASSIS_DB, CONFIG_DB, COUNTERS_DB`},
		{"sonic-db", "", "CHASSIS_DB", Database{}, `CHASSIS_DB is in instance "elsewhere", which INSTANCES does not have`},
		{"sonic-db", "asic1", "CONFIG_DB", Database{}, `no namespace "asic1"; there are: asic0`},
		{"redis0/sonic-db", "asic0", "CONFIG_DB", Database{}, "database_global.json: no such file"},
		{"bad", "", "STATE_DB", Database{}, `STATE_DB is in instance "redis", which INSTANCES does not have`},
		{"bad2", "", "STATE_DB", Database{}, "STATE_DB has no separator"},
		{"bad4", "", "STATE_DB", Database{}, `instance "redis" has no unix_socket_path, and not both hostname and port`},
		{"bad3", "", "STATE_DB", Database{}, "unexpected end of JSON"},
	} {
		d, err := Load(filepath.Join(dir, tt.path, "database_config.json"), tt.namespace)
		var got Database
		if err == nil {
			got, err = d.Database(tt.name)
		}
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s of %s in %q: error %v, want %q in it", tt.name, tt.path, tt.namespace, err, tt.err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s of %s in %q (-want +got):\n%s", tt.name, tt.path, tt.namespace, diff)
		}
	}
}

// TestLoadLooksForTheFile: without a path SONiC's file is taken, else that of a box
// without SONiC; without both, the error names both, and what else there is.
func TestLoadLooksForTheFile(t *testing.T) {
	was := configPaths
	defer func() { configPaths = was }()
	dir := t.TempDir()
	configPaths = []string{filepath.Join(dir, "sonic.json"), filepath.Join(dir, "etc.json")}
	_, err := Load("", "")
	for _, part := range append(configPaths, "SLUICE_DB_CONFIG", "--db-config") {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v, want %q in it", err, part)
		}
	}
	for _, path := range []string{configPaths[1], configPaths[0]} { // the first is preferred
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		if d, err := Load("", ""); err != nil || d.path != path {
			t.Errorf("%v, %v, want %s", d, err, path)
		}
	}
}
