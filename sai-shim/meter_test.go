package sai_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sai "sluice/sai-shim"
)

// build builds a library of testdata.
func build(t *testing.T, name string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	library := filepath.Join(t.TempDir(), "lib"+name+".so")
	out, err := exec.Command("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-Iinclude", "-o", library, "testdata/"+name+".c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return library
}

// openMeters opens the library of meters.c with its switch; calls returns what it
// was called with since the last time.
func openMeters(t *testing.T) (l *sai.Library, calls func() []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "calls")
	l, err := sai.Open(build(t, "meters"), map[string]string{"CALLS": file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := l.CreateSwitch(false); err != nil {
		t.Fatal(err)
	}
	read := 0
	return l, func() []string {
		t.Helper()
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fresh := string(content[read:])
		read = len(content)
		return strings.Split(strings.TrimSuffix(fresh, "\n"), "\n")
	}
}

// The numbers are those of SAI's headers.
func TestQueuesMetersAndMirrors(t *testing.T) {
	l, calls := openMeters(t)
	if diff := cmp.Diff([]string{"create switch: 116=0"}, calls()); diff != "" {
		t.Error(diff)
	}
	tc := uint8(6)
	for _, tt := range []struct {
		name string
		call func() error
		want string
	}{
		{"scheduler", func() error {
			_, err := l.CreateScheduler(1_000_000)
			return err
		}, "create scheduler of 7: 0=0 2=1 5=1000000"},
		{"remove scheduler", func() error { return l.RemoveScheduler(101) }, "remove scheduler 101"},
		{"queue under a scheduler", func() error { return l.SetQueueScheduler(30, 101) }, "set queue 30: 6=101"},
		{"byte policer", func() error {
			_, err := l.CreatePolicer(sai.Policer{Rate: 12_500_000, Burst: 65536, Red: sai.Copy})
			return err
		}, "create policer of 7: 0=1 1=0 2=0 4=12500000 3=65536 9=2"},
		{"packet policer", func() error {
			_, err := l.CreatePolicer(sai.Policer{Packets: true, Rate: 100, Burst: 10, Red: sai.CopyCancel})
			return err
		}, "create policer of 7: 0=0 1=0 2=0 4=100 3=10 9=3"},
		{"remove policer", func() error { return l.RemovePolicer(103) }, "remove policer 103"},
		{"mirror", func() error { _, err := l.CreateMirror(sai.Mirror{Port: 3}); return err }, "create mirror_session of 7: 0=0 1=3"},
		{"sampled mirror", func() error {
			_, err := l.CreateMirror(sai.Mirror{Port: 3, Truncate: 128, SampleRate: 20, Policer: 103})
			return err
		}, "create mirror_session of 7: 0=0 1=3 2=128 3=20 22=103"},
		{"remove mirror", func() error { return l.RemoveMirror(105) }, "remove mirror_session 105"},
		{"entry", func() error {
			_, err := l.CreateACLEntry(sai.ACLEntry{Table: 9, Mirror: 105, TC: &tc})
			return err
		}, "create acl_entry of 7: mirror=1,1,105 tc=1,6"},
	} {
		if err := tt.call(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff([]string{tt.want}, calls()); diff != "" {
			t.Errorf("%s, -want +got:\n%s", tt.name, diff)
		}
	}
}

func TestQueueAndPolicerReads(t *testing.T) {
	l, _ := openMeters(t)
	queues, err := l.Queues(3)
	if err != nil || len(queues) != 70 || queues[0] != 300 || queues[69] != 369 {
		t.Errorf("queues %v, %v", queues, err)
	}
	queue, err := l.QueueStats(30)
	if diff := cmp.Diff(sai.QueueStats{Octets: 30024, Watermark: 30025, SharedWatermark: 30027, Dropped: 30002, Marked: 30034}, queue); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	policer, err := l.PolicerStats(5)
	if diff := cmp.Diff(sai.PolicerStats{Packets: 5000, RedPackets: 5006, RedOctets: 5007}, policer); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

func TestMeterErrors(t *testing.T) {
	l, _ := openMeters(t)
	for _, tt := range []struct {
		err    error
		want   string
		reason error
	}{
		{l.SetSchedulerRate(101, 5), "SAI set scheduler: SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE: ATTR_NOT_SUPPORTED", sai.ErrNotSupported},
		{l.SetQueueScheduler(404, 101), "SAI set queue: ITEM_NOT_FOUND", sai.ErrNotFound},
		{second(l.QueueStats(404)), "SAI get stats of queue: ITEM_NOT_FOUND", sai.ErrNotFound},
		{second(l.CreateUserTrap()), "SAI create hostif_user_defined_trap: NOT_IMPLEMENTED", sai.ErrNotSupported},
		{second(l.PortStats(3)), "SAI get stats of port: NOT_IMPLEMENTED", sai.ErrNotSupported},
	} {
		if tt.err == nil || tt.err.Error() != tt.want || !errors.Is(tt.err, tt.reason) {
			t.Errorf("%v, want %s (%v)", tt.err, tt.want, tt.reason)
		}
	}
}

func second[T any](_ T, err error) error { return err }
