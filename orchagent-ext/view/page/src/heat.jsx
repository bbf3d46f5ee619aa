// SPDX-License-Identifier: Apache-2.0
// The heat map: a row for each switch, a cell for each uplink, the worst switch first.
import { h } from "preact";
import { Scroll } from "./parts.jsx";
import { events, fixed, none, rate, whole } from "./format.js";

// measures are what cells may show: the value, its text, the sign of a full cell, and the name.
export const measures = {
  over: { name: "max ÷ mean", of: (u) => u.over_mean, text: (v) => fixed(v, 2), full: 2.5, sum: Math.max, help: "rate of the uplink ÷ mean of the switch's uplinks: 1 is even" },
  mbps: { name: "rate", of: (u) => u.mbps, text: (v) => v === undefined ? none : whole(v), help: "Mbit/s sent", sum: (a, b) => a + b },
  ce: { name: "CE", of: (u) => u.ce_per_s, text: events, help: "packets marked CE a second, of flows that the CPU sees", sum: (a, b) => a + b },
  drops: { name: "drops", of: (u) => u.drops_per_s, text: events, help: "packets dropped a second", sum: (a, b) => a + b },
  queued: { name: "queued", of: (u) => u.queued_bytes, text: whole, help: "octets in the fullest queue", sum: Math.max },
};

// rowsOf returns the switches with their uplinks, the worst first.
function rowsOf(picture, m) {
  const rows = new Map();
  for (const u of picture.uplinks) {
    if (!rows.has(u.switch)) rows.set(u.switch, { name: u.switch, all: [], worst: undefined });
    const r = rows.get(u.switch), v = m.of(u);
    r.all.push(u);
    if (v !== undefined) r.worst = r.worst === undefined ? v : m.sum(r.worst, v);
  }
  return [...rows.values()].sort((a, b) => (b.worst ?? -1) - (a.worst ?? -1));
}

const most = 256; // rows

export function Heat({ picture, measure, setMeasure, chosen, choose, lit }) {
  const m = measures[measure], rows = rowsOf(picture, m);
  const columns = Math.max(1, ...rows.map((r) => r.all.length));
  const full = m.full || Math.max(1e-9, ...picture.uplinks.map((u) => m.of(u) ?? 0));
  return (
    <div>
      <fieldset class="choice">
        <legend>A cell shows</legend>
        {Object.entries(measures).map(([key, of]) => (
          <label><input type="radio" name="measure" checked={key === measure} onChange={() => setMeasure(key)} /> {of.name}</label>
        ))}
      </fieldset>
      <p class="note">{m.help}. Worst switch first. A cell shows the flows of its uplink.</p>
      {rows.length === 0 ? <p class="note">No switch has ports of role fabric.</p> :
        <Scroll label="uplinks of each switch">
          <table class="heat">
            <thead><tr><th scope="col">switch</th>{Array.from({ length: columns }, (_, i) => <th scope="col">{i + 1}</th>)}</tr></thead>
            <tbody>
              {rows.slice(0, most).map((r) => (
                <tr>
                  <th scope="row"><button onClick={() => choose({ switch: r.name })} aria-pressed={chosen.switch === r.name && !chosen.port}>{r.name}</button></th>
                  {r.all.map((u) => <Cell u={u} m={m} full={full} choose={choose} pressed={chosen.switch === u.switch && chosen.port === u.port} lit={lit.has(u.switch + "\n" + u.port)} />)}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>}
      {rows.length > most && <p class="note">{most} of {rows.length} switches</p>}
    </div>
  );
}

function Cell({ u, m, full, choose, pressed, lit }) {
  const v = m.of(u), text = u.up === false ? "down" : m.text(v);
  const part = Math.min(1, Math.max(0, (v ?? 0) / full));
  const to = u.neighbor ? ` to ${u.neighbor}${u.neighbor_port ? " " + u.neighbor_port : ""}` : "";
  const name = `${text}${u.held ? `, ${u.held} held` : ""}: ${m.name} of ${u.switch} ${u.port}${to}; ${rate(u.mbps)}, ${u.flows} flows`;
  return (
    <td>
      <button class={"cell" + (lit ? " lit" : "") + (u.up === false ? " down" : "")} style={{ backgroundColor: `color-mix(in srgb, var(--heat) ${Math.round(part * 100)}%, var(--field))` }}
        aria-pressed={pressed} aria-label={name} title={name} onClick={() => choose({ switch: u.switch, port: u.port })}>{text}{u.held > 0 && <span class="held">, {u.held} held</span>}</button>
    </td>
  );
}
