// SPDX-License-Identifier: Apache-2.0
// The tables of the page.
import { h } from "preact";
import { FlowButton, PortButton, State, Table } from "./parts.jsx";
import { clock, events, fixed, hex, or, rate, span, whole } from "./format.js";

// methodText is a method with its state, unless that is the best, and with the reason.
function methodText(m) {
  const why = [m.method !== "none" && m.state !== "active" && m.state, m.reason].filter(Boolean).join(": ");
  return `${m.need} ${m.method}${why && ` (${why})`}`;
}

export const Switches = ({ picture, choose }) => (
  <Table label="switches" empty="No switch was asked." head={["Switch", "State", "Max ÷ mean", "Held", "Flows", "Last sign of life", "Methods", "Warnings"]}
    rows={picture.switches.map((s) => ({
      class: s.missing || s.stale || s.state !== "running" ? "bad" : "",
      cells: [
        <button onClick={() => choose({ switch: s.name })} title={s.address}>{s.name}</button>,
        s.missing ? <span class="state bad">did not answer: {s.missing}</span> : <span><State is={s.state} />{s.stale && <span class="state bad"> stale</span>}</span>,
        fixed(s.worst_over_mean), whole(s.holds), whole(s.flows), span(s.age_s),
        (s.methods || []).map(methodText).join(", ") || or(),
        [...(s.warnings || []), ...(s.last_error ? [s.last_error] : [])].join("; ") || or(),
      ],
    }))} />
);

export const Queues = ({ picture, choose }) => (
  <Table label="queues" total={picture.of.queues} empty="No queue has had packets." head={["Queue", "Bytes now", "Most", "Dropped", "Drops/s", "Rate", "Flows in it"]}
    rows={picture.queues.map((q) => ({
      class: q.drops_per_s > 0 ? "bad" : "",
      cells: [
        <span><PortButton name={q.switch} port={q.port} choose={choose} /> {q.queue}{q.neighbor && <span class="note"> to {q.neighbor}</span>}</span>,
        whole(q.queued_bytes), whole(q.watermark_bytes), whole(q.dropped), events(q.drops_per_s), rate(q.mbps),
        (q.elephants || []).length === 0 ? or() : <ul class="plain">{q.elephants.map((e) => <li><FlowButton of={e} choose={choose} /> {whole(e.queue_bytes)} <State is={e.state} /></li>)}</ul>,
      ],
    }))} />
);

export const Flows = ({ label, flows, total, choose, chosen, empty }) => (
  <Table label={label || "flows"} total={total} empty={empty || "No flow is known."} head={["Flow", "Rate", "State", "Label", "Switches", "Advised"]}
    rows={flows.map((f) => ({
      class: chosen.flow === f.flow ? "chosen" : f.state && f.state !== "normal" ? "bad" : "",
      cells: [
        <FlowButton of={f} choose={choose} />, rate(f.rate_mbps), <State is={f.state} />, hex(f.flow_label, 5), f.hops.map((p) => p.switch).join(" → "),
        f.advised_mbps === undefined ? or() : `${f.advised_mbps} Mbit/s${f.not_following ? ", not followed" : ""}`,
      ],
    }))} />
);

export const Groups = ({ picture, choose }) => (
  <Table label="groups" empty="No switch places flows." head={["Group", "State", "Max ÷ mean", "By hash", "Floor", "Flows", "Moves", "Since before", "Members"]}
    rows={picture.groups.map((g) => ({
      class: g.state === "degraded" ? "bad" : "",
      cells: [
        <span><button onClick={() => choose({ switch: g.switch })}>{g.switch}</button> {g.name}</span>, <span><State is={g.state} />{g.reason && <span class="note"> {g.reason}</span>}</span>,
        fixed(g.worst_over_mean), fixed(g.hash_worst_over_mean), fixed(g.floor), whole(g.flows), whole(g.moves), whole(g.moved), (g.members || []).join(", ") || or(),
      ],
    }))} />
);

export const Moves = ({ picture, choose }) => (
  <Table label="moves" total={picture.of.moves} empty="No flow has moved." head={["At", "Switch", "Flow", "Label", "Path", "Before"]}
    rows={picture.moves.map((m) => ({
      cells: [clock(m.at), m.switch, <FlowButton of={m} choose={choose} />, hex(m.flow_label, 5), or(m.path),
        m.flow_label_before === undefined && !m.path_before ? or() : `${hex(m.flow_label_before, 5)} ${or(m.path_before)}`],
    }))} />
);

export const Advice = ({ picture, choose }) => (
  <Table label="advised senders" total={picture.of.advice} empty="No sender is advised." head={["Sender", "Flow", "Advised", "Rate", "Follows", "By"]}
    rows={picture.advice.map((a) => ({
      class: a.not_following ? "bad" : "",
      cells: [or(a.src), <FlowButton of={a} choose={choose} />, rate(a.advised_mbps), rate(a.rate_mbps), <span class={"state " + (a.not_following ? "bad" : "good")}>{a.not_following ? "no" : "yes"}</span>, a.switch],
    }))} />
);

export const Health = ({ picture, choose }) => (
  <Table label="queue pairs" total={picture.of.health} empty="The CPU sees no flow: SLUICE_IPFIX|global admin_state=enabled samples them." head={["Flow", "QP", "Lost", "NAKs", "Resent bytes", "Marked", "CNPs", "Reordered", "Goodput", "Seen", "By"]}
    rows={picture.health.map((f) => ({
      class: f.psn_lost > 0 || f.naks > 0 ? "bad" : "",
      cells: [<FlowButton of={f} choose={choose} />, hex(f.dest_qp, 6), whole(f.psn_lost), whole(f.naks), whole(f.retransmitted_bytes), f.ce_percent === undefined ? or() : f.ce_percent.toFixed(2) + " %",
        whole(f.cnps), whole(f.psn_reordered), rate(f.goodput_mbps), `${whole(f.seen_packets)}${f.sampling_rate === undefined ? "+" : f.sampling_rate > 1 ? ` of 1/${f.sampling_rate}` : ""}`, f.switch],
    }))} />
);
