// SPDX-License-Identifier: Apache-2.0

package container

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// start.sh in an empty environment, with programs that print what they get.
func TestStartScriptPassesTheEnvironment(t *testing.T) {
	bin := t.TempDir()
	for name, script := range map[string]string{
		"setpriv": `#!/bin/sh
case $1 in
--groups=*) # the question which files a user can use, which root answers here
	shift 3
	exec "$@"
	;;
--inh-caps=*) # and which capabilities there are: all
	exit 0
	;;
esac
caps=${1#--bounding-set=}
echo "setpriv $caps $5 $6 $7"
[ "$2 $3 $4" = "--inh-caps=$caps --ambient-caps=$caps --no-new-privs" ] || exit 1
shift 7
exec "$@"
`,
		"mkdir": "#!/bin/sh\n",
		"chown": "#!/bin/sh\n",
		"sluiced": `#!/bin/sh
echo "sluiced $*"
echo "$SLUICE_DB_CONFIG $LD_LIBRARY_PATH${SLUICE_SAI_PROFILE:-}"
`,
		"sluice-gnmi": `#!/bin/sh
echo "sluice-gnmi $*"
echo "$SLUICE_DB_CONFIG"
`,
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	programs := imagePrograms(t)
	// A Redis of another group, as SONiC's has it. (Whose it is, only root can choose.)
	const ofRedis = 4321
	socket := filepath.Join(bin, "redis.sock")
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	group := os.Getgid()
	if os.Getuid() == 0 {
		group = ofRedis
		if err := os.Chown(socket, 0, group); err != nil {
			t.Fatal(err)
		}
	}
	grouped := filepath.Join(bin, "database_config.json")
	// The instance of BMP, which is root's alone, is not Sluice's.
	foreign := filepath.Join(bin, "redis_bmp.sock")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"INSTANCES": {"redis": {
  "unix_socket_path" : %q,
  "port": 6379}, "redis_bmp": {"hostname": "127.0.0.1", "unix_socket_path": %q}},
"DATABASES": {"APPL_DB": {"id": 0, "separator": ":", "instance": "redis"}, "CONFIG_DB": {"id": 4, "separator": "|", "instance": "redis"},
  "BMP_STATE_DB": {"id": 20, "separator": "|", "instance": "redis_bmp"}}}
`, socket, foreign)
	if err := os.WriteFile(grouped, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const (
		alone   = "/var/run/redis/sonic-db/database_config.json"
		own     = " --groups=50070 --reuid=50071 --regid=50070\n"
		root    = " --groups=0 --reuid=0 --regid=0\n"
		limited = "setpriv -all,+net_admin,+net_raw" + own
		library = "setpriv -all,+net_admin,+net_raw,+sys_nice,+sys_admin"
		none    = "setpriv -all --groups=50070 --reuid=50070 --regid=50070\n"
		gnmi    = "sluice-gnmi --state-file /var/lib/sluice-gnmi/commit.json"
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
		"software switch":  {[]string{"SLUICE_SAI_LIBRARY=/usr/lib/libsoftsai.so"}, []string{"sluiced"}, library + own + "sluiced \n" + alone + " /usr/lib/sluice\n"},
		"vendor's library": {[]string{"SLUICE_SAI_LIBRARY=/etc/sonic/sluice/libsai.so"}, []string{"sluiced"}, library + root + "sluiced \n" + alone + " \n"},
		"SAI profile":      {[]string{"SLUICE_SAI_LIBRARY=/x/libsai.so", "SLUICE_SAI_PROFILE=@/etc/sonic/sluice/sai.profile"}, []string{"sluiced"}, library + root + "sluiced \n" + alone + " @/etc/sonic/sluice/sai.profile\n"},
		"other rights": {[]string{"SLUICE_CAPABILITIES=net_admin sys_rawio"}, []string{"sluiced"},
			"setpriv -all,+net_admin,+sys_rawio" + own + "sluiced \n" + alone + " \n"},
		"all rights":                {[]string{"SLUICE_CAPABILITIES=all"}, []string{"sluiced"}, "sluiced \n" + alone + " \n"},
		"gNMI":                      {[]string{"SLUICE_CAPABILITIES=all"}, []string{"sluice-gnmi"}, none + gnmi + "\n" + alone + "\n"},
		"gNMI's flags":              {[]string{"SLUICE_GNMI_FLAGS=--listen :50071"}, []string{"sluice-gnmi", "--health"}, none + gnmi + " --listen :50071 --health\n" + alone + "\n"},
		"other command":             {[]string{"NAMESPACE_ID=0"}, []string{"sh", "-c", "echo $SLUICE_DB_CONFIG"}, "/var/run/redis0/sonic-db/database_config.json\n"},
		"state file":                {[]string{"NAMESPACE_ID="}, []string{"sh", "-c", "echo $SLUICE_STATE_FILE"}, "/var/lib/sluice/sluiced.json\n"},
		"state file of an instance": {[]string{"NAMESPACE_ID=1"}, []string{"sh", "-c", "echo $SLUICE_STATE_FILE"}, "/var/lib/sluice/sluiced1.json\n"},
		"state file named":          {[]string{"SLUICE_STATE_FILE=/x"}, []string{"sh", "-c", "echo $SLUICE_STATE_FILE"}, "/x\n"},
		"group of Redis": {[]string{"SLUICE_DB_CONFIG=" + grouped}, []string{"sluice-gnmi"},
			fmt.Sprintf("setpriv -all --groups=50070,%d --reuid=50070 --regid=50070\n%s\n%s\n", group, gnmi, grouped)},
	} {
		t.Run(name, func(t *testing.T) {
			start := exec.CommandContext(t.Context(), "./start.sh", tt.args...)
			start.Env = append([]string{"PATH=" + bin + ":" + programs}, tt.env...)
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

// imagePrograms returns a folder with the programs that the small image has: of the packages that
// debian-root.sh names. Where the machine is no Debian, it is that of all programs.
func imagePrograms(t *testing.T) string {
	t.Helper()
	_, list, found := strings.Cut(read(t, "debian-root.sh"), "packages='")
	list, _, ended := strings.Cut(list, "'")
	if !found || !ended {
		t.Fatal("debian-root.sh names no packages")
	}
	packages := strings.Fields(list)
	files, err := exec.Command("dpkg-query", append([]string{"-L"}, packages...)...).Output()
	if err != nil && len(files) == 0 {
		return "/usr/bin:/bin"
	}
	dir := t.TempDir()
	for file := range strings.Lines(string(files)) {
		file = strings.TrimSpace(file)
		if folder := filepath.Base(filepath.Dir(file)); folder != "bin" && folder != "sbin" {
			continue
		}
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			if err := os.Symlink(file, filepath.Join(dir, filepath.Base(file))); err != nil && !os.IsExist(err) {
				t.Fatal(err)
			}
		}
	}
	if err := os.Symlink("/bin/sh", filepath.Join(dir, "sh")); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	return dir
}

// The scripts are such as sh can read, and shellcheck, where it is, finds nothing.
func TestScriptsParse(t *testing.T) {
	scripts, err := filepath.Glob("*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("scripts %v, %v", scripts, err)
	}
	for _, script := range scripts {
		first, _, _ := strings.Cut(read(t, script), "\n")
		if out, err := exec.Command(strings.TrimPrefix(first, "#!"), "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
	shellcheck, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Logf("%v: apt-get install shellcheck", err)
		return
	}
	if out, err := exec.CommandContext(t.Context(), shellcheck, scripts...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// pageOptions are the options of `docker run` in docs/sonic-reference.md that give the container rights.
func pageOptions(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../docs/sonic-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(page), "\ndocker run -d ")
	line, _, found := strings.Cut(line, " docker-sluice\n")
	words := strings.Fields(strings.ReplaceAll(line, "\\\n", " "))
	var options []string
	for i, word := range words {
		if i > 0 && slices.Contains([]string{"--cap-add", "--security-opt", "--device"}, words[i-1]) {
			options = append(options, words[i-1], word)
		}
	}
	if !found || len(options) == 0 {
		t.Fatalf("docs/sonic-reference.md has no docker run -d with rights: %q", line)
	}
	return options
}

// TestDockerRunOfThePageGrantsTheRights: the page gives each capability that start.sh passes
// to sluiced with the software switch, but for those that every container of Docker has, and
// the device of the TAP.
func TestDockerRunOfThePageGrantsTheRights(t *testing.T) {
	script, err := os.ReadFile("start.sh")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(script), "capabilities=${SLUICE_CAPABILITIES:-")
	line, _, _ = strings.Cut(line, "\n")
	var want []string
	for _, name := range strings.Fields(strings.NewReplacer("${SLUICE_SAI_LIBRARY:+", " ", "}", " ").Replace(line)) {
		if name != "net_raw" { // Docker's default has it
			want = append(want, "--cap-add "+strings.ToUpper(name))
		}
	}
	options := strings.Join(pageOptions(t), " ")
	for _, option := range append(want, "--device /dev/net/tun") {
		if !strings.Contains(options, option) {
			t.Errorf("docker run of docs/sonic-reference.md has no %s: %s", option, options)
		}
	}
	if len(want) < 2 {
		t.Errorf("start.sh passes only %q", want)
	}
}
