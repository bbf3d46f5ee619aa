// SPDX-License-Identifier: Apache-2.0
// Parts that several sections share.
import { h } from "preact";
import { useState } from "preact/hooks";
import { hex, or } from "./format.js";

// Section is one part of the page with its heading.
export const Section = ({ id, title, note, children }) => (
  <section aria-labelledby={id} class={"of-" + id}>
    <h2 id={id}>{title}</h2>
    {note && <p class="note">{note}</p>}
    {children}
  </section>
);

// Scroll is a region that scrolls by itself where it is wider than the page.
export const Scroll = ({ label, children }) => <div class="scroll" role="region" aria-label={label} tabIndex={0}>{children}</div>;

const first = 12, more = 50;

// Table is a table of rows, of which it shows the first, and a button for more.
export function Table({ label, head, rows, total, empty }) {
  const [shown, setShown] = useState(first);
  if (rows.length === 0) return <p class="note">{total > 0 ? `None of the ${total} ${label} is as searched for.` : empty}</p>;
  const left = rows.length - shown;
  return (
    <div>
      <Scroll label={"table of " + label}>
        <table>
          <thead><tr>{head.map((name) => <th scope="col">{name}</th>)}</tr></thead>
          <tbody>{rows.slice(0, shown).map((row) => <tr class={row.class}>{row.cells.map((cell) => <td>{cell}</td>)}</tr>)}</tbody>
        </table>
      </Scroll>
      <p class="note">
        {left > 0 && <button onClick={() => setShown(shown + more)}>{Math.min(left, more)} more {label}</button>}
        {left > 0 && " "}
        {Math.min(shown, rows.length)} of {Math.max(total || 0, rows.length)}
      </p>
    </div>
  );
}

// FlowButton is the name of a flow, which shows it.
export const FlowButton = ({ of, choose }) => (
  <button class="flow" onClick={() => choose({ flow: of.flow })} title={of.flow}>
    {of.src ? <span>{of.src} → {of.dst} <span class="qp">{hex(of.dest_qp, 6)}</span></span> : or(of.flow)}
  </button>
);

// PortButton is the name of a port, which shows its flows.
export const PortButton = ({ name, port, choose }) => <button onClick={() => choose({ switch: name, port })}>{name} {or(port)}</button>;

// State is a state in words, with a sign for the eye.
export const State = ({ is }) => <span class={"state " + (is === "normal" || is === "running" || is === "active" || is === "up" ? "good" : is ? "bad" : "")}>{or(is)}</span>;
