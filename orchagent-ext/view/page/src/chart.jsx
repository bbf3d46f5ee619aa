// SPDX-License-Identifier: Apache-2.0
// Series of what was shown since the page was opened, by uPlot.
import { h } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/uPlot.min.css";

const kept = 600; // points

// pointOf sums a picture up.
export function pointOf(p) {
  const worst = p.uplinks.reduce((w, u) => Math.max(w, u.over_mean ?? 0), 0);
  const sum = (of) => p.uplinks.reduce((n, u) => of(u) === undefined ? n : (n ?? 0) + of(u), null);
  return { at: Date.parse(p.at) / 1000, over: worst || null, held: p.of.holds, ce: sum((u) => u.ce_per_s), drops: sum((u) => u.drops_per_s) };
}

// addPoint adds a point in the order of time.
export function addPoint(all, p) {
  if (all.some((q) => q.at === p.at)) return all;
  return [...all, p].sort((a, b) => a.at - b.at).slice(-kept);
}

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// resolved returns a color of the style sheet as canvas takes it.
function resolved(name) {
  const e = document.createElement("i");
  e.style.color = `var(${name})`;
  document.body.append(e);
  const c = getComputedStyle(e).color;
  e.remove();
  return c || color(name);
}

export function Chart({ title, points, of, digits, theme }) {
  const box = useRef(), plot = useRef();
  const data = [points.map((p) => p.at), points.map((p) => p[of])];
  const last = points.length ? points[points.length - 1][of] : null;
  useEffect(() => {
    const size = () => ({ width: Math.max(200, box.current.clientWidth), height: 140 });
    const line = resolved("--line"), text = resolved("--text"), grid = { stroke: resolved("--rule"), width: 1 };
    const u = new uPlot({
      ...size(), legend: { show: false }, cursor: { show: false }, select: { show: false },
      series: [{}, { stroke: line, width: 2, points: { show: points.length < 3 } }],
      scales: { y: { range: (_, low, high) => [0, Math.max(high ?? 0, 1) * 1.1] } },
      axes: [{ stroke: text, grid, ticks: grid }, { stroke: text, grid, ticks: grid, size: 48 }],
    }, data, box.current);
    plot.current = u;
    const watch = new ResizeObserver(() => u.setSize(size()));
    watch.observe(box.current);
    return () => { watch.disconnect(); u.destroy(); };
  }, [theme]);
  useEffect(() => { if (plot.current) plot.current.setData(data); }, [points]);
  return (
    <figure>
      <figcaption>{title}: <strong>{last === null || last === undefined ? "–" : last.toFixed(digits)}</strong></figcaption>
      <div ref={box} class="chart" role="img" aria-label={`${title} over time, now ${last === null || last === undefined ? "unknown" : last.toFixed(digits)}`} />
    </figure>
  );
}
