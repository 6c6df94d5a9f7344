// A page of a session that still runs: asks its server for what changed, and shows it.

/** How long to wait after a failed request. */
const RETRY_MS = 1000;

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
        this.apply(await reply.json());
        failures = 0;
      } catch {
        failures++;
        await new Promise((done) => { setTimeout(done, RETRY_MS); });
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
