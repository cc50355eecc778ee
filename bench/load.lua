-- What wrk sends: a question or a text, another one each time. wrk is given the token, and where to begin to count.
local number = 0
local things = { "bridge", "river", "parser", "deploy", "theme", "invoice", "garden", "kettle" }

function init(arguments)
  wrk.headers["Authorization"] = "Bearer " .. arguments[1]
  wrk.headers["Content-Type"] = "application/json"
  wrk.method = "POST"
  number = tonumber(arguments[2])
end

function request()
  number = number + 1
  local thing = things[number % #things + 1]
  if wrk.path == "/v1/recall" then
    return wrk.format(nil, nil, nil, string.format('{"query": "which %s has number %d?"}', thing, number))
  end
  return wrk.format(nil, nil, nil, string.format('{"text": "The %s of today has number %d"}', thing, number))
end
