// SPDX-License-Identifier: Apache-2.0
// The map: leaves below, the switches that they lead to above, a line for each link.
import { h } from "preact";
import { Scroll } from "./parts.jsx";
import { fixed, rate } from "./format.js";

const width = 1000, high = 60, low = 330, height = 400, edge = 60;
const fewLinks = 64, fewNodes = 40; // with labels, and in the order of the tabulator

// nodesOf places the switches of links.
function nodesOf(picture) {
  const known = new Map(picture.switches.map((s) => [s.name, s]));
  const names = new Set(picture.switches.map((s) => s.name));
  const above = new Set(picture.links.filter((l) => known.get(l.from.switch)?.leaf).map((l) => l.to.switch));
  for (const l of picture.links) if (l.to.switch) names.add(l.to.switch);
  const rows = { low: [], high: [] };
  for (const name of names) {
    const s = known.get(name);
    rows[s && (s.leaf || s.missing && !above.has(name)) ? "low" : "high"].push(name);
  }
  const at = new Map();
  for (const [row, y] of [["high", high], ["low", low]]) {
    const all = rows[row].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    all.forEach((name, i) => at.set(name, { name, x: edge + (width - 2 * edge) * (all.length === 1 ? 0.5 : i / (all.length - 1)), y, of: known.get(name), label: all.length <= fewNodes }));
  }
  return at;
}

const key = (e) => e.switch + "\n" + e.port;

// press makes an element of SVG a button for the keyboard.
const press = (act) => ({ onClick: act, onKeyDown: (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); act(); } } });

export function Map_({ picture, chosen, choose, lit }) {
  const at = nodesOf(picture), seen = {}, order = {};
  const links = picture.links.filter((l) => at.has(l.from.switch) && at.has(l.to.switch));
  const loose = picture.links.length - links.length;
  if (links.length === 0) {
    return <p class="note">No link is known: switches tell their neighbors where SLUICE|global has publish_next_hops=enabled and DEVICE_NEIGHBOR has their names.</p>;
  }
  const few = links.length <= fewLinks;
  return (
    <div>
      <Scroll label="map of the fabric">
        <svg class="map" viewBox={`0 0 ${width} ${height}`} role="group" aria-label={`${at.size} switches, ${links.length} links`}>
          {links.map((l) => {
            const a = at.get(l.from.switch), b = at.get(l.to.switch), pair = key({ switch: a.name, port: b.name });
            const n = seen[pair] = (seen[pair] || 0) + 1, bend = (n - 1) * 14; // links beside each other
            const on = lit.has(key(l.from)) || l.to.port && lit.has(key(l.to));
            const pressed = chosen.switch === l.from.switch && chosen.port === l.from.port || chosen.switch === l.to.switch && l.to.port !== "" && chosen.port === l.to.port;
            const name = `${l.from.switch} ${l.from.port} to ${l.to.switch} ${l.to.port}: ${rate(l.mbps)}, max ÷ mean ${fixed(l.over_mean)}${l.up === false ? ", down" : ""}${l.held ? `, ${l.held} held` : ""}`;
            const over = Math.min(1, Math.max(0, (l.over_mean ?? 0) / 2.5));
            const nth = order[a.name] = (order[a.name] ?? -1) + 1, place = 0.15 + 0.1 * (nth % 4), tx = a.x + (b.x - a.x) * place + bend / 2, ty = a.y + (b.y - a.y) * place;
            return (
              <g class={"link" + (on ? " lit" : "") + (l.up === false ? " down" : "") + (pressed ? " pressed" : "")} role="button" aria-pressed={pressed} aria-label={name} tabindex={few ? 0 : -1} {...press(() => choose({ switch: l.from.switch, port: l.from.port }))}>
                <title>{name}</title>
                <path class="reach" d={`M${a.x} ${a.y} Q${(a.x + b.x) / 2 + bend} ${(a.y + b.y) / 2} ${b.x} ${b.y}`} />
                <path d={`M${a.x} ${a.y} Q${(a.x + b.x) / 2 + bend} ${(a.y + b.y) / 2} ${b.x} ${b.y}`} style={{ strokeWidth: 1.5 + 5 * over }} />
                {few && <text x={tx} y={ty}>{l.up === false ? "down" : fixed(l.over_mean)}{l.held ? `, ${l.held} held` : ""}</text>}
              </g>
            );
          })}
          {[...at.values()].map((n) => (
            <g class={"node" + (n.of ? n.of.missing || n.of.state !== "running" || n.of.stale ? " bad" : "" : " asked-not") + (chosen.switch === n.name && !chosen.port ? " pressed" : "")}
              role="button" aria-pressed={chosen.switch === n.name && !chosen.port} aria-label={`${n.name}: ${n.of ? n.of.missing ? "did not answer" : n.of.state : "not asked"}`} tabindex={at.size <= fewNodes ? 0 : -1} {...press(() => choose({ switch: n.name }))}>
              <title>{n.name}</title>
              <circle cx={n.x} cy={n.y} r={n.label ? 13 : 5} />
              {n.of && (n.of.missing || n.of.state !== "running" || n.of.stale) && <text class="sign" x={n.x} y={n.y + 5}>!</text>}
              {n.label && <text x={n.x} y={n.y === high ? n.y - 22 : n.y + 34}>{n.name.length > 24 ? n.name.slice(0, 23) + "…" : n.name}</text>}
            </g>
          ))}
        </svg>
      </Scroll>
      <p class="note">A link's figure is its rate ÷ the mean of the uplinks at its end below; a circle with ! is a switch that is not well; a dashed one was not asked.{loose > 0 && ` ${loose} uplinks lead to a neighbor without a name.`}</p>
    </div>
  );
}
