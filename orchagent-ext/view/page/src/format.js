// SPDX-License-Identifier: Apache-2.0
// Values as people read them. An absent value is a dash, never 0.

export const none = "–";

// whole returns an integer with narrow spaces between thousands.
export const whole = (n) => n === undefined || n === null ? none : String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, "\u202f");

// fixed returns a number with so many decimals.
export const fixed = (n, digits = 2) => n === undefined || n === null ? none : n.toFixed(digits);

// rate returns Mbit/s with a unit that suits it.
export function rate(mbps) {
  if (mbps === undefined || mbps === null) return none;
  if (mbps >= 10000) return (mbps / 1000).toFixed(1) + " Gbit/s";
  return (mbps >= 100 ? mbps.toFixed(0) : mbps.toFixed(1)) + " Mbit/s";
}

// events returns a number of events a second.
export const events = (n) => n === undefined || n === null ? none : n >= 10 || n === 0 ? whole(n) : n.toFixed(1);

// hex returns a number as sluice show has it.
export const hex = (n, digits) => n === undefined || n === null ? none : "0x" + n.toString(16).padStart(digits, "0");

// span returns seconds.
export function span(s) {
  if (s === undefined || s === null) return none;
  if (s < 60) return s.toFixed(1) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + Math.floor(s % 60) + " s";
  return Math.floor(s / 3600) + " h " + Math.floor(s % 3600 / 60) + " min";
}

// clock returns the time of day, UTC.
export const clock = (t) => new Date(t).toISOString().slice(11, 19);

// moment returns date and time, UTC.
export function moment(t) {
  const text = new Date(t).toISOString().replace("T", " ");
  return (text.endsWith(".000Z") ? text.slice(0, 19) : text.slice(0, 23)) + " UTC";
}

// or returns a text, or a dash.
export const or = (s) => s === undefined || s === null || s === "" ? none : s;
