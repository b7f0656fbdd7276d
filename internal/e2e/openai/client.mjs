// Asks a server as programs do that use OpenAI's library: node client.mjs URL MODEL. Prints what came, as JSON.
import OpenAI from "openai";

const [url, model] = process.argv.slice(2);
const client = new OpenAI({ baseURL: url + "/v1", apiKey: "none", maxRetries: 0 });
const messages = [{ role: "user", content: "hello!" }];
const out = {};

async function refused(call) {
  try {
    await call();
    return { refused: false };
  } catch (e) {
    return { refused: true, kind: e.constructor.name, status: e.status, code: e.code, param: e.param, type: e.type };
  }
}

const list = [];
for await (const m of await client.models.list()) list.push(m.id);
out.models = list;
out.model = (await client.models.retrieve(model)).id;

const text = await client.completions.create({ model, prompt: [1, 2, 3], max_tokens: 4 });
out.completion = { text: text.choices[0].text, reason: text.choices[0].finish_reason, usage: text.usage };
const said = await client.chat.completions.create({ model, messages, max_completion_tokens: 3 });
out.chat = { text: said.choices[0].message.content, reason: said.choices[0].finish_reason, usage: said.usage };

out.completionStream = { text: "", events: 0 };
for await (const e of await client.completions.create({ model, prompt: "a", max_tokens: 5, stream: true, stream_options: { include_usage: true } })) {
  out.completionStream.text += e.choices[0]?.text ?? "";
  out.completionStream.usage = e.usage ?? out.completionStream.usage;
  out.completionStream.events++;
}
out.chatStream = { text: "" };
for await (const e of await client.chat.completions.create({ model, messages, max_tokens: 5, stream: true, stream_options: { include_usage: true } })) {
  out.chatStream.text += e.choices[0]?.delta?.content ?? "";
  out.chatStream.reason = e.choices[0]?.finish_reason ?? out.chatStream.reason;
  out.chatStream.usage = e.usage ?? out.chatStream.usage;
}
const runner = client.chat.completions.stream({ model, messages, max_tokens: 6 });
out.helper = (await runner.finalMessage()).content;

const stopped = await client.chat.completions.create({ model, messages, max_tokens: 500, stream: true });
let taken = 0;
for await (const _ of stopped) if (++taken === 3) break; // which aborts the request
out.aborted = taken;

out.unknownModel = await refused(() => client.chat.completions.create({ model: "no-such-model", messages }));
out.tooLong = await refused(() => client.completions.create({ model, prompt: "a", max_tokens: 10_000_000 }));
out.wrongType = await refused(() => client.completions.create({ model, prompt: "a", max_tokens: "many" }));
out.lost = await refused(async () => {
  for await (const _ of await client.completions.create({ model, prompt: "a", max_tokens: 100_000, stream: true, ignore_eos: true })) {
    if (taken++ === 5) console.log("streaming"); // the test ends the server now
  }
});
console.log(JSON.stringify(out));
