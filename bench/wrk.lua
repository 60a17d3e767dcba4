-- wrk -s wrk.lua SERVER -- TOKEN WORKLOAD RUN [ROOT API_VERSION KIND PLURAL]
local pad = string.rep("x", 600)
local threads = 0
function setup(thread) thread:set("id", threads); threads = threads + 1 end
function init(args)
  token, workload, n = args[1], args[2], 0
  run = args[3] or "0"
  root, apiVersion = args[4] or "/api/v1", args[5] or "v1"
  kind, plural = args[6] or "ServiceAccount", args[7] or "serviceaccounts"
  headers = { ["Authorization"] = "Bearer " .. token, ["Content-Type"] = "application/json", ["User-Agent"] = "bench/1" }
end
local function sa(k) return root .. "/namespaces/bench-" .. (k % 100) .. "/" .. plural .. "/sa-" .. k end
function request()
  n = n + 1
  local k = (n * 7919 + id * 1000) % 10000
  if workload == "get-quorum" then return wrk.format("GET", sa(k), headers) end
  if workload == "get-rv0" then return wrk.format("GET", sa(k) .. "?resourceVersion=0", headers) end
  if workload == "list-ns100" then return wrk.format("GET", root .. "/namespaces/bench-" .. (k % 100) .. "/" .. plural, headers) end
  if workload == "list-label" then return wrk.format("GET", root .. "/" .. plural .. "?labelSelector=idx%3D" .. k, headers) end
  if workload == "list-all" then return wrk.format("GET", root .. "/" .. plural .. "?labelSelector=app", headers) end
  if workload == "list-page500" then return wrk.format("GET", root .. "/" .. plural .. "?limit=500", headers) end
  if workload == "create-sa" then
    return wrk.format("POST", root .. "/namespaces/bench-new/" .. plural, headers,
      '{"apiVersion":"' .. apiVersion .. '","kind":"' .. kind .. '","metadata":{"generateName":"cr-","labels":{"bench":"new"},"annotations":{"example.com/pad":"' .. pad .. '"}},"secrets":[{"name":"s"}]}')
  end
  if workload == "create-event" then
    return wrk.format("POST", "/api/v1/namespaces/bench-0/events", headers,
      '{"apiVersion":"v1","kind":"Event","metadata":{"generateName":"ev-"},"involvedObject":{"kind":"Pod","namespace":"bench-0","name":"p","uid":"a","apiVersion":"v1"},"reason":"Started","message":"Started a container, with a message of about the usual length","source":{"component":"agent","host":"n1"},"firstTimestamp":"2026-01-01T00:00:00Z","lastTimestamp":"2026-01-01T00:00:00Z","count":1,"type":"Normal"}')
  end
  if workload == "patch-merge" then
    headers["Content-Type"] = "application/merge-patch+json"
    return wrk.format("PATCH", sa(k), headers, '{"metadata":{"annotations":{"example.com/tick":"' .. run .. '-' .. n .. '"}}}')
  end
  if workload == "patch-apply" then
    headers["Content-Type"] = "application/apply-patch+yaml"
    return wrk.format("PATCH", sa(k) .. "?fieldManager=bench&force=true", headers,
      '{"apiVersion":"' .. apiVersion .. '","kind":"' .. kind .. '","metadata":{"name":"sa-' .. k .. '","annotations":{"example.com/tick":"' .. run .. '-' .. n .. '"}}}')
  end
end
function done(summary, latency, requests)
  local bad = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  io.write(string.format("RESULT %f %f %f %d %d\n", summary.requests / (summary.duration / 1e6), latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, bad, summary.bytes))
end
