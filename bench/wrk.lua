-- wrk -s wrk.lua SERVER -- TOKEN WORKLOAD RUN
local pad = string.rep("x", 600)
local threads = 0
function setup(thread) thread:set("id", threads); threads = threads + 1 end
function init(args)
  token, workload, n = args[1], args[2], 0
  run = args[3] or "0"
  headers = { ["Authorization"] = "Bearer " .. token, ["Content-Type"] = "application/json", ["User-Agent"] = "bench/1" }
end
local function sa(k) return "/api/v1/namespaces/bench-" .. (k % 100) .. "/serviceaccounts/sa-" .. k end
function request()
  n = n + 1
  local k = (n * 7919 + id * 1000) % 10000
  if workload == "get-quorum" then return wrk.format("GET", sa(k), headers) end
  if workload == "get-rv0" then return wrk.format("GET", sa(k) .. "?resourceVersion=0", headers) end
  if workload == "list-ns100" then return wrk.format("GET", "/api/v1/namespaces/bench-" .. (k % 100) .. "/serviceaccounts", headers) end
  if workload == "list-label" then return wrk.format("GET", "/api/v1/serviceaccounts?labelSelector=idx%3D" .. k, headers) end
  if workload == "list-all" then return wrk.format("GET", "/api/v1/serviceaccounts?labelSelector=app", headers) end
  if workload == "list-page500" then return wrk.format("GET", "/api/v1/serviceaccounts?limit=500", headers) end
  if workload == "create-sa" then
    return wrk.format("POST", "/api/v1/namespaces/bench-new/serviceaccounts", headers,
      '{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"generateName":"cr-","labels":{"bench":"new"},"annotations":{"example.com/pad":"' .. pad .. '"}},"secrets":[{"name":"s"}]}')
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
      '{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"sa-' .. k .. '","annotations":{"example.com/tick":"' .. run .. '-' .. n .. '"}}}')
  end
end
function done(summary, latency, requests)
  local bad = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  io.write(string.format("RESULT %f %f %f %d %d\n", summary.requests / (summary.duration / 1e6), latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, bad, summary.bytes))
end
