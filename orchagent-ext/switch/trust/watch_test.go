// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// asVictim makes this test's program one whose library ends it.
const asVictim = "SAIWATCH_TEST_JOURNAL"

func TestMain(m *testing.M) {
	if journal := os.Getenv(asVictim); journal != "" {
		victim(journal)
		return
	}
	os.Exit(m.Run())
}

// unwarned is for a journal in order.
func unwarned(err error) { panic(err) }

func fail(err error) {
	if err != nil {
		panic(err)
	}
}

// victim creates a hash with a library that fails as it is told, while a method is tried.
func victim(journal string) {
	w, _, err := New(journal, time.Millisecond, unwarned)
	fail(err)
	l, err := sai.Open(os.Getenv("LIBRARY"), map[string]string{"RECORD": os.DevNull, "PORTS": "0", "FAIL": os.Getenv("FAIL")}, w)
	fail(err)
	fail(l.CreateSwitch(true))
	w.Try(Trying{"flow-label", "hash", "12345678"})
	go func() {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if call, _ := w.Hanging(); call != "" {
				_, _ = os.Stdout.WriteString("hangs\n")
				return
			}
		}
	}()
	_, err = l.Create(saiattr.Hash, saiattr.HashFields.Enum("SRC_IP"))
	fail(err)
	w.Try(Trying{})
}

// TestTheNextProcessKnowsWhichCallEndedTheLastOne: by a signal that the library caused, by
// exit, or since it did not return; one that was killed, or ended well, blames no call.
func TestTheNextProcessKnowsWhichCallEndedTheLastOne(t *testing.T) {
	library, before := saitest.New(t), time.Now()
	const call = "create hash SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST"
	for how, want := range map[string]string{
		"abort": "the SAI library ended sluiced by SIGABRT in " + call,
		"exit":  "the SAI library ended sluiced by exit in " + call,
		"hang":  "the SAI library did not return from " + call,
		"":      "",
	} {
		t.Run(how, func(t *testing.T) {
			journal := filepath.Join(t.TempDir(), "folder", "sai.journal")
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), asVictim+"="+journal, "LIBRARY="+library.Path)
			cmd.Env = append(cmd.Env, "FAIL=create hash 0 "+cmp.Or(how, "0"))
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			said := make([]byte, 6)
			if n, _ := out.Read(said); how == "hang" && string(said[:n]) == "hangs\n" {
				_ = cmd.Process.Kill()
			}
			if err := cmd.Wait(); (err == nil) != (how == "" || how == "exit") {
				t.Errorf("it ended with %v", err)
			}
			w, ended, err := New(journal, time.Minute, unwarned)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case want == "" && ended != nil:
				t.Errorf("%v", ended)
			case want == "":
			case ended == nil || !ended.AtFault() || !strings.HasPrefix(ended.String(), want) || ended.Trying != Trying{"flow-label", "hash", "12345678"}:
				t.Errorf("%+v: %v, want %s", ended, ended, want)
			case ended.Began.Before(before.Truncate(time.Second)):
				t.Errorf("it began %v", ended.Began)
			}
			// Another process has a journal of its own.
			w.Calling(&sai.Call{Name: "get", Object: "port"})
			if _, ended, err = New(journal, time.Minute, unwarned); ended != nil || err != nil {
				t.Errorf("beside it: %v, %v", ended, err)
			}
		})
	}
}

// TestCallBesideAStepBlamesNoMethod: statistics are read while a method is tried, and end the process.
// The call is at fault.
func TestCallBesideAStepBlamesNoMethod(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "sai.journal")
	w, _, err := New(journal, time.Minute, unwarned)
	if err != nil {
		t.Fatal(err)
	}
	for _, beside := range []bool{false, true} {
		w.Try(Trying{"export", "sample", "1"})
		w.Calling(&sai.Call{Name: "get stats of", Object: "port", Beside: beside})
		next := filepath.Join(t.TempDir(), fmt.Sprint(beside))
		there, err := os.ReadFile(journal)
		if err == nil {
			err = os.WriteFile(next, there, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, ended, err := New(next, time.Minute, unwarned) // as the next process would
		if err != nil || ended == nil {
			t.Fatalf("%v, %v", ended, err)
		}
		if blamed := ended.Trying != (Trying{}); blamed == beside {
			t.Errorf("beside %t: ended while %+v", beside, ended.Trying)
		}
	}
}

// TestAKilledProcessBlamesNoCall: its journal names the call, and no library is at fault.
func TestAKilledProcessBlamesNoCall(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "sai.journal")
	w, _, err := New(journal, time.Minute, unwarned)
	if err != nil {
		t.Fatal(err)
	}
	w.Try(Trying{"export", "sample", "1"})
	first := w.Calling(&sai.Call{Name: "create", Object: "samplepacket"})
	w.Called(w.Calling(&sai.Call{Name: "get", Object: "port"}), &sai.Call{Name: "get", Object: "port"}, 0)
	if call, _ := w.Open(); call != "create samplepacket" {
		t.Errorf("open is %q", call)
	}
	if call, _ := w.Hanging(); call != "" {
		t.Errorf("%q hangs", call)
	}
	there, err := os.ReadFile(journal)
	if err == nil {
		err = os.WriteFile(journal+".next", there, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, ended, err := New(journal+".next", time.Minute, unwarned) // as the next process would
	if err != nil || ended == nil || ended.AtFault() || ended.Call != "create samplepacket" {
		t.Errorf("%+v, %v", ended, err)
	}
	w.Called(first, &sai.Call{Name: "create", Object: "samplepacket"}, 0)
}

// TestObjectsOfAKilledProcessAreKnown: those that were created last and not removed, over
// several processes.
func TestObjectsOfAKilledProcessAreKnown(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "sai.journal")
	var want []sai.Created
	for life := range 3 {
		w, _, err := New(journal, time.Minute, unwarned)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, w.Created()); diff != "" {
			t.Errorf("life %d (-want +got):\n%s", life, diff)
		}
		if is := w.Last("udf_group"); life > 0 && is != sai.ObjectID(100*(life-1)+objects+3) || w.Last("hash") != sai.Null {
			t.Errorf("life %d: the last ones are %s, %s", life, is, w.Last("hash"))
		}
		call := func(name, object string, id sai.ObjectID, answer sai.Status) {
			c := &sai.Call{Name: name, Object: object, ID: id}
			w.Called(w.Calling(c), c, answer)
		}
		want = nil
		for i := range objects + 3 {
			id := sai.ObjectID(100*life + i + 1)
			call("create", "udf_group", id, 0)
			want = append(want, sai.Created{Object: "udf_group", ID: id})
		}
		want = slices.Concat(want[objects:], want[3:objects]) // those that are last in a ring
		call("create", "hash", 99999, -1)
		call("remove", "udf_group", want[4].ID, -1)
		call("remove", "udf_group", want[1].ID, 0)
		want = slices.Delete(want, 1, 2)
		there, err := os.ReadFile(journal) // as it is when the process is killed
		if journal += "x"; err == nil {
			err = os.WriteFile(journal, there, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestCallsOfSeveralGoroutines: they may come from any, and be looked at from any.
func TestCallsOfSeveralGoroutines(t *testing.T) {
	w, _, err := New("", time.Hour, unwarned)
	if err != nil {
		t.Fatal(err)
	}
	c := &sai.Call{Name: "get", Object: "flow"}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				token := w.Calling(c)
				if call, _ := w.Open(); call != "get flow" {
					t.Errorf("open is %q", call)
				}
				w.Called(token, c, 0)
			}
		})
	}
	all.Wait()
	if call, _ := w.Open(); call != "" {
		t.Errorf("open is %q", call)
	}
}

// TestManyCallsAtOnce: each is watched in a slot of its own, and a text that is too long is
// cut.
func TestManyCallsAtOnce(t *testing.T) {
	w, _, err := New("", time.Nanosecond, unwarned)
	if err != nil {
		t.Fatal(err)
	}
	long := &sai.Call{Name: "create", Object: strings.Repeat("x", 3*slotSize)}
	short := &sai.Call{Name: "get", Object: "flow"}
	a := w.Calling(long)
	var tokens []int
	for range calls {
		tokens = append(tokens, w.Calling(short))
	}
	if last := tokens[calls-1]; last != -1 {
		t.Errorf("call %d has the slot %d", calls+1, last)
	}
	if call, since := w.Hanging(); len(call) != slotSize-offText || since.IsZero() {
		t.Errorf("a call of %d octets hangs since %v", len(call), since)
	}
	w.Called(a, long, 0)
	if call, _ := w.Open(); call != "get flow" {
		t.Errorf("open is %q", call)
	}
	for _, token := range tokens {
		w.Called(token, short, 0)
	}
	if call, _ := w.Open(); call != "" {
		t.Errorf("open is %q", call)
	}
}
