// SPDX-License-Identifier: Apache-2.0
// The page: what is shown, of which time, and what was chosen.
import { h, render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import "./style.css";
import { addPoint, Chart, pointOf } from "./chart.jsx";
import { Chosen, litBy } from "./chosen.jsx";
import { follow, newReader, span as readSpan } from "./feed.js";
import { moment, none, fixed, whole } from "./format.js";
import { Heat } from "./heat.jsx";
import { Holds } from "./holds.jsx";
import { Map_ } from "./map.jsx";
import { Section } from "./parts.jsx";
import { Advice, Flows, Groups, Health, Moves, Queues, Switches } from "./tables.jsx";
import { startOf, stepOf, Time } from "./time.jsx";

const schemes = ["auto", "light", "dark"];

// useScheme is the color scheme: that of the system, or the one that was chosen.
function useScheme() {
  const [scheme, setScheme] = useState(() => schemes.includes(localStorage.getItem("scheme")) ? localStorage.getItem("scheme") : "auto");
  document.documentElement.dataset.scheme = scheme;
  return [scheme, (s) => { localStorage.setItem("scheme", s); setScheme(s); }];
}

// useLater is a value that follows another one when that rests.
function useLater(value, ms) {
  const [later, setLater] = useState(value);
  useEffect(() => { const t = setTimeout(() => setLater(value), ms); return () => clearTimeout(t); }, [value]);
  return later;
}

function App() {
  const [scheme, setScheme] = useScheme();
  const [picture, setPicture] = useState(null), [points, setPoints] = useState([]);
  const [span, setSpan] = useState(null), [state, setState] = useState("waiting"), [failed, setFailed] = useState("");
  const [mode, setMode] = useState("live"), [at, setAt] = useState(0), [speed, setSpeed] = useState(1);
  const [chosen, setChosen] = useState({}), [measure, setMeasure] = useState("over"), [search, setSearch] = useState("");
  const find = useLater(search, 250);
  const wanted = { find, switch: chosen.switch, port: chosen.port, flow: chosen.flow };
  const got = (p) => { setFailed(""); setPicture(p); setPoints((all) => addPoint(all, pointOf(p))); };
  const reader = useMemo(() => newReader(got, setFailed), []);
  const opened = useRef(null), closing = useRef(null);

  useEffect(() => {
    const look = () => readSpan().then((s) => { setSpan(s); if (!s.live && mode === "live") { setMode("paused"); setAt(startOf(s)); } }).catch(() => setState("waiting"));
    look();
    const t = setInterval(look, 2000);
    return () => clearInterval(t);
  }, [mode]);
  const key = JSON.stringify(wanted);
  useEffect(() => { if (mode === "live" && span && span.live) return follow(wanted, got, setState); }, [mode, key, span && span.live]);
  useEffect(() => { if (mode !== "live" && at) reader({ ...wanted, at: new Date(at).toISOString() }); }, [mode, key, at]);
  useEffect(() => {
    if (mode !== "playing" || !span || !span.last) return undefined;
    const t = setInterval(() => setAt((a) => {
      const next = a + stepOf(span) * speed, last = Date.parse(span.last);
      if (next < last) return next;
      setMode(span.live ? "live" : "paused");
      return last;
    }), 1000);
    return () => clearInterval(t);
  }, [mode, speed, span]);

  const changeMode = (m) => {
    if (m !== "live" && mode === "live" && picture) setAt(Date.parse(picture.at));
    if (m === "live") setAt(0);
    setMode(m);
  };
  const seek = (t) => { if (mode === "live") setMode("paused"); setAt(t); };
  const choose = (c) => { opened.current = document.activeElement; setChosen(c); };
  const close = () => { setChosen({}); closing.current = opened.current; };
  useEffect(() => { if (closing.current) { closing.current.focus(); closing.current = null; } }, [chosen]);

  const is = chosen.flow || chosen.switch;
  const lit = picture ? litBy(picture, chosen) : new Set();
  return (
    <div class="page">
      <header>
        <h1>Sluice</h1>
        <p class="at" data-at={picture ? picture.at : ""}>{picture ? moment(picture.at) : "no picture yet"}{mode !== "live" && picture && <strong> · {mode}</strong>}</p>
        <label class="search">search <input type="search" value={search} maxLength={128} placeholder="address, queue pair, switch" onInput={(e) => setSearch(e.currentTarget.value)} /></label>
        <label>colors <select value={scheme} onChange={(e) => setScheme(e.currentTarget.value)}>{schemes.map((s) => <option value={s}>{s}</option>)}</select></label>
        <Time span={span} at={mode === "live" ? 0 : at} mode={mode} setMode={changeMode} seek={seek} speed={speed} setSpeed={setSpeed} state={state} />
      </header>
      <main>
        <p role="status" class={failed ? "failed" : "hidden"}>{failed}</p>
        {!picture ? <p>Waiting for the first reading of the switches.</p> : <Parts {...{ picture, points, scheme, chosen, choose, close, is, lit, measure, setMeasure, find }} />}
      </main>
    </div>
  );
}

// figures are the sums at the top.
function Figures({ picture }) {
  const missing = picture.switches.filter((s) => s.missing).length;
  const worst = picture.uplinks.reduce((w, u) => (u.over_mean ?? 0) > (w ? w.over_mean : 0) ? u : w, null);
  const drops = picture.uplinks.reduce((n, u) => u.drops_per_s === undefined ? n : (n ?? 0) + u.drops_per_s, null);
  return (
    <dl class="figures">
      <div><dt>switches that answer</dt><dd>{picture.switches.length - missing} of {picture.switches.length}</dd></div>
      <div><dt>fullest uplink, ÷ mean</dt><dd>{worst ? `${fixed(worst.over_mean)} · ${worst.switch} ${worst.port}` : none}</dd></div>
      <div><dt>drops a second at uplinks</dt><dd>{drops === null ? none : whole(drops)}</dd></div>
      <div><dt>holds</dt><dd>{picture.of.holds}</dd></div>
      <div><dt>flows advised</dt><dd>{picture.of.advice}</dd></div>
    </dl>
  );
}

function Parts({ picture, points, scheme, chosen, choose, close, is, lit, measure, setMeasure, find }) {
  return (
    <div class="parts">
      <Figures picture={picture} />
      {find && <p class="note" role="status">Found {picture.flows.length} flows, {picture.queues.length} queues, {picture.holds.length} trees of holds for “{find}”.</p>}
      {is && <Chosen picture={picture} chosen={chosen} choose={choose} close={close} />}
      <Section id="uplinks" title="Uplinks"><Heat picture={picture} measure={measure} setMeasure={setMeasure} chosen={chosen} choose={choose} lit={lit} /></Section>
      <Section id="map" title="Fabric"><Map_ picture={picture} chosen={chosen} choose={choose} lit={lit} /></Section>
      <Section id="queues" title="Queues and the flows in them"><Queues picture={picture} choose={choose} /></Section>
      <Section id="holds" title="Holds: who asked whom"><Holds picture={picture} choose={choose} /></Section>
      <Section id="flows" title="Flows"><Flows flows={picture.flows} total={picture.of.flows} choose={choose} chosen={chosen} /></Section>
      <Section id="health" title="Health by queue pair"><Health picture={picture} choose={choose} /></Section>
      <Section id="advice" title="Rate Advice"><Advice picture={picture} choose={choose} /></Section>
      <Section id="placement" title="Placement"><Groups picture={picture} choose={choose} /><h3>Moves</h3><Moves picture={picture} choose={choose} /></Section>
      <Section id="switches" title="Switches"><Switches picture={picture} choose={choose} /></Section>
      <Section id="series" title="Since this page was opened">
        <div class="charts">
          <Chart title="Fullest uplink ÷ mean" points={points} of="over" digits={2} theme={scheme} />
          <Chart title="Holds" points={points} of="held" digits={0} theme={scheme} />
          <Chart title="CE a second" points={points} of="ce" digits={0} theme={scheme} />
          <Chart title="Drops a second" points={points} of="drops" digits={0} theme={scheme} />
        </div>
      </Section>
    </div>
  );
}

render(<App />, document.getElementById("app"));
