-- What wrk sends: a question, a text or a call of a tool, another one each time. wrk is given the token, and where to begin to count.
local number = 0
local things = { "bridge", "river", "parser", "deploy", "theme", "invoice", "garden", "kettle" }

function init(arguments)
  wrk.headers["Authorization"] = "Bearer " .. arguments[1]
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Accept"] = "application/json, text/event-stream"
  wrk.headers["MCP-Protocol-Version"] = "2025-11-25"
  wrk.method = "POST"
  number = tonumber(arguments[2])
end

function request()
  number = number + 1
  local thing = things[number % #things + 1]
  if wrk.path == "/mcp" then
    local call = '{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": '
      .. '{"name": "recall", "arguments": {"query": "which %s has number %d?"}}}'
    return wrk.format(nil, nil, nil, string.format(call, number, thing, number))
  end
  if wrk.path == "/v1/recall" then
    return wrk.format(nil, nil, nil, string.format('{"query": "which %s has number %d?"}', thing, number))
  end
  return wrk.format(nil, nil, nil, string.format('{"text": "The %s of today has number %d"}', thing, number))
end

-- A tool that fails is answered well as far as HTTP can tell.
function response(status, _, body)
  if wrk.path == "/mcp" and (status ~= 200 or not body:find('"isError":%s*false')) then
    io.stderr:write("failed: " .. body .. "\n")
    os.exit(1)
  end
end
