// A page of a session that still runs: asks its server for what changed, and shows it.

/** How long to wait after a failed request. */
const RETRY_MS = 1000;
/** Drawing is followed by a pause of this many times its length, so that a large session costs little. */
const PAUSE_FACTOR = 8;

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

class Live {
  constructor(viewer, data) {
    this.viewer = viewer;
    this.data = data;
    this.run();
  }

  async run() {
    let failures = 0;
    while (!this.data.live.over && failures < 10) {
      try {
        const reply = await fetch(`${this.data.live.source}&since=${this.data.version}`);
        if (!reply.ok) throw new Error(String(reply.status));
        const changes = await reply.json();
        const started = performance.now();
        this.apply(changes);
        await pause((performance.now() - started) * PAUSE_FACTOR);
        failures = 0;
      } catch {
        failures++;
        await pause(RETRY_MS);
      }
    }
    this.viewer.showState(this.data.live.over ? "ended" : "disconnected");
  }

  apply({ head, lists }) {
    if (head.version === this.data.version) return;
    Object.assign(this.data, head);
    for (const [name, { length, changed }] of Object.entries(lists)) {
      const list = this.data[name];
      for (const [at, value] of changed) list[at] = value;
      list.length = length;
    }
    this.viewer.refresh();
  }
}
