// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"time"

	"sluice/orchagent-ext/host/machine"
)

// switchOfOnePort starts databases with one port, and sluiced, until it has written why it opens
// no switch, or its time is over.
var switchOfOnePort = []string{
	"cd /tmp && /usr/bin/ip link add port0 type dummy",
	"redis-server --port 6379 --daemonize yes --save '' && until redis-cli ping; do sleep 0.1; done",
	"redis-cli config set notify-keyspace-events AKE && redis-cli -n 4 hset 'PORT|port0' lanes 0 admin_status up speed 10000 && redis-cli -n 4 set CONFIG_DB_INITIALIZED 1",
	"(/sluice/bin/sluiced --db-config /sluice/lab/database_config.json --sai-library /sluice/bin/libsoftsai.so --state-file /tmp/sluiced.json >sluiced.log 2>&1 &)",
	"for i in $(seq 600); do grep -q 'needs Linux' sluiced.log && break; sleep 0.2; done; redis-cli -n 6 hgetall 'SLUICE_STATE|global'; cat sluiced.log",
}

// refuses judges the answer of sluiced to a kernel that is too old: one sentence, which is that of
// the state, too.
func (t *tester) refuses(ctx context.Context, release string) check {
	began := time.Now()
	want := (&machine.KernelError{Release: release}).Error()
	c := check{Name: "one sentence says what is needed"}
	var out string
	var err error
	for _, line := range switchOfOnePort {
		if out, err = t.Run(ctx, "%s", line); err != nil {
			break
		}
	}
	c.Seconds = time.Since(began).Seconds()
	switch {
	case err != nil:
		c.Got = err.Error()
	case strings.Contains(out, want):
		c.OK, c.Passed, c.Got = true, 1, want
	default:
		c.Got = out
	}
	return c
}
