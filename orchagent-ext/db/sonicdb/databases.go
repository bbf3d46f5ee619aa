// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sluice/yang/text"
)

// configPaths are where database_config.json is looked for, in this order: SONiC's path,
// and the one of other machines.
var configPaths = []string{"/var/run/redis/sonic-db/database_config.json", "/etc/sluice/database_config.json"}

// ConfigUsage describes the path that [Load] takes, for --help.
const ConfigUsage = "`file` that says where the databases are (SLUICE_DB_CONFIG); default: SONiC's /var/run/redis/sonic-db/database_config.json, else /etc/sluice/database_config.json"

// globalConfig is beside database_config.json on switches of several ASICs.
const globalConfig = "database_global.json"

// Databases has the addresses of the databases of a SONiC namespace.
type Databases struct {
	path    string // that they were read from, for errors
	content file
}

// Database is the address of one database.
type Database struct {
	Name      string
	ID        int    // of the database in its Redis
	Separator string // between table and key
	Network   string // unix or tcp
	Address   string // path, or host:port
}

// file is database_config.json.
type file struct {
	Instances map[string]struct {
		Hostname string `json:"hostname"`
		Port     int    `json:"port"`
		Socket   string `json:"unix_socket_path"`
	} `json:"INSTANCES"`
	Databases map[string]struct {
		ID        int    `json:"id"`
		Separator string `json:"separator"`
		Instance  string `json:"instance"`
	} `json:"DATABASES"`
}

// Load reads a database_config.json; without a path, the first there is of
// SONiC's and /etc/sluice/database_config.json. On a switch of several ASICs, namespace
// (asic0…) chooses the file that database_global.json beside path includes for
// it; empty is the host, or the only one.
func Load(path, namespace string) (*Databases, error) {
	if path == "" {
		var err error
		if path, err = found(); err != nil {
			return nil, err
		}
	}
	if namespace != "" {
		var err error
		if path, err = included(filepath.Join(filepath.Dir(path), globalConfig), namespace); err != nil {
			return nil, err
		}
	}
	d := &Databases{path: path}
	if err := readJSON(path, &d.content); err != nil {
		return nil, err
	}
	return d, nil
}

// found returns the first of configPaths that exists. Its error names both and the flag.
func found() (string, error) {
	for _, path := range configPaths {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("where the databases are is not known: there is neither %s; name a file by --db-config or SLUICE_DB_CONFIG", strings.Join(configPaths, " nor "))
}

// included returns the path of a namespace's database_config.json.
func included(path, namespace string) (string, error) {
	var f struct {
		Includes []struct {
			Namespace string `json:"namespace"`
			Include   string `json:"include"`
		} `json:"INCLUDES"`
	}
	if err := readJSON(path, &f); err != nil {
		return "", err
	}
	var known []string
	for _, i := range f.Includes {
		if i.Namespace == namespace {
			return filepath.Join(filepath.Dir(path), i.Include), nil
		}
		if i.Namespace != "" {
			known = append(known, i.Namespace)
		}
	}
	return "", fmt.Errorf("%s: no namespace %q; there are: %s", path, namespace, strings.Join(known, ", "))
}

// readJSON reads a file into a value; its errors name the file.
func readJSON(path string, into any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read where the databases are: open %s: %w", text.Printable(path), errors.Unwrap(err))
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Database returns the address of the database of a name. Faults of other entries are
// ignored.
func (d *Databases) Database(name string) (Database, error) {
	db, ok := d.content.Databases[name]
	if !ok {
		return Database{}, fmt.Errorf("%s: no database %q; there are: %s", d.path, name, strings.Join(slices.Sorted(maps.Keys(d.content.Databases)), ", "))
	}
	i, ok := d.content.Instances[db.Instance]
	switch {
	case !ok:
		return Database{}, fmt.Errorf("%s: %s is in instance %q, which INSTANCES does not have", d.path, name, db.Instance)
	case db.Separator == "":
		return Database{}, fmt.Errorf("%s: %s has no separator", d.path, name)
	case i.Socket == "" && (i.Hostname == "" || i.Port == 0):
		return Database{}, fmt.Errorf("%s: instance %q has no unix_socket_path, and not both hostname and port", d.path, db.Instance)
	}
	at := Database{Name: name, ID: db.ID, Separator: db.Separator, Network: "unix", Address: i.Socket}
	if i.Socket == "" {
		at.Network, at.Address = "tcp", net.JoinHostPort(i.Hostname, strconv.Itoa(i.Port))
	}
	return at, nil
}
