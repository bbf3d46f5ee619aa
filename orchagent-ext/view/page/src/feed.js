// SPDX-License-Identifier: Apache-2.0
// Pictures from the server: the newest as they come, or those of a time.

const query = (parts) => {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(parts)) if (value) q.set(name, value);
  return q.toString();
};

const again = 5000; // ms until the next try after a refusal: a browser goes on by itself after a break alone

// follow calls got with each picture, and state with "live", or with "waiting" while the server
// does not answer, or refuses. It returns the function that ends it.
export function follow(wanted, got, state) {
  let source, timer;
  const open = () => {
    source = new EventSource("api/stream?" + query(wanted));
    source.addEventListener("open", () => state("live"));
    source.addEventListener("picture", (e) => { state("live"); got(JSON.parse(e.data)); });
    source.addEventListener("error", () => {
      state("waiting");
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, again);
    });
  };
  open();
  return () => { clearTimeout(timer); source.close(); };
}

// get returns JSON of the server.
async function get(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

// span returns the times that can be asked for.
export const span = () => get("api/span");

// newReader returns a function that reads the picture of a time. While one is on its way, only the
// last of those that are asked for meanwhile is read after it.
export function newReader(got, failed) {
  let busy = false, next = null;
  const read = async (wanted) => {
    if (busy) { next = wanted; return; }
    busy = true;
    try {
      got(await get("api/picture?" + query(wanted)));
    } catch (e) {
      failed(e.message);
    }
    busy = false;
    if (next) { const n = next; next = null; read(n); }
  };
  return read;
}
