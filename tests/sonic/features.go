// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// rowsOfFeatures enables the features of the driver orchagent besides placement, a feature at a time.
func rowsOfFeatures(ctx context.Context, s *sonic) error {
	if err := s.startSluiced(ctx); err != nil {
		return err
	}
	return errors.Join(s.hash(ctx), s.copies(ctx), s.sflow(ctx), s.depths(ctx), s.alive(), s.asics.failed())
}

// hash adds Sluice's field to the operator's list, and takes exactly that out again.
func (s *sonic) hash(ctx context.Context) error {
	const operators = "SRC_IP,DST_IP,IP_PROTOCOL,L4_SRC_PORT,L4_DST_PORT"
	sw, err := row(ctx, s.state, "SWITCH_CAPABILITY", "switch")
	if err != nil {
		return err
	}
	label := containsOf(sw["HASH|NATIVE_HASH_FIELD_LIST"], "IPV6_FLOW_LABEL")
	if err := s.set(ctx, "SLUICE_FLOW_LABEL", "global", "admin_state", "enabled", "manage_switch_hash", "true"); err != nil {
		return err
	}
	list := func() (string, error) {
		r, err := row(ctx, s.config, "SWITCH_HASH", "GLOBAL")
		return r["ecmp_hash@"], err
	}
	programmed := func() bool {
		for _, h := range s.asics.of("SAI_OBJECT_TYPE_HASH") {
			if strings.Contains(h["SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST"], "SAI_NATIVE_HASH_FIELD_IPV6_FLOW_LABEL") {
				return true
			}
		}
		return false
	}
	if label {
		if _, err := s.within(ctx, "hash: IPV6_FLOW_LABEL, which orchagent lists, is added to ecmp_hash", 5*time.Second, func() (bool, error) {
			now, err := list()
			return now == operators+",IPV6_FLOW_LABEL", err
		}); err != nil {
			return err
		}
		if _, err := s.within(ctx, "hash: orchagent programs it", 5*time.Second, func() (bool, error) { return programmed(), nil }); err != nil {
			return err
		}
	} else if err := s.stays(ctx, "hash: IPV6_FLOW_LABEL, which orchagent does not list, is not added", 5*time.Second, func() (bool, error) {
		now, err := list()
		return now == operators, err
	}); err != nil {
		return err
	}
	if err := s.set(ctx, "SLUICE_FLOW_LABEL", "global", "admin_state", "disabled"); err != nil {
		return err
	}
	if _, err := s.within(ctx, "hash: the operator's list is left as it was", 5*time.Second, func() (bool, error) {
		now, err := list()
		return now == operators, err
	}); err != nil {
		return err
	}
	_, err = s.within(ctx, "hash: orchagent programs the operator's list again", 5*time.Second, func() (bool, error) { return !programmed(), nil })
	return err
}

// copies has RDMA-CM and CNPs copied to the CPU for export.
func (s *sonic) copies(ctx context.Context) error {
	err := errors.Join(
		s.set(ctx, "SLUICE_IPFIX_COLLECTOR", "c1", "address", "127.0.0.1", "port", "9"),
		s.set(ctx, "SLUICE_IPFIX", "global", "admin_state", "enabled", "sampling_rate", fmt.Sprint(sampling)))
	if err != nil {
		return err
	}
	for _, rule := range []string{"SLUICE_CM", "SLUICE_CNP"} {
		if _, err := s.within(ctx, "copies: orchagent reports the rule "+rule+" as Active", 10*time.Second, func() (bool, error) {
			r, err := row(ctx, s.state, "ACL_RULE_TABLE", "SLUICE_ROCE|"+rule)
			return r["status"] == "Active", err
		}); err != nil {
			return err
		}
	}
	if _, err := s.within(ctx, "copies: ASIC_DB has two entries that copy", 2*time.Second, func() (bool, error) {
		copied := 0
		for _, e := range s.asics.of(kindEntry) {
			if e[entryField+"ACTION_PACKET_ACTION"] == "SAI_PACKET_ACTION_COPY" {
				copied++
			}
		}
		return copied == 2, nil
	}); err != nil {
		return err
	}
	ready, text := s.restartCheck(ctx, "-n")
	s.report.add("copies: orchagent_restart_check succeeds", ready, "RESTARTCHECK succeeded", text)
	if err := s.set(ctx, "SLUICE_IPFIX", "global", "admin_state", "disabled"); err != nil {
		return err
	}
	return s.nothingLeft(ctx, "copies")
}

// sflow compares SONiC's rows of sFlow with and without Sluice's features that read samples.
func (s *sonic) sflow(ctx context.Context) error {
	if !slices.Contains(s.has, "sflowmgrd") {
		s.report.skip("sflow", "SONIC has no usr/bin/sflowmgrd")
		return nil
	}
	samplers := func() int { return len(s.asics.of("SAI_OBJECT_TYPE_SAMPLEPACKET")) }
	if _, err := s.within(ctx, "sFlow: orchagent samples the ports, as the operator configured", 10*time.Second, func() (bool, error) { return samplers() > 0, nil }); err != nil {
		return err
	}
	sessions := func() (string, error) {
		all, err := table(ctx, s.appl, "SFLOW_SESSION_TABLE")
		var list []string
		for port, r := range all {
			list = append(list, port+" "+r["admin_state"]+" "+r["sample_direction"]+" "+r["sample_rate"])
		}
		slices.Sort(list)
		return strings.Join(list, ", "), err
	}
	before, err := sessions()
	if err != nil {
		return err
	}
	was := samplers()
	if err := s.enable(ctx); err != nil {
		return err
	}
	if err := must(ctx, "placement is active", func() (bool, error) {
		r, err := row(ctx, s.state, "SLUICE_CAPABILITY", "switch")
		return r["placement_method"] == "redirect", err
	}); err != nil {
		return err
	}
	after, err := sessions()
	if err != nil {
		return err
	}
	s.report.equal("sFlow: placement leaves SONiC's rows of sFlow as they are", before, after)
	s.report.equal("sFlow: placement leaves the ASIC's samplers as they are", was, samplers())
	return s.disable(ctx)
}

// depths has syncd poll the depth of an uplink's queue.
func (s *sonic) depths(ctx context.Context) error {
	port := portName(1)
	names, err := row(ctx, s.counters, "COUNTERS_QUEUE_NAME_MAP", "")
	if err != nil {
		return err
	}
	oid := names[port+":3"]
	if err := errors.Join(
		s.set(ctx, "SLUICE", "global", "driver", "orchagent", "router_id", "192.0.2.1", "router_id_v6", "2001:db8:ff::1"),
		s.set(ctx, "SLUICE_THRESHOLD", "wan", "high_bytes", "100000", "sampling_rate", "256", "queues@", "3"),
		s.set(ctx, "SLUICE_PORT", port, "role", "fabric", "threshold", "wan"),
		s.set(ctx, "SLUICE_RATE_ADVICE_HOST", "10.0.1.0/24", "NULL", "NULL"),
		s.set(ctx, "SLUICE_RATE_ADVICE", "global", "admin_state", "enabled", "destination_qp", "copy")); err != nil {
		return err
	}
	if _, err := s.within(ctx, "depths: a row of Sluice's group names the queue", 10*time.Second, func() (bool, error) {
		r, err := row(ctx, s.flex, "FLEX_COUNTER_TABLE", "SLUICE_QUEUE:"+oid)
		return r != nil, err
	}); err != nil {
		return err
	}
	group, err := row(ctx, s.flex, "FLEX_COUNTER_GROUP_TABLE", "SLUICE_QUEUE")
	if err != nil {
		return err
	}
	s.report.equal("depths: the group is read each 10 ms", "10", group["POLL_INTERVAL"])
	interval, err := s.readings(ctx, oid)
	if err != nil {
		return err
	}
	s.report.add("depths: syncd writes the queue's counters as often", interval > 0 && interval <= 20, "each 10 to 20 ms", fmt.Sprintf("each %.1f ms", interval))
	values, err := row(ctx, s.counters, "COUNTERS", oid)
	if err != nil {
		return err
	}
	s.report.add("depths: the depth of the queue is among them", values["SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES"] != "", "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES", fmt.Sprint(len(values), " counters"))
	if err := s.set(ctx, "SLUICE_RATE_ADVICE", "global", "admin_state", "disabled"); err != nil {
		return err
	}
	_, err = s.within(ctx, "depths: the group is gone when no feature reads queues", 10*time.Second, func() (bool, error) {
		r, err := row(ctx, s.flex, "FLEX_COUNTER_GROUP_TABLE", "SLUICE_QUEUE")
		return r == nil, err
	})
	return err
}

// readings returns the mean time between writes of an object's counters over 3 s, in ms; 0: there were
// none.
func (s *sonic) readings(ctx context.Context, oid string) (ms float64, err error) {
	const span = 3 * time.Second
	cmd := exec.CommandContext(ctx, "redis-cli", "-s", s.redis.Socket, "PSUBSCRIBE", "__keyspace@2__:COUNTERS:"+oid)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	time.AfterFunc(span, func() { _ = cmd.Process.Signal(unix.SIGTERM) })
	text, err := io.ReadAll(out)
	_ = cmd.Wait() // it ends by the signal
	events := strings.Count(string(text), "pmessage")
	if events == 0 {
		return 0, err
	}
	return float64(span.Milliseconds()) / float64(events), err
}

// hangs stops orchagent while placement is disabled.
func hangs(ctx context.Context, s *sonic) error {
	return s.loaded(ctx, false, func(ctx context.Context) error {
		if err := errors.Join(s.placed(ctx), s.settled(ctx)); err != nil {
			return err
		}
		before := len(s.asics.redirections())
		from, err := s.logged("")
		if err != nil {
			return err
		}
		s.daemons["orchagent"].Signal(unix.SIGSTOP)
		if err := s.disable(ctx); err != nil {
			return err
		}
		if err := s.stays(ctx, "orchagent hangs: entries forward on while Sluice is disabled", 8*time.Second, func() (bool, error) { return len(s.asics.redirections()) == before, nil }); err != nil {
			return err
		}
		removed, warnings, err := s.removals(from)
		if err != nil {
			return err
		}
		s.report.equal("orchagent hangs: sluiced's log counts no entry as removed", 0, removed)
		s.report.add("orchagent hangs: sluiced's log warns of tables that are still there", warnings > 0, ">= 1 warning", warnings)
		s.daemons["orchagent"].Signal(unix.SIGCONT)
		if _, err := s.within(ctx, "orchagent goes on: all entries are gone", 10*time.Second, s.none); err != nil {
			return err
		}
		if _, err := s.within(ctx, "orchagent goes on: sluiced's log counts what is removed", 10*time.Second, func() (bool, error) {
			removed, _, err := s.removals(from)
			return removed > 0, err
		}); err != nil {
			return err
		}
		return s.nothingLeft(ctx, "orchagent goes on")
	})
}

// logged returns the log of sluiced after some text.
func (s *sonic) logged(after string) (string, error) {
	text, err := os.ReadFile(s.logFile())
	return strings.TrimPrefix(string(text), after), err
}

// removals returns how many removed objects the log of sluiced has after some text, and of how many it warns
// that they are still on the switch.
func (s *sonic) removals(after string) (n, warnings int, err error) {
	text, err := s.logged(after)
	for line := range strings.Lines(text) {
		if strings.Contains(line, "still on the switch") {
			warnings++
		}
		for field := range strings.FieldsSeq(line) {
			if v, ok := strings.CutPrefix(field, "removed="); ok {
				k, wrong := strconv.Atoi(v)
				if wrong != nil {
					return 0, 0, wrong
				}
				n += k
			}
		}
	}
	return n, warnings, err
}
