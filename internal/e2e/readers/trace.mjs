// Reads a timeline with a library of others, and prints what it holds: processes, spans by thread with their parents,
// counters, and the span that each end of an arrow is on.
import fs from "node:fs";
import { createRequire } from "node:module";
const { buildModel } = createRequire(import.meta.url)("@tracerbench/trace-model");

const model = buildModel(JSON.parse(fs.readFileSync(process.argv[2], "utf8")));
const out = { processes: [], shortest: Infinity, orphans: 0, counters: {}, flows: {} };
for (const p of model.processes) {
  const one = { name: p.name, start: Infinity, end: 0, spans: 0 };
  for (const thread of p.threads) {
    const spans = thread.events.filter(e => e.isComplete());
    one.spans += spans.length;
    for (const s of spans) {
      out.shortest = Math.min(out.shortest, s.duration);
      one.start = Math.min(one.start, s.start);
      one.end = Math.max(one.end, s.end);
      if (s.parent && (s.parent.start > s.start || s.parent.end < s.end - 1e-3)) out.orphans++;
    }
    for (const e of thread.events) {
      if (!"stf".includes(e.ph)) continue;
      const on = spans.filter(s => s.start <= e.start && e.start <= s.end).pop();
      const key = `${e.ph} ${p.name.replace(/ \d+/, "")} ${on ? on.name.replace(/ \d+$/, "") : "nothing"}`;
      out.flows[key] = (out.flows[key] || 0) + 1;
    }
  }
  out.processes.push(one);
}
for (const e of model.events) if (e.ph === "C") out.counters[e.name.replace(/, rank \d+/, "")] = (out.counters[e.name.replace(/, rank \d+/, "")] || 0) + 1;
console.log(JSON.stringify(out));
