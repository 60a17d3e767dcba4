-- wrk -s overload.lua SERVER -- TOKEN WORKLOAD DELAY_MS: requests of one user, each connection with pauses of that length on
-- average, so that connections and pauses set the rate.
local pad = string.rep("x", 600)
function init(args)
  token, workload, pause = args[1], args[2], tonumber(args[3])
  headers = { ["Authorization"] = "Bearer " .. token, ["Content-Type"] = "application/json" }
  math.randomseed(os.time())
end
function delay() return math.floor(math.random() * 2 * pause) end
function request()
  if workload == "list" then return wrk.format("GET", "/api/v1/namespaces/listed/configmaps", headers) end
  if workload == "event" then return event() end
  return wrk.format("POST", "/api/v1/namespaces/created/configmaps", headers,
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"c-"},"data":{"text":"' .. pad .. '"}}')
end
function event()
  return wrk.format("POST", "/api/v1/namespaces/flooded/events", headers,
    '{"apiVersion":"v1","kind":"Event","metadata":{"generateName":"e-"},"involvedObject":{"apiVersion":"v1","kind":"Pod","namespace":"flooded","name":"pod-'
      .. math.random(100) .. '"},"source":{"component":"bench"},"reason":"Flood","type":"Normal","message":"' .. pad .. '"}')
end
