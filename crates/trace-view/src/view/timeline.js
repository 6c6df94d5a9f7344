// The timeline: a canvas with a group of rows for each thread, which zooms, pans and finds what is under the pointer.

const ROW = 19;
const GUTTER = 190;
const AXIS = 24;
const KINDS = ["turn", "inference", "compaction", "cell", "tool", "command", "terminal"];

class Timeline {
  constructor(section, data, onSelect, outcomes) {
    this.section = section;
    this.data = data;
    this.onSelect = onSelect;
    this.outcomes = outcomes;
    this.canvas = section.querySelector("canvas");
    this.tip = section.querySelector("#tip");
    this.shown = new Set(KINDS);
    this.dimmed = () => false;
    this.selected = null;
    this.top = 0;
    this.layOut();
    // A few rows need little room.
    section.style.height = `min(42%, ${this.height + AXIS + ROW}px)`;
    this.listen();
    this.resize();
    this.fit();
    this.paint();
  }

  /** Puts every span into a row: by thread, then by kind, then by lane. */
  layOut() {
    const { spans } = this.data;
    this.rows = [];
    this.rowOf = new Map();
    const threads = spans.map((span, at) => at).filter((at) => spans[at].thread === at);
    const byThread = new Map(threads.map((at) => [at, []]));
    const outcomes = this.outcomes();
    spans.forEach((span, at) => {
      if (outcomes.shownBy(at) !== at) return;
      if (span.thread !== at && this.shown.has(span.kind)) byThread.get(span.thread)?.push(at);
    });
    for (const thread of threads) {
      this.addRow({ thread, kind: "thread", spans: [thread], label: nameOf(this.data.spans[thread]) });
      const groups = new Map();
      for (const at of byThread.get(thread)) {
        const rank = KINDS.indexOf(spans[at].kind);
        const key = rank * 10000 + spans[at].lane;
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push(at);
      }
      for (const key of [...groups.keys()].sort((a, b) => a - b)) {
        const kind = KINDS[Math.floor(key / 10000)];
        const label = key % 10000 === 0 ? kind : "";
        this.addRow({ thread, kind, spans: groups.get(key), label });
      }
    }
  }

  addRow(row) {
    row.top = this.rows.length === 0 ? 0 : this.height;
    if (row.kind === "thread" && this.rows.length > 0) row.top += 8;
    for (const at of row.spans) this.rowOf.set(at, this.rows.length);
    this.rows.push(row);
    this.height = row.top + ROW;
  }

  listen() {
    const { section } = this;
    new ResizeObserver(() => this.resize()).observe(section);
    section.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    section.addEventListener("pointerdown", (event) => this.onPress(event));
    section.addEventListener("pointermove", (event) => this.onMove(event));
    section.addEventListener("pointerleave", () => { this.tip.hidden = true; });
  }

  onWheel(event) {
    event.preventDefault();
    if (event.ctrlKey || event.metaKey || event.altKey) {
      this.zoom(Math.exp(-event.deltaY * 0.004), event.offsetX);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.pan((event.deltaX || event.deltaY) / this.plotWidth());
    } else if (this.maxTop() > 0) {
      this.scroll(event.deltaY);
    } else {
      this.zoom(Math.exp(-event.deltaY * 0.002), event.offsetX);
    }
  }

  onPress(event) {
    if (event.button !== 0) return;
    const start = { x: event.clientX, y: event.clientY, from: this.from, to: this.to, top: this.top };
    let moved = false;
    const move = (now) => {
      const [dx, dy] = [now.clientX - start.x, now.clientY - start.y];
      if (!moved && Math.hypot(dx, dy) < 4) return;
      moved = true;
      this.section.classList.add("dragging");
      const shift = (dx / this.plotWidth()) * (start.to - start.from);
      this.top = Math.min(this.maxTop(), Math.max(0, start.top - dy));
      this.setRange(start.from - shift, start.to - shift);
    };
    const end = (last) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      this.section.classList.remove("dragging");
      if (moved) return;
      const box = this.canvas.getBoundingClientRect();
      const hit = this.hit(last.clientX - box.left, last.clientY - box.top);
      if (hit !== null) this.onSelect(hit);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  }

  onMove(event) {
    const hit = event.buttons ? null : this.hit(event.offsetX, event.offsetY);
    this.tip.hidden = hit === null;
    this.canvas.style.cursor = hit === null ? "" : "pointer";
    if (hit === null) return;
    const span = this.data.spans[hit];
    const open = span.open ? ", no end" : "";
    const at = duration(span.start - this.data.start);
    this.tip.textContent =
      `${span.kind}: ${shorten(nameOf(span), 160)}\n${duration(span.end - span.start)}${open} · at ${at} · ${span.status}`;
    const left = Math.min(event.offsetX + 14, this.width - this.tip.offsetWidth - 8);
    const below = event.offsetY + 18;
    const fits = below + this.tip.offsetHeight < this.section.clientHeight;
    this.tip.style.left = `${Math.max(4, left)}px`;
    this.tip.style.top = `${fits ? below : event.offsetY - this.tip.offsetHeight - 8}px`;
  }

  plotWidth() { return Math.max(50, this.width - GUTTER - 12); }
  maxTop() { return Math.max(0, this.height + AXIS + 14 - this.section.clientHeight); }
  x(time) { return GUTTER + ((time - this.from) / (this.to - this.from)) * this.plotWidth(); }

  setRange(from, to) {
    const [start, whole] = [this.data.start, Math.max(1, this.data.end - this.data.start)];
    const length = Math.min(whole * 1.2, Math.max(0.5, to - from));
    const middle = (from + to) / 2;
    this.from = Math.min(start + whole * 1.1 - length, Math.max(start - whole * 0.1, middle - length / 2));
    this.to = this.from + length;
    this.draw();
  }

  fit() {
    const whole = Math.max(1, this.data.end - this.data.start);
    this.shownEnd = this.data.end;
    this.setRange(this.data.start - whole * 0.01, this.data.end + whole * 0.01);
  }

  zoom(factor, x = GUTTER + this.plotWidth() / 2) {
    const part = Math.min(1, Math.max(0, (x - GUTTER) / this.plotWidth()));
    const focus = this.from + part * (this.to - this.from);
    const length = (this.to - this.from) / factor;
    this.setRange(focus - part * length, focus + (1 - part) * length);
  }

  pan(part) {
    const shift = part * (this.to - this.from);
    this.setRange(this.from + shift, this.to + shift);
  }

  scroll(pixels) {
    this.top = Math.min(this.maxTop(), Math.max(0, this.top + pixels));
    this.draw();
  }

  /** Brings a span into sight. */
  reveal(at) {
    const span = this.data.spans[at];
    const row = this.rows[this.rowOf.get(at)];
    if (row) {
      const space = this.section.clientHeight - AXIS - ROW * 2;
      if (row.top < this.top) this.top = row.top;
      if (row.top > this.top + space) this.top = Math.min(this.maxTop(), row.top - space);
    }
    const length = this.to - this.from;
    if (span.end < this.from || span.start > this.to) {
      const middle = (span.start + span.end) / 2;
      this.setRange(middle - length / 2, middle + length / 2);
    }
    this.draw();
  }

  zoomTo(at) {
    const span = this.data.spans[at];
    const room = Math.max(2, (span.end - span.start) * 0.15);
    this.setRange(span.start - room, span.end + room);
  }

  setKinds(shown) {
    this.shown = shown;
    this.layOut();
    this.top = Math.min(this.top, this.maxTop());
    this.draw();
  }

  resize() {
    this.width = this.section.clientWidth;
    const scale = devicePixelRatio || 1;
    this.canvas.width = this.width * scale;
    this.canvas.height = this.section.clientHeight * scale;
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.section.clientHeight}px`;
    // A canvas of a new size is empty: it is painted before it is seen.
    if (this.from !== undefined) this.paint();
  }

  /** The span at a point; of several, the shortest. */
  hit(x, y) {
    const inside = y - AXIS + this.top;
    const row = y < AXIS ? null : this.rows.find((row) => inside >= row.top && inside < row.top + ROW);
    if (!row) return null;
    if (x < GUTTER) return row.thread;
    let best = null;
    for (const at of row.spans) {
      const span = this.data.spans[at];
      const [left, right] = [this.x(span.start), this.x(span.end)];
      if (x < left - 2 || x > Math.max(right, left + 3) + 1) continue;
      const length = span.end - span.start;
      if (best === null || length < this.data.spans[best].end - this.data.spans[best].start) best = at;
    }
    return best;
  }

  /** Draws with the next frame, however often it is asked. */
  draw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.paint();
    });
  }

  paint() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const pen = this.canvas.getContext("2d");
    const scale = devicePixelRatio || 1;
    const height = this.section.clientHeight;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, this.width, height);
    pen.font = "11.5px system-ui, 'DejaVu Sans', sans-serif";
    pen.textBaseline = "middle";
    this.paintAxis(pen, colour, height);
    pen.save();
    pen.beginPath();
    pen.rect(0, AXIS, this.width, height - AXIS);
    pen.clip();
    for (const row of this.rows) {
      const y = AXIS + row.top - this.top;
      if (y + ROW < AXIS || y > height) continue;
      this.paintRow(pen, colour, row, y);
    }
    this.paintWaits(pen, colour);
    this.paintEdges(pen, colour);
    pen.restore();
  }

  /** Hatches the time in which an agent waited for a person: no work was done. */
  paintWaits(pen, colour) {
    const { spans, notices } = this.data;
    const turns = new Map(spans.map((span, at) => [span.kind === "turn" ? span.id : "", at]));
    pen.save();
    pen.beginPath();
    pen.rect(GUTTER, AXIS, this.width - GUTTER, this.section.clientHeight);
    pen.clip();
    pen.strokeStyle = colour("back");
    pen.lineWidth = 2;
    for (const notice of notices) {
      const turn = notice.turn ? turns.get(notice.turn) : undefined;
      if (notice.waited === undefined || turn === undefined) continue;
      const call = notice.call ? this.outcomes().ofCall.get(`${spans[spans[turn].thread].id} ${notice.call}`) ?? [] : [];
      for (const at of [turn, ...call]) this.hatch(pen, at, notice.at, notice.at + notice.waited);
    }
    pen.restore();
  }

  hatch(pen, at, from, to) {
    const row = this.rows[this.rowOf.get(at)];
    const span = this.data.spans[at];
    const [left, right] = [Math.max(GUTTER, this.x(Math.max(from, span.start))), Math.min(this.width, this.x(Math.min(to, span.end)))];
    if (!row || right - left < 2) return;
    const top = AXIS + row.top - this.top + 2;
    pen.save();
    pen.beginPath();
    pen.rect(left, top, right - left, ROW - 4);
    pen.clip();
    pen.beginPath();
    for (let x = left - ROW; x < right; x += 6) {
      pen.moveTo(x, top + ROW);
      pen.lineTo(x + ROW, top);
    }
    pen.stroke();
    pen.restore();
  }

  paintAxis(pen, colour, height) {
    const rough = (this.to - this.from) / Math.max(2, this.plotWidth() / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough);
    const first = Math.ceil((this.from - this.data.start) / step);
    pen.strokeStyle = colour("line");
    pen.fillStyle = colour("dim");
    pen.lineWidth = 1;
    pen.textAlign = "center";
    for (let tick = first; this.data.start + tick * step <= this.to; tick++) {
      const x = Math.round(this.x(this.data.start + tick * step)) + 0.5;
      pen.globalAlpha = 0.5;
      pen.beginPath();
      pen.moveTo(x, AXIS - 5);
      pen.lineTo(x, height);
      pen.stroke();
      pen.globalAlpha = 1;
      pen.fillText(duration(tick * step), x, 10);
    }
    pen.textAlign = "left";
  }

  paintRow(pen, colour, row, y) {
    if (row.kind === "thread") {
      pen.fillStyle = colour("panel");
      pen.fillRect(0, y, this.width, ROW);
    }
    pen.save();
    pen.beginPath();
    pen.rect(GUTTER, y, this.width - GUTTER, ROW);
    pen.clip();
    let painted = -1;
    for (const at of row.spans) {
      const span = this.data.spans[at];
      const left = this.x(span.start);
      const right = Math.max(this.x(span.end), left + 2);
      if (right < GUTTER || left > this.width) continue;
      // Of many spans on one pixel, one is enough.
      if (right <= painted && at !== this.selected) continue;
      painted = Math.max(painted, Math.floor(right));
      this.paintSpan(pen, colour, at, left, right, y);
    }
    pen.restore();
    pen.fillStyle = colour(row.kind === "thread" ? "text" : "dim");
    pen.fillText(fitText(pen, row.label, GUTTER - 24), row.kind === "thread" ? 10 : 22, y + ROW / 2 + 0.5);
  }

  paintSpan(pen, colour, at, left, right, y) {
    const span = this.data.spans[at];
    const bad = this.outcomes().isBad(at);
    pen.globalAlpha = this.dimmed(at) ? 0.16 : 1;
    pen.fillStyle = colour(span.kind);
    const [top, height] = [y + 2, ROW - 4];
    pen.beginPath();
    pen.roundRect(left, top, right - left, height, 3);
    pen.fill();
    if (bad) {
      pen.fillStyle = colour("bad");
      pen.fillRect(left, top + height - 3, right - left, 3);
    }
    if (span.open) {
      // No end was seen: the right side frays.
      pen.fillStyle = colour("back");
      for (let row = 0; row < height; row += 4) pen.fillRect(right - 4, top + row, 4, 2);
    }
    const inside = Math.max(left, GUTTER) + 5;
    if (right - inside > 24) {
      pen.fillStyle = isLight() ? "#10151d" : "#fff";
      pen.fillText(fitText(pen, nameOf(span), right - inside - 4), inside, y + ROW / 2 + 0.5);
    }
    if (at === this.selected) {
      pen.globalAlpha = 1;
      pen.strokeStyle = colour("mark");
      pen.lineWidth = 2;
      pen.beginPath();
      pen.roundRect(left - 1, top - 1, right - left + 2, height + 2, 4);
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  /** Arrows from agent to agent. A span whose row is hidden is stood for by its thread. */
  paintEdges(pen, colour) {
    const { spans } = this.data;
    pen.save();
    pen.beginPath();
    pen.rect(GUTTER, AXIS, this.width - GUTTER, this.section.clientHeight);
    pen.clip();
    pen.strokeStyle = pen.fillStyle = colour("accent");
    pen.lineWidth = 1.4;
    for (const edge of this.data.edges) {
      const y = (at) => {
        const row = this.rows[this.rowOf.get(at) ?? this.rowOf.get(spans[at].thread)];
        return AXIS + (row ? row.top : 0) - this.top + ROW / 2;
      };
      const inSpan = (at, time) => Math.min(spans[at].end, Math.max(spans[at].start, time));
      const x1 = this.x(inSpan(edge.source, edge.start));
      const x2 = this.x(inSpan(edge.target, edge.end ?? edge.start));
      if (Math.max(x1, x2) < GUTTER || Math.min(x1, x2) > this.width) continue;
      const [y1, y2] = [y(edge.source), y(edge.target)];
      const bend = Math.max(14, Math.min(60, Math.abs(x2 - x1) / 2));
      pen.globalAlpha = [edge.source, edge.target].includes(this.selected) ? 1 : 0.55;
      pen.beginPath();
      pen.moveTo(x1, y1);
      pen.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
      pen.stroke();
      pen.beginPath();
      pen.moveTo(x2 + 1, y2);
      pen.lineTo(x2 - 7, y2 - 4);
      pen.lineTo(x2 - 7, y2 + 4);
      pen.fill();
    }
    pen.restore();
  }
}

/** As much of a text as fits a width. */
function fitText(pen, text, width) {
  const line = text.length > 200 ? text.slice(0, 200) : text;
  if (pen.measureText(line).width <= width) return line;
  let [low, high] = [0, line.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(`${line.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 1 ? `${line.slice(0, low)}…` : "";
}
