// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

func TestWatchDeliversChanges(t *testing.T) {
	db := open(t, redisServer(t), "CONFIG_DB", nil)
	write(t, db, set("A", "2", fields{"x": "1"}), set("A", "1", nil), set("AB", "1", nil))
	f := follow(t, db, "A", "B")
	f.started(t)
	want := []Batch{{Initial: true, Changes: []Change{set("A", "1", fields{}), set("A", "2", fields{"x": "1"})}}}
	if diff := cmp.Diff(want, f.batches); diff != "" {
		t.Fatalf("first batch (-want +got):\n%s", diff)
	}

	write(t, db, set("A", "2", fields{"x": "1", "y": "2"}), set("B", "1|2", fields{"z": "a,b"}), set("C", "1", nil))
	f.becomes(t, map[string]fields{"A|1": {}, "A|2": {"x": "1", "y": "2"}, "B|1|2": {"z": "a,b"}})

	// A field alone, as SONiC's writers do.
	if err := db.client.HDel(t.Context(), "A|2", "x").Err(); err != nil {
		t.Fatal(err)
	}
	f.becomes(t, map[string]fields{"A|1": {}, "A|2": {"y": "2"}, "B|1|2": {"z": "a,b"}})

	write(t, db, del("A", "2"), set("A", "1", fields{"x": "9"}))
	f.becomes(t, map[string]fields{"A|1": {"x": "9"}, "B|1|2": {"z": "a,b"}})
}

// A table whose name begins as wanted is watched as soon as it has a row.
func TestWatchTablesByPrefix(t *testing.T) {
	db := open(t, redisServer(t), "CONFIG_DB", nil)
	write(t, db, set("AB", "1", nil), set("BA", "1", nil))
	f := follow(t, db, "A*", "C")
	f.becomes(t, map[string]fields{"AB|1": {}})
	write(t, db, set("A", "1", nil), set("A_C", "2", fields{"x": "1"}), set("C", "1", nil), set("CA", "1", nil), del("AB", "1"))
	f.becomes(t, map[string]fields{"A|1": {}, "A_C|2": {"x": "1"}, "C|1": {}})
}

// What events do not tell, the reading of everything finds now and then.
func TestWatchReadsEverythingNowAndThen(t *testing.T) {
	db := open(t, redisServer(t), "CONFIG_DB", nil)
	db.timing.resync = 20 * time.Millisecond
	write(t, db, set("A", "1", nil))
	f := follow(t, db, "A")
	f.becomes(t, map[string]fields{"A|1": {}})
	if err := db.client.FlushDB(t.Context()).Err(); err != nil { // of which no event tells
		t.Fatal(err)
	}
	f.becomes(t, map[string]fields{})
}

func TestWatchWaitsForRedis(t *testing.T) {
	s := redisServer(t)
	s.Kill()
	var said log
	db := open(t, s, "CONFIG_DB", slog.New(slog.NewTextHandler(&said, nil)))
	f := follow(t, db, "A")
	eventually(t, "that Redis is not up is said", func() bool { return strings.Contains(said.String(), "cannot be read") })
	if err := s.Restart(true); err != nil {
		t.Fatal(err)
	}
	f.started(t)
	write(t, db, set("A", "1", fields{"x": "1"}))
	f.becomes(t, map[string]fields{"A|1": {"x": "1"}})
	if text := said.String(); !strings.Contains(text, "is read again") || strings.Contains(text, "sends no events") || strings.Count(text, "\n") != 2 {
		t.Errorf("log: %s", text)
	}
	if !f.batches[0].Initial || f.batches[1].Initial {
		t.Errorf("not the first batch is marked as it: %v", f.batches)
	}
}

func TestWatchSurvivesARestart(t *testing.T) {
	for name, empty := range map[string]bool{"full": false, "empty": true} {
		t.Run(name, func(t *testing.T) {
			s := redisServer(t)
			db := open(t, s, "CONFIG_DB", nil)
			before := map[string]fields{"A|1": {"x": "1"}, "A|2": {"x": "2"}}
			write(t, db, set("A", "1", fields{"x": "1"}), set("A", "2", fields{"x": "2"}))
			f := follow(t, db, "A")
			f.becomes(t, before)
			if err := s.Restart(empty); err != nil {
				t.Fatal(err)
			}
			// Before the watch is back, or after: the end is the same.
			write(t, db, set("A", "1", fields{"x": "new"}), set("A", "3", nil))
			want := map[string]fields{"A|1": {"x": "new"}, "A|2": {"x": "2"}, "A|3": {}}
			if empty {
				delete(want, "A|2")
			}
			f.becomes(t, want)
			write(t, db, set("A", "4", nil)) // and events come again
			want["A|4"] = fields{}
			f.becomes(t, want)
		})
	}
}

// Nothing is lost when the connection of the events breaks, however often, while
// rows change.
func TestWatchLosesNoChange(t *testing.T) {
	db := open(t, redisServer(t), "CONFIG_DB", nil)
	f := follow(t, db, "A")
	f.started(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range 2000 {
		key := fmt.Sprint(random.IntN(50))
		switch random.IntN(4) {
		case 0:
			write(t, db, del("A", key))
		case 1:
			db.client.HDel(t.Context(), "A|"+key, "x", "y")
		default:
			write(t, db, set("A", key, fields{"x": fmt.Sprint(i), "y": "1"}))
		}
		if i%50 == 0 {
			if err := db.client.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.becomes(t, inRedis(t, db, "A"))
}

func TestWatchWithoutEvents(t *testing.T) {
	var said log
	s := redisServer(t, "--notify-keyspace-events", "")
	db := open(t, s, "CONFIG_DB", slog.New(slog.NewTextHandler(&said, nil)))
	db.timing.poll = 20 * time.Millisecond
	f := follow(t, db, "A")
	f.started(t)
	if want := "redis-cli -s " + s.Socket + " config set notify-keyspace-events KEA"; !strings.Contains(said.String(), want) {
		t.Errorf("log %q does not say %q", said.String(), want)
	}
	write(t, db, set("A", "1", nil))
	f.becomes(t, map[string]fields{"A|1": {}})
	write(t, db, del("A", "1"))
	f.becomes(t, map[string]fields{})

	if err := db.client.ConfigSet(t.Context(), "notify-keyspace-events", "KEA").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "that Redis sends events now is said", func() bool { return strings.Contains(said.String(), "sends events now") })
	if w := db.Warning(); w != "" {
		t.Errorf("warning %q", w)
	}
}

// TestWatchNoticesThatEventsEnd: events that are switched off at run time are noticed
// at the next look, and the rows are read instead; nothing waits for the resync.
func TestWatchNoticesThatEventsEnd(t *testing.T) {
	db := open(t, redisServer(t), "CONFIG_DB", nil)
	db.timing.poll, db.timing.resync = 20*time.Millisecond, time.Hour
	f := follow(t, db, "A")
	f.started(t)
	want := map[string]fields{}
	for i, events := range []string{"", "KEA", "", "KEA"} {
		if err := db.client.ConfigSet(t.Context(), "notify-keyspace-events", events).Err(); err != nil {
			t.Fatal(err)
		}
		write(t, db, set("A", fmt.Sprint(i), nil))
		want[fmt.Sprint("A|", i)] = fields{}
		f.becomes(t, want)
		eventually(t, "the warning is as the setting", func() bool { return (db.Warning() != "") == (events == "") })
	}
}

// A Redis that does not tell whether it sends events is polled.
func TestWatchOfARedisThatHidesItsSettings(t *testing.T) {
	var said log
	s := redisServer(t, "--rename-command", "CONFIG", "")
	db := open(t, s, "CONFIG_DB", slog.New(slog.NewTextHandler(&said, nil)))
	f := follow(t, db, "A")
	f.started(t)
	if !strings.Contains(said.String(), "polling instead") {
		t.Errorf("log %q", said.String())
	}
}

func TestWatchEndsOnCancel(t *testing.T) {
	db := open(t, redisServer(t), "CONFIG_DB", nil)
	ctx, cancel := context.WithCancel(t.Context())
	if err := db.Watch(ctx, []string{"A"}, func(Batch) { cancel() }); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	if err := db.Watch(t.Context(), nil, nil); err == nil {
		t.Error("no tables are watched")
	}
}

// TestChangeIsReadAgainWhereAnotherFollows: the row of a first change is read while its writer may still be at
// it. What was read then counts only where nothing came after it.
func TestChangeIsReadAgainWhereAnotherFollows(t *testing.T) {
	for name, second := range map[string]func(*DB) error{
		"a field goes": func(db *DB) error { return db.client.HDel(context.Background(), "A|1", "old").Err() },
		"the row goes": func(db *DB) error { return db.client.Del(context.Background(), "A|1").Err() },
		"another row":  func(db *DB) error { return db.client.HSet(context.Background(), "A|2", "x", "1").Err() },
		"none":         nil,
	} {
		t.Run(name, func(t *testing.T) {
			s := redisServer(t)
			db := open(t, s, "CONFIG_DB", nil)
			write(t, db, set("A", "1", fields{"old": "1"}))
			w := watcher{db: db, tables: []string{"A"}}
			var got []Batch
			w.emit = func(b Batch) { got = append(got, b) }
			e, stop := w.subscribe(t.Context())
			defer stop()
			<-e.wake // all
			if err := w.follow(t.Context(), e, reading{}); err != nil || len(got) != 1 {
				t.Fatalf("the first reading: %v, %v", got, err)
			}
			write(t, db, set("A", "1", fields{"old": "1", "new": "2"}))
			<-e.wake
			edge, err := w.readEdge(t.Context(), e)
			if err != nil || edge.rows["A|1"].fields["new"] != "2" {
				t.Fatalf("read edge: %v, %v", edge, err)
			}
			if second == nil { // nothing is read again: this one cannot be
				w.db = open(t, s, "CONFIG_DB", nil)
				if err := w.db.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				if err := second(db); err != nil {
					t.Fatal(err)
				}
				for changes := edge.changes; changes == edge.changes; _, changes = e.few(mostAtOnce) {
					<-e.wake
				}
			}
			if err := w.follow(t.Context(), e, edge); err != nil {
				t.Fatal(err)
			}
			var f follower
			f.rows = map[string]fields{}
			for _, b := range got {
				f.take(b)
			}
			if diff := cmp.Diff(inRedis(t, db, "A"), f.rows); diff != "" || len(got) != 2 || !got[1].Edge {
				t.Errorf("batches %v; rows (-want +got):\n%s", got, diff)
			}
		})
	}
}

// during is called while Redis is asked for rows.
type during func()

func (during) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (during) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (f during) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		f()
		return next(ctx, commands)
	}
}

// TestChangesThatAreNoEdge wait for others.
func TestChangesThatAreNoEdge(t *testing.T) {
	for name, tt := range map[string]struct {
		changed []string
		during  func(*events)
		want    bool
	}{
		"a row":                         {[]string{"A|1"}, func(*events) {}, true},
		"rows of a writer":              {[]string{"A|1", "A|2", "A|3", "A|4"}, func(*events) {}, true},
		"a row that is gone":            {[]string{"A|0"}, func(*events) {}, false},
		"a row, and one that is gone":   {[]string{"A|1", "A|0"}, func(*events) {}, false},
		"more rows":                     {[]string{"A|1", "A|2", "A|3", "A|4", "A|5"}, func(*events) {}, false},
		"all rows":                      {nil, func(*events) {}, false},
		"another row while it is read":  {[]string{"A|1"}, func(e *events) { e.key("A|2") }, false},
		"the same row while it is read": {[]string{"A|1"}, func(e *events) { e.key("A|1") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, redisServer(t), "CONFIG_DB", nil)
			for i := range 5 {
				write(t, db, set("A", fmt.Sprint(i+1), fields{"x": "1"}))
			}
			e := &events{wake: make(chan struct{}, 1), dirty: make(map[string]bool)}
			for _, k := range tt.changed {
				e.key(k)
			}
			if tt.changed == nil {
				e.everything()
			}
			db.client.AddHook(during(func() { tt.during(e) }))
			w := watcher{db: db, tables: []string{"A"}, view: map[string]uint64{}}
			if r, err := w.readEdge(t.Context(), e); r.edge != tt.want || err != nil {
				t.Errorf("edge %v, error %v, want %v", r.edge, err, tt.want)
			}
		})
	}
}

// answers is a Redis that has a row of each name, in virtual time.
type answers struct{ during }

func (answers) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, commands []redis.Cmder) error {
		for _, c := range commands {
			c.(*redis.MapStringStringCmd).SetVal(fields{"x": "1"})
		}
		return nil
	}
}

// TestFirstChangeAfterAPauseIsTakenAtOnce, and others are not.
func TestFirstChangeAfterAPauseIsTakenAtOnce(t *testing.T) {
	const quiet = time.Millisecond
	for pause, want := range map[time.Duration]bool{quiet: true, time.Hour: true, quiet - 1: false} {
		synctest.Test(t, func(t *testing.T) {
			db := &DB{client: redis.NewClient(&redis.Options{}), timing: defaultTiming}
			defer func() { _ = db.Close() }()
			db.client.AddHook(answers{})
			w := watcher{db: db, view: map[string]uint64{}}
			e := &events{wake: make(chan struct{}, 1), dirty: make(map[string]bool)}
			last := time.Now()
			time.Sleep(pause)
			e.key("A|1")
			<-e.wake
			began := time.Now()
			edge, err := w.await(t.Context(), e, last)
			if err != nil || edge.edge != want || (time.Since(began) == 0) != want {
				t.Errorf("%v after the last: taken after %v, edge %v, error %v", pause, time.Since(began), edge.edge, err)
			}
		})
	}
}

// TestFirstChangeComesAsAnEdge: the first reading does not, nor does a change that just follows others.
func TestFirstChangeComesAsAnEdge(t *testing.T) {
	for pause, want := range map[time.Duration]bool{0: true, time.Hour: false} {
		db := open(t, redisServer(t), "CONFIG_DB", nil)
		db.timing.quiet = pause
		f := follow(t, db, "A")
		f.started(t)
		if err := db.client.HSet(t.Context(), "A|1", "x", "1").Err(); err != nil { // one event
			t.Fatal(err)
		}
		f.becomes(t, map[string]fields{"A|1": {"x": "1"}})
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.batches) != 2 || f.batches[0].Edge || f.batches[1].Edge != want {
			t.Errorf("a pause is %v: batches %+v", pause, f.batches)
		}
	}
}

func TestEventsOverflowToAll(t *testing.T) {
	e := events{wake: make(chan struct{}, 1), dirty: make(map[string]bool)}
	for i := range mostDirty {
		e.key(fmt.Sprint(i))
	}
	e.key("0")
	if keys, all, _, err := e.take(); len(keys) != mostDirty || all || err != nil {
		t.Errorf("%d keys, all %v, error %v: want %d, false, none", len(keys), all, err, mostDirty)
	}
	for i := range mostDirty + 1 {
		e.key(fmt.Sprint(i))
	}
	if keys, all, _, _ := e.take(); len(keys) > 0 || !all {
		t.Errorf("%d keys, all %v: want that all are read", len(keys), all)
	}
	for flags, want := range map[string]bool{"": false, "KEA": true, "AKE": true, "EA": false, "Kh": false, "KEghx": true} {
		if got := enough(flags); got != want {
			t.Errorf("notify-keyspace-events %q are enough: %v, want %v", flags, got, want)
		}
	}
}

func TestTenThousandRows(t *testing.T) {
	s := redisServer(t)
	db := open(t, s, "CONFIG_DB", nil)
	const n = 10000
	changes := make([]Change, n)
	for i := range changes {
		changes[i] = set("A", fmt.Sprint(i), fields{"a": "1", "b": "2", "c": "3"})
	}
	begin := time.Now()
	write(t, db, changes...)
	wrote := time.Now()
	f := follow(t, db, "A")
	f.started(t)
	t.Logf("%d rows: written in %v, first read in %v", n, wrote.Sub(begin), time.Since(wrote))
	if got := len(f.has()); got != n {
		t.Errorf("%d rows, want %d", got, n)
	}
}

// log is a buffer for several goroutines.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
