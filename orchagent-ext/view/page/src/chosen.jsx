// SPDX-License-Identifier: Apache-2.0
// What was chosen: a switch, an uplink with its flows, or a flow with its path.
import { h } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Scroll, Section, State } from "./parts.jsx";
import { Flows } from "./tables.jsx";
import { events, fixed, hex, or, rate, whole } from "./format.js";

// litBy returns the ports of a flow's path.
export function litBy(picture, chosen) {
  const lit = new Set();
  const f = chosen.flow && picture.flows.find((f) => f.flow === chosen.flow);
  for (const p of f ? f.hops : []) {
    for (const port of [p.in, p.out || p.path]) if (port) lit.add(p.switch + "\n" + port);
  }
  return lit;
}

const at = (p, chosen) => p.switch === chosen.switch && (!chosen.port || p.in === chosen.port || p.out === chosen.port || p.path === chosen.port);

export function Chosen({ picture, chosen, choose, close }) {
  const top = useRef();
  const what = chosen.flow || chosen.switch + " " + (chosen.port || "");
  useEffect(() => { if (top.current) top.current.focus(); }, [what]);
  let title = what, body;
  if (chosen.flow) {
    const f = picture.flows.find((f) => f.flow === chosen.flow);
    title = f && f.src ? `Flow ${f.src} → ${f.dst}, queue pair ${hex(f.dest_qp, 6)}` : `Flow ${chosen.flow}`;
    body = f ? <Path of={f} choose={choose} health={picture.health.find((x) => x.flow === f.flow)} /> : <p class="note">No switch shows this flow now.</p>;
  } else {
    const u = picture.uplinks.find((u) => u.switch === chosen.switch && u.port === chosen.port);
    title = chosen.port ? `Flows of ${chosen.switch} ${chosen.port}` : `Flows of ${chosen.switch}`;
    body = (
      <div>
        {u && <p>{u.neighbor ? `To ${u.neighbor} ${u.neighbor_port || ""}. ` : ""}{rate(u.mbps)} out, {rate(u.back_mbps)} in; {fixed(u.over_mean)} times the mean; CE {events(u.ce_per_s)}/s, drops {events(u.drops_per_s)}/s; {whole(u.queued_bytes)} octets queued, {whole(u.watermark_bytes)} at most{u.group ? `; group ${u.group}` : ""}.</p>}
        <Flows label="flows there" flows={picture.flows.filter((f) => f.hops.some((p) => at(p, chosen)))} choose={choose} chosen={chosen} empty="No flow is known there." />
      </div>
    );
  }
  return (
    <Section id="chosen" title={<span ref={top} tabIndex={-1}>{title}</span>}>
      <p><button onClick={close}>Close</button></p>
      {body}
    </Section>
  );
}

const Path = ({ of: f, choose, health }) => (
  <div>
    <p>{rate(f.rate_mbps)}, <State is={f.state} />, source queue pair {hex(f.src_qp, 6)}{f.advised_mbps !== undefined && `, advised ${f.advised_mbps} Mbit/s${f.not_following ? ", which it does not follow" : ""}`}{health && `; lost ${whole(health.psn_lost)}, NAKs ${whole(health.naks)}, marked ${health.ce_percent === undefined ? or() : health.ce_percent.toFixed(2) + " %"}`}. Its path is lit in the map and among the uplinks.</p>
    <Scroll label="path of the flow">
      <table>
        <thead><tr>{["Switch", "In", "Out", "Queue", "In the queue", "State", "Label", "Rate", "Asked"].map((n) => <th scope="col">{n}</th>)}</tr></thead>
        <tbody>{f.hops.map((p) => (
          <tr><td><button onClick={() => choose({ switch: p.switch })}>{p.switch}</button></td><td>{or(p.in)}</td><td>{or(p.out || p.path)}</td><td>{or(p.queue)}</td><td>{whole(p.queue_bytes)}</td><td><State is={p.state} /></td><td>{hex(p.flow_label, 5)}</td><td>{rate(p.rate_mbps)}</td><td>{or(p.notified_neighbor)}</td></tr>
        ))}</tbody>
      </table>
    </Scroll>
  </div>
);
