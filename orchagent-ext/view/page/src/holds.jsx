// SPDX-License-Identifier: Apache-2.0
// Holds: who asked whom. A congested flow, or who asked from outside, with those that it had held.
import { h } from "preact";
import { FlowButton, PortButton, State } from "./parts.jsx";
import { or, span, whole } from "./format.js";

const asked = (w) => w.message ? `${w.message.toUpperCase()} from ${w.from_switch || "?"} (${or(w.from)})` : "first to ask";

const Hold = ({ of: w, choose }) => (
  <li>
    <div class="hold">
      <PortButton name={w.switch} port={w.port} choose={choose} /> queue {or(w.queue)} <State is={w.state} />
      {w.action && <span> {w.action}{w.reduction ? ` by ${w.reduction} %` : ""}</span>}
      <span> for {span(w.seconds)}</span>
      <span> · {asked(w)}</span>
      {w.joined === "flow" && <span class="note"> (by the flow; the neighbor has no name)</span>}
      {w.waiting_bytes !== undefined && <span> · {whole(w.waiting_bytes)} octets wait</span>}
      {w.notified_neighbor && <span> · asked {w.notified_neighbor}</span>}
      <div><FlowButton of={w} choose={choose} />{w.stream_id && <span class="note"> stream {w.stream_id}</span>}</div>
      {w.reason && <div class="note">{w.reason}</div>}
    </div>
    {w.below && <ul>{w.below.map((b) => <Hold of={b} choose={choose} />)}</ul>}
  </li>
);

export const Holds = ({ picture, choose }) => picture.of.trees === 0 ? <p class="note">Nothing is held, and no neighbor was asked to.</p> : (
  <div>
    <ul class="tree">{picture.holds.map((w) => <Hold of={w} choose={choose} />)}</ul>
    {picture.holds.length < picture.of.trees && <p class="note">{picture.holds.length} of {picture.of.trees} trees</p>}
  </div>
);
