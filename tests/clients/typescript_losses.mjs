// The TypeScript client at a server that loses answers, is crowded, sends on, and breaks off. What happened is printed.
import { createServer } from "node:http";
import { Perdure } from "perdure-client";

let asked = [];
let handle;
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    asked.push(request);
    handle(asked.length, request, response);
  });
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}`;
const memory = new Perdure({ url, token: "perdure_secret" });

const says = (response, document, status = 200, headers = {}) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(document));
const losing = (answer) => (count, request, response) =>
  count === 1 ? request.socket.destroy() : says(response, { answer });

async function tries(what, call) {
  asked = [];
  handle = what;
  const told = await call().then(({ answer }) => ({ answer }), ({ code, remedy, retryable }) => ({ code, remedy, retryable }));
  return { sent: asked.length, ...told };
}

const saw = {};
saw.recall = await tries(losing("found"), () => memory.recall({ query: "?" }));
saw.remember = await tries(losing("stored"), () => memory.remember({ text: "x" }));
saw.remember.keys = new Set(asked.map((request) => request.headers["idempotency-key"])).size;
saw.update = await tries(losing("changed"), () => memory.update(7, { text: "x" }));
saw.crowded = await tries(
  (count, _, response) =>
    count === 1 ? says(response, { code: "rate_limited" }, 429, { "retry-after-ms": "20" }) : says(response, { answer: "found" }),
  () => memory.recall({ query: "?" }),
);

let followed = 0;
const elsewhere = createServer((_, response) => { followed += 1; response.end("{}"); });
await new Promise((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
const location = `http://127.0.0.1:${elsewhere.address().port}/`;
const sentOn = await tries((_, __, response) => says(response, {}, 307, { location }), () => memory.whoami());
saw.redirect = { sent: sentOn.sent, code: sentOn.code, followed };
elsewhere.close();

asked = [];
handle = (count, request, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const event = `id: ${6 + count}\nevent: insert\ndata: {"number": 1, "change": {"operation": "insert"}}\n\n`;
  response.write(event, () => { if (count === 1) response.end(); });
};
const stop = new AbortController();
const seen = [];
for await (const event of memory.events({}, { signal: stop.signal })) {
  seen.push(event.id);
  if (seen.length === 2) stop.abort();
}
saw.events = { seen, asked_after: asked.map((request) => new URL(request.url, url).searchParams.get("after")) };

try { new Perdure({ url: "http://memory.example.org" }); } catch (error) { saw.clear = error.code; }
server.closeAllConnections();
server.close();
console.log(JSON.stringify(saw));
