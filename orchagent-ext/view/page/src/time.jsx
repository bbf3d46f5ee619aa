// SPDX-License-Identifier: Apache-2.0
// The bar of time: live, pause, rewind, play.
import { h } from "preact";
import { moment } from "./format.js";

// stepOf is the time between pictures that are played, ms: a second, or where the whole takes less than a minute, as a
// simulated run does, that between two pictures, but not less than the slider shows.
export function stepOf(span) {
  const whole = span && span.first ? Date.parse(span.last) - Date.parse(span.first) : 0;
  return whole >= 60000 || span && span.live ? 1000 : Math.max(1, Math.ceil(span && span.step_ms || 0), Math.ceil(whole / 600));
}

// startOf is where what has ended begins: at its second picture, since the first one has no rates.
export const startOf = (span) => span.first ? Math.min(Date.parse(span.last), Date.parse(span.first) + stepOf(span)) : 0;

export function Time({ span, at, mode, setMode, seek, speed, setSpeed, state }) {
  const first = span && span.first ? Date.parse(span.first) : 0, last = span && span.last ? Date.parse(span.last) : 0;
  const now = at || last, paused = mode !== "live", step = stepOf(span), jump = 10 * step;
  const far = jump >= 1000 ? jump / 1000 + " s" : jump + " ms";
  return (
    <div class="time" role="group" aria-label="time">
      {span && span.live && <button aria-pressed={mode === "live"} onClick={() => setMode("live")}>{mode === "live" ? state === "live" ? "● live" : "○ waiting for the server" : "live again"}</button>}
      {mode === "live" && <button onClick={() => setMode("paused")}>pause</button>}
      {mode === "paused" && <button onClick={() => setMode("playing")}>play</button>}
      {mode === "playing" && <button onClick={() => setMode("paused")}>pause</button>}
      <button disabled={!first} onClick={() => seek(Math.max(first, now - jump))}>−{far}</button>
      <button disabled={!first || !paused} onClick={() => seek(Math.min(last, now + jump))}>+{far}</button>
      <label class="slider"><span class="hidden">time of the picture</span>
        <input type="range" min={0} max={Math.max(1, Math.ceil((last - first) / step))} step={1} value={Math.ceil((now - first) / step)} disabled={!first}
          aria-valuetext={now ? moment(now) : "no time"} onInput={(e) => seek(Math.min(last, first + step * Number(e.currentTarget.value)))} /></label>
      <label>speed <select value={speed} onChange={(e) => setSpeed(Number(e.currentTarget.value))}>{[1, 5, 20].map((n) => <option value={n}>{n}×</option>)}</select></label>
    </div>
  );
}
