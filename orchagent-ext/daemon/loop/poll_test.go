// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"log/slog"
	"testing"
	"time"

	"sluice/orchagent-ext/daemon/task"
	"sluice/tests/redistest"
)

// TestLoopPollsBeforeTheConfigurationIsRead: a Redis that comes late leaves the loop without settings.
func TestLoopPollsBeforeTheConfigurationIsRead(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	o, closed, err := open(Config{Databases: redistest.Databases(t), Log: log, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer closed()
	o.faults = &task.Faults{}
	g, ctx := task.NewGroup(t.Context(), log)
	if o.poll(ctx, ctx, g) || o.settings() != nil {
		t.Errorf("the switch drifted, settings %+v", o.settings())
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}
