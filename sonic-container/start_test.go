package container

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// start.sh in an empty environment, with programs that print what they get.
func TestStart(t *testing.T) {
	bin := t.TempDir()
	for name, script := range map[string]string{
		"setpriv": `#!/bin/sh
echo "setpriv $1 $2"
shift 2
exec "$@"
`,
		"sluiced": `#!/bin/sh
echo "sluiced $*"
echo "$SLUICE_DB_CONFIG $LD_LIBRARY_PATH"
`,
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const (
		alone   = "/var/run/redis/sonic-db/database_config.json"
		limited = "setpriv --bounding-set=-all,+net_admin,+sys_admin --no-new-privs\n"
	)
	for name, tt := range map[string]struct {
		env  []string
		args []string
		want string
	}{
		"sluiced":          {nil, []string{"sluiced"}, limited + "sluiced \n" + alone + " \n"},
		"flags":            {nil, []string{"sluiced", "--dry-run", "--json"}, limited + "sluiced --dry-run --json\n" + alone + " \n"},
		"second ASIC":      {[]string{"NAMESPACE_ID=1"}, []string{"sluiced"}, limited + "sluiced \n/var/run/redis1/sonic-db/database_config.json \n"},
		"databases named":  {[]string{"NAMESPACE_ID=1", "SLUICE_DB_CONFIG=/x.json"}, []string{"sluiced"}, limited + "sluiced \n/x.json \n"},
		"software switch":  {[]string{"SLUICE_SAI_LIBRARY=/usr/lib/libsoftsai.so"}, []string{"sluiced"}, limited + "sluiced \n" + alone + " /usr/lib/sluice\n"},
		"vendor's library": {[]string{"SLUICE_SAI_LIBRARY=/etc/sonic/sluice/libsai.so"}, []string{"sluiced"}, limited + "sluiced \n" + alone + " \n"},
		"other rights": {[]string{"SLUICE_CAPABILITIES=net_admin sys_rawio"}, []string{"sluiced"},
			"setpriv --bounding-set=-all,+net_admin,+sys_rawio --no-new-privs\nsluiced \n" + alone + " \n"},
		"all rights":    {[]string{"SLUICE_CAPABILITIES=all"}, []string{"sluiced"}, "sluiced \n" + alone + " \n"},
		"other command": {[]string{"NAMESPACE_ID=0"}, []string{"sh", "-c", "echo $SLUICE_DB_CONFIG"}, "/var/run/redis0/sonic-db/database_config.json\n"},
	} {
		t.Run(name, func(t *testing.T) {
			start := exec.CommandContext(t.Context(), "./start.sh", tt.args...)
			start.Env = append([]string{"PATH=" + bin + ":/usr/bin:/bin"}, tt.env...)
			out, err := start.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if diff := cmp.Diff(tt.want, string(out)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The scripts are such as sh can read.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("*.sh")
	if err != nil || len(scripts) != 5 {
		t.Fatalf("scripts %v, %v", scripts, err)
	}
	for _, script := range scripts {
		first, _, _ := strings.Cut(read(t, script), "\n")
		if out, err := exec.Command(strings.TrimPrefix(first, "#!"), "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}
