{{- define "cluster-apiserver.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "cluster-apiserver.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "cluster-apiserver.baseLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: {{ include "cluster-apiserver.name" . }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "cluster-apiserver.selectorLabels" -}}
app.kubernetes.io/name: {{ include "cluster-apiserver.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: apiserver
{{- end -}}

{{- define "cluster-apiserver.labels" -}}
{{ include "cluster-apiserver.baseLabels" . }}
{{ include "cluster-apiserver.selectorLabels" . }}
{{- end -}}

{{- define "cluster-apiserver.etcd.selectorLabels" -}}
app.kubernetes.io/name: {{ include "cluster-apiserver.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: etcd
{{- end -}}

{{- define "cluster-apiserver.storage.selectorLabels" -}}
app.kubernetes.io/name: {{ include "cluster-apiserver.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: storage-rewrite
{{- end -}}

{{- define "cluster-apiserver.etcd.labels" -}}
{{ include "cluster-apiserver.baseLabels" . }}
{{ include "cluster-apiserver.etcd.selectorLabels" . }}
{{- end -}}

{{- define "cluster-apiserver.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "cluster-apiserver.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "cluster-apiserver.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{/* The host name of the Service in the cluster. */}}
{{- define "cluster-apiserver.host" -}}
{{ include "cluster-apiserver.fullname" . }}.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "cluster-apiserver.url" -}}
https://{{ include "cluster-apiserver.host" . }}{{ if ne (int .Values.service.port) 443 }}:{{ int .Values.service.port }}{{ end }}
{{- end -}}

{{/* Names under which clients reach the server, as a list in JSON. */}}
{{- define "cluster-apiserver.dnsNames" -}}
{{- $name := include "cluster-apiserver.fullname" . -}}
{{- $names := list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) "localhost" -}}
{{- if .Values.ingress.enabled -}}{{- $names = concat $names .Values.ingress.hosts -}}{{- end -}}
{{- if .Values.gateway.enabled -}}{{- $names = concat $names .Values.gateway.hostnames -}}{{- end -}}
{{- concat $names .Values.tls.extraDnsNames | uniq | toJson -}}
{{- end -}}

{{- define "cluster-apiserver.tlsSecret" -}}
{{- if eq .Values.tls.source "existingSecret" -}}
{{ .Values.tls.existingSecret }}
{{- else -}}
{{ include "cluster-apiserver.fullname" . }}-tls
{{- end -}}
{{- end -}}

{{- define "cluster-apiserver.tokensSecret" -}}
{{- if .Values.authentication.tokens.existingSecret -}}
{{ .Values.authentication.tokens.existingSecret }}
{{- else if .Values.authentication.bootstrapTokens.enabled -}}
{{ include "cluster-apiserver.fullname" . }}-tokens
{{- end -}}
{{- end -}}

{{- define "cluster-apiserver.monitoringTokenSecret" -}}
{{- if .Values.metrics.serviceMonitor.tokenSecret -}}
{{ .Values.metrics.serviceMonitor.tokenSecret }}
{{- else if .Values.authentication.bootstrapTokens.enabled -}}
{{ include "cluster-apiserver.fullname" . }}-tokens
{{- end -}}
{{- end -}}

{{- define "cluster-apiserver.signingKeySecret" -}}
{{- default (printf "%s-service-accounts" (include "cluster-apiserver.fullname" .)) .Values.serviceAccountTokens.existingSecret -}}
{{- end -}}

{{- define "cluster-apiserver.issuer" -}}
{{- default (include "cluster-apiserver.url" .) .Values.serviceAccountTokens.issuer -}}
{{- end -}}

{{/* Host name of one member of the bundled etcd: (dict "root" $ "member" 0). */}}
{{- define "cluster-apiserver.etcd.host" -}}
{{- $name := printf "%s-etcd" (include "cluster-apiserver.fullname" .root) -}}
{{ printf "%s-%d.%s.%s.svc" $name (int .member) $name .root.Release.Namespace }}
{{- end -}}

{{- define "cluster-apiserver.etcdServers" -}}
{{- if .Values.etcd.bundled.enabled -}}
{{- $urls := list -}}
{{- range $member := until (int .Values.etcd.bundled.replicas) -}}
{{- $urls = append $urls (printf "https://%s:2379" (include "cluster-apiserver.etcd.host" (dict "root" $ "member" $member))) -}}
{{- end -}}
{{- join "," $urls -}}
{{- else -}}
{{- join "," .Values.etcd.endpoints -}}
{{- end -}}
{{- end -}}

{{- define "cluster-apiserver.etcdSecret" -}}
{{- if .Values.etcd.bundled.enabled -}}
{{ include "cluster-apiserver.fullname" . }}-etcd-client
{{- else -}}
{{ .Values.etcd.tls.existingSecret }}
{{- end -}}
{{- end -}}

{{/* As the flag expects them. */}}
{{- define "cluster-apiserver.etcdOverrides" -}}
{{- $overrides := list -}}
{{- range $kind, $urls := .Values.etcd.overrides -}}
{{- $overrides = append $overrides (printf "%s#%s" $kind (join ";" $urls)) -}}
{{- end -}}
{{- join "," $overrides -}}
{{- end -}}

{{/* "true" if client certificates are accepted, which requires that TLS is passed through to the server. */}}
{{- define "cluster-apiserver.acceptsClientCertificates" -}}
{{- $client := .Values.authentication.clientCA -}}
{{- if or $client.existingConfigMap $client.existingSecret .Values.authentication.requestHeader.existingConfigMap -}}true{{- end -}}
{{- end -}}

{{- define "cluster-apiserver.ingressPassthrough" -}}
{{- $wanted := toString .Values.ingress.tlsPassthrough -}}
{{- if or (eq $wanted "true") (and (eq $wanted "auto") (include "cluster-apiserver.acceptsClientCertificates" .)) -}}true{{- end -}}
{{- end -}}

{{- define "cluster-apiserver.route" -}}
{{- if ne .Values.gateway.route "auto" -}}
{{ .Values.gateway.route }}
{{- else if include "cluster-apiserver.acceptsClientCertificates" . -}}
TLSRoute
{{- else -}}
HTTPRoute
{{- end -}}
{{- end -}}

{{/* A configuration file of the server: (dict "kind" "AuthenticationConfiguration" "fields" …). */}}
{{- define "cluster-apiserver.configuration" -}}
{{- $version := default "apiserver.config.platform.io/v1" .apiVersion -}}
{{- toYaml (merge (deepCopy .fields) (dict "apiVersion" $version "kind" .kind)) -}}
{{- end -}}

{{/*
Configuration files without secrets, as a map of file name to YAML content. "restart" has the files that the server
reads only at startup; it reloads all others.
*/}}
{{- define "cluster-apiserver.files.reloaded" -}}
{{- with .Values.authentication.configuration }}
authentication.yaml: {{ include "cluster-apiserver.configuration" (dict "kind" "AuthenticationConfiguration" "fields" .) | toJson }}
{{- end }}
{{- with .Values.authorization.configuration }}
authorization.yaml: {{ include "cluster-apiserver.configuration" (dict "kind" "AuthorizationConfiguration" "fields" .) | toJson }}
{{- end }}
{{- with .Values.authorization.abacPolicies }}
abac-policies.jsonl: {{ . | toJson }}
{{- end }}
{{- with .Values.audit.policy }}
audit-policy.yaml: {{ include "cluster-apiserver.configuration" (dict "apiVersion" "audit.k8s.io/v1" "kind" "Policy" "fields" .) | toJson }}
{{- end }}
{{- end -}}

{{- define "cluster-apiserver.files.restart" -}}
{{- with .Values.admission.configuration }}
admission.yaml: {{ include "cluster-apiserver.configuration" (dict "kind" "AdmissionConfiguration" "fields" .) | toJson }}
{{- end }}
{{- with .Values.authentication.egressSelector }}
egress-selector.yaml: {{ include "cluster-apiserver.configuration" (dict "apiVersion" "apiserver.k8s.io/v1beta1" "kind" "EgressSelectorConfiguration" "fields" .) | toJson }}
{{- end }}
{{- with .Values.tracing.configuration }}
tracing.yaml: {{ include "cluster-apiserver.configuration" (dict "kind" "TracingConfiguration" "fields" .) | toJson }}
{{- end }}
{{- end -}}

{{/* Validates combinations of values; values.schema.json validates each value. */}}
{{- define "cluster-apiserver.validate" -}}
{{- $faults := list -}}
{{- $etcd := .Values.etcd -}}
{{- if and (not $etcd.bundled.enabled) (not $etcd.endpoints) -}}
{{- $faults = append $faults "etcd.endpoints: required; for a trial without external etcd, set etcd.bundled.enabled=true" -}}
{{- end -}}
{{- if and $etcd.bundled.enabled $etcd.endpoints -}}
{{- $faults = append $faults "etcd.endpoints and etcd.bundled.enabled exclude each other" -}}
{{- end -}}
{{- if and (eq .Values.tls.source "existingSecret") (not .Values.tls.existingSecret) -}}
{{- $faults = append $faults "tls.existingSecret: required by tls.source=existingSecret" -}}
{{- end -}}
{{- if and (eq .Values.tls.source "certManager") (not .Values.tls.certManager.issuerRef.name) -}}
{{- $faults = append $faults "tls.certManager.issuerRef.name: required by tls.source=certManager" -}}
{{- end -}}
{{- if and .Values.authentication.tokens.existingSecret .Values.authentication.bootstrapTokens.enabled -}}
{{- $faults = append $faults "authentication.tokens.existingSecret and authentication.bootstrapTokens.enabled exclude each other" -}}
{{- end -}}
{{- if and .Values.authentication.clientCA.existingConfigMap .Values.authentication.clientCA.existingSecret -}}
{{- $faults = append $faults "authentication.clientCA: give existingConfigMap or existingSecret, not both" -}}
{{- end -}}
{{- if and .Values.serviceAccountTokens.acceptedKeys (not .Values.serviceAccountTokens.existingSecret) -}}
{{- $faults = append $faults "serviceAccountTokens.acceptedKeys: requires serviceAccountTokens.existingSecret" -}}
{{- end -}}
{{- /* Probes have no credential. Without an anonymous configuration, the server accepts anonymous requests for these paths. */ -}}
{{- $anonymous := .Values.authentication.configuration.anonymous -}}
{{- if not (kindIs "invalid" $anonymous) -}}
{{- $open := list -}}
{{- range $anonymous.conditions -}}{{- $open = append $open .path -}}{{- end -}}
{{- if not (and $anonymous.enabled (or (not $open) (and (has "/livez" $open) (has "/readyz" $open)))) -}}
{{- $faults = append $faults "authentication.configuration.anonymous: must be enabled for /livez and /readyz, which probes request without a credential" -}}
{{- end -}}
{{- end -}}
{{- if and (hasKey .Values.flags "anonymous-auth") (eq (toString (index .Values.flags "anonymous-auth")) "false") -}}
{{- $faults = append $faults "flags.anonymous-auth: must not be false, because probes have no credential; leave it out, and only the health paths are open" -}}
{{- end -}}
{{- $paths := index .Values.flags "authorization-always-allow-paths" -}}
{{- if not (or (kindIs "invalid" $paths) (and (has "/livez" $paths) (has "/readyz" $paths))) -}}
{{- $faults = append $faults "flags.authorization-always-allow-paths: must have /livez and /readyz, which probes request without a credential" -}}
{{- end -}}
{{- if .Values.ingress.enabled -}}
{{- if not .Values.ingress.hosts -}}
{{- $faults = append $faults "ingress.hosts: required by ingress.enabled" -}}
{{- end -}}
{{- if and (include "cluster-apiserver.ingressPassthrough" .) (has .Values.ingress.controller (list "traefik" "contour")) -}}
{{- $faults = append $faults (printf "ingress.controller: %s passes no TLS through for an Ingress; use gateway with a TLSRoute, or ingress.tlsPassthrough=false if client certificates may end there" .Values.ingress.controller) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.gateway.enabled (not .Values.gateway.parentRefs) -}}
{{- $faults = append $faults "gateway.parentRefs: required by gateway.enabled" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not (include "cluster-apiserver.monitoringTokenSecret" .)) -}}
{{- $faults = append $faults "metrics.serviceMonitor.tokenSecret: required, because metrics are served to members of system:monitoring" -}}
{{- end -}}
{{- if and .Values.audit.webhook.existingSecret (not .Values.audit.policy) -}}
{{- $faults = append $faults "audit.policy: required by audit.webhook.existingSecret" -}}
{{- end -}}
{{- if and .Values.metrics.prometheusRule.enabled (not (.Files.Glob "monitoring/prometheus/*.yaml")) -}}
{{- $faults = append $faults "metrics.prometheusRule.enabled: this chart was packaged without rules" -}}
{{- end -}}
{{- if and .Values.metrics.dashboards.enabled (not (.Files.Glob "monitoring/grafana/*.json")) -}}
{{- $faults = append $faults "metrics.dashboards.enabled: this chart was packaged without dashboards" -}}
{{- end -}}
{{- if $faults -}}
{{- fail (printf "\n  %s" (join "\n  " $faults)) -}}
{{- end -}}
{{- end -}}

{{/* Three quarters of the memory limit in MiB: buffers, TLS and code are outside V8's heap. */}}
{{- define "cluster-apiserver.heapLimitMiB" -}}
{{- if .Values.heapLimitMiB -}}
{{ int .Values.heapLimitMiB }}
{{- else -}}
{{- $limit := toString (dig "limits" "memory" "" .Values.resources) -}}
{{- if regexMatch "^[0-9]+Gi$" $limit -}}
{{ div (mul (trimSuffix "Gi" $limit | int) 1024 3) 4 }}
{{- else if regexMatch "^[0-9]+Mi$" $limit -}}
{{ div (mul (trimSuffix "Mi" $limit | int) 3) 4 }}
{{- end -}}
{{- end -}}
{{- end -}}
