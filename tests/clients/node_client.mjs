// A Node client: of the first generation (mode "1"), or of the second in an era of its choice. It is told how to reach
// the server, by an address or a command, and in which modes. What it saw in each is printed as JSON.
const [modes, command, ...args] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${process.env.PERDURE_TOKEN}` };

async function talk(mode) {
  const first = mode === "1";
  const { Client } = await import(first ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
  const { StdioClientTransport } = await import(
    first ? "@modelcontextprotocol/sdk/client/stdio.js" : "@modelcontextprotocol/client/stdio"
  );
  const { StreamableHTTPClientTransport } = await import(
    first ? "@modelcontextprotocol/sdk/client/streamableHttp.js" : "@modelcontextprotocol/client"
  );
  const negotiation = mode === "auto" || mode === "legacy" ? mode : { pin: mode };
  const client = new Client(
    { name: "node-client", version: "1" },
    first ? {} : { versionNegotiation: { mode: negotiation } },
  );
  await client.connect(
    command.startsWith("http")
      ? new StreamableHTTPClientTransport(new URL(command), { requestInit: { headers } })
      : new StdioClientTransport({ command, args, env: process.env }),
  );
  const call = (name, given) => client.callTool({ name, arguments: given });
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const stored = await call("remember", { text: "Alice prefers dark mode", tags: ["ui"] });
  const recalled = await call("recall", { query: "which mode does Alice prefer?" });
  const failed = await call("recall", {});
  const read = await client.readResource({ uri: `perdure://memory/${stored.structuredContent.number}` });
  const prompt = await client.getPrompt({ name: "recall", arguments: { topic: "dark mode" } });
  await client.close();
  return {
    tools,
    stored: stored.structuredContent,
    recalled: recalled.structuredContent,
    text: recalled.content[0].text,
    failed: [failed.isError, failed.content[0].text],
    resource: read.contents[0].text,
    prompt: prompt.messages[0].content.text,
  };
}

const saw = {};
for (const mode of modes.split(",")) saw[mode] = await talk(mode);
console.log(JSON.stringify(saw));
