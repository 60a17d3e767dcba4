{{/* Mount paths of files. */}}
{{- define "cluster-apiserver.directory" -}}/etc/cluster-apiserver{{- end -}}

{{/* Flags derived from values, as a JSON map of name to value. */}}
{{- define "cluster-apiserver.ownFlags" -}}
{{- $directory := include "cluster-apiserver.directory" . -}}
{{- $flags := dict
  "bind-address" .Values.bindAddress
  "secure-port" .Values.containerPort
  "tls-cert-file" (printf "%s/tls/tls.crt" $directory)
  "tls-private-key-file" (printf "%s/tls/tls.key" $directory)
  "etcd-servers" (include "cluster-apiserver.etcdServers" .)
  "etcd-prefix" .Values.etcd.prefix
  "shutdown-delay-duration" (printf "%ds" (int .Values.shutdown.delaySeconds))
  "request-timeout" (printf "%ds" (int .Values.requestTimeoutSeconds))
-}}
{{- if eq .Values.tls.source "generated" -}}{{- $_ := set $flags "root-ca-file" (printf "%s/tls/ca.crt" $directory) -}}{{- end -}}
{{- if .Values.etcd.overrides -}}{{- $_ := set $flags "etcd-servers-overrides" (include "cluster-apiserver.etcdOverrides" .) -}}{{- end -}}
{{- if include "cluster-apiserver.etcdSecret" . -}}
{{- $tls := ternary (dict "caKey" "ca.crt" "certKey" "tls.crt" "keyKey" "tls.key") .Values.etcd.tls .Values.etcd.bundled.enabled -}}
{{- if $tls.caKey -}}{{- $_ := set $flags "etcd-cafile" (printf "%s/etcd/%s" $directory $tls.caKey) -}}{{- end -}}
{{- if $tls.certKey -}}
{{- $_ := set $flags "etcd-certfile" (printf "%s/etcd/%s" $directory $tls.certKey) -}}
{{- $_ := set $flags "etcd-keyfile" (printf "%s/etcd/%s" $directory $tls.keyKey) -}}
{{- end -}}
{{- end -}}
{{- if .Values.encryption.existingSecret -}}
{{- $_ := set $flags "encryption-provider-config" (printf "%s/encryption/%s" $directory .Values.encryption.key) -}}
{{- $_ := set $flags "encryption-provider-config-automatic-reload" true -}}
{{- end -}}
{{- with .Values.authentication -}}
{{- if .configuration -}}{{- $_ := set $flags "authentication-config" (printf "%s/config/authentication.yaml" $directory) -}}{{- end -}}
{{- if .egressSelector -}}{{- $_ := set $flags "egress-selector-config-file" (printf "%s/config/egress-selector.yaml" $directory) -}}{{- end -}}
{{- if or .clientCA.existingConfigMap .clientCA.existingSecret -}}{{- $_ := set $flags "client-ca-file" (printf "%s/client-ca/%s" $directory .clientCA.key) -}}{{- end -}}
{{- if .requestHeader.existingConfigMap -}}
{{- $_ := set $flags "requestheader-client-ca-file" (printf "%s/requestheader-ca/%s" $directory .requestHeader.key) -}}
{{- if .requestHeader.allowedNames -}}{{- $_ := set $flags "requestheader-allowed-names" .requestHeader.allowedNames -}}{{- end -}}
{{- end -}}
{{- if .webhook.existingSecret -}}
{{- $_ := set $flags "authentication-token-webhook-config-file" (printf "%s/token-webhook/%s" $directory .webhook.key) -}}
{{- $_ := set $flags "authentication-token-webhook-version" .webhook.version -}}
{{- $_ := set $flags "authentication-token-webhook-cache-ttl" .webhook.cacheTTL -}}
{{- end -}}
{{- end -}}
{{- if .Values.authentication.tokens.existingSecret -}}
{{- $_ := set $flags "token-auth-file" (printf "%s/tokens/%s" $directory .Values.authentication.tokens.key) -}}
{{- else if .Values.authentication.bootstrapTokens.enabled -}}
{{- $_ := set $flags "token-auth-file" (printf "%s/tokens/tokens.csv" $directory) -}}
{{- end -}}
{{- with .Values.serviceAccountTokens -}}
{{- if .enabled -}}
{{- $_ := set $flags "service-account-issuer" (list (include "cluster-apiserver.issuer" $)) -}}
{{- $_ := set $flags "service-account-signing-key-file" (printf "%s/service-accounts/%s" $directory .key) -}}
{{- $_ := set $flags "service-account-max-token-expiration" .maxExpiration -}}
{{- $keys := list -}}
{{- range .acceptedKeys -}}{{- $keys = append $keys (printf "%s/service-accounts/%s" $directory .) -}}{{- end -}}
{{- if $keys -}}{{- $_ := set $flags "service-account-key-file" $keys -}}{{- end -}}
{{- if .audiences -}}{{- $_ := set $flags "api-audiences" .audiences -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if .Values.authorization.configuration -}}{{- $_ := set $flags "authorization-config" (printf "%s/config/authorization.yaml" $directory) -}}{{- end -}}
{{- if .Values.authorization.abacPolicies -}}{{- $_ := set $flags "authorization-policy-file" (printf "%s/config/abac-policies.jsonl" $directory) -}}{{- end -}}
{{- if .Values.admission.configuration -}}{{- $_ := set $flags "admission-control-config-file" (printf "%s/config/admission.yaml" $directory) -}}{{- end -}}
{{- if .Values.admission.enablePlugins -}}{{- $_ := set $flags "enable-admission-plugins" .Values.admission.enablePlugins -}}{{- end -}}
{{- if .Values.admission.disablePlugins -}}{{- $_ := set $flags "disable-admission-plugins" .Values.admission.disablePlugins -}}{{- end -}}
{{- if .Values.tracing.configuration -}}{{- $_ := set $flags "tracing-config-file" (printf "%s/config/tracing.yaml" $directory) -}}{{- end -}}
{{- with .Values.audit -}}
{{- if .policy -}}
{{- $_ := set $flags "audit-policy-file" (printf "%s/config/audit-policy.yaml" $directory) -}}
{{- if .logPath -}}{{- $_ := set $flags "audit-log-path" .logPath -}}{{- end -}}
{{- end -}}
{{- if .webhook.existingSecret -}}{{- $_ := set $flags "audit-webhook-config-file" (printf "%s/audit-webhook/%s" $directory .webhook.key) -}}{{- end -}}
{{- end -}}
{{- toJson $flags -}}
{{- end -}}

{{/* A flag value as text. Numbers in values.yaml are floats, which would print as 1e+06. */}}
{{- define "cluster-apiserver.flagValue" -}}
{{- if and (kindIs "float64" .) (eq (float64 (int64 .)) .) -}}{{- int64 . -}}{{- else -}}{{- . -}}{{- end -}}
{{- end -}}

{{/* The flags of the container, one argument each, sorted. */}}
{{- define "cluster-apiserver.args" -}}
{{- $own := include "cluster-apiserver.ownFlags" . | fromJson -}}
{{- $flags := dict -}}
{{- range $name, $value := .Values.flags -}}
{{- if hasKey $own $name -}}{{- fail (printf "flags.%s: this flag follows from other values" $name) -}}{{- end -}}
{{- if not (kindIs "invalid" $value) -}}{{- $_ := set $flags $name $value -}}{{- end -}}
{{- end -}}
{{- range $name, $value := merge $flags $own }}
{{- if kindIs "map" $value }}
{{- range $key, $one := $value }}
- {{ printf "--%s=%s=%s" $name $key (include "cluster-apiserver.flagValue" $one) | toJson }}
{{- end }}
{{- else if kindIs "slice" $value }}
- {{ printf "--%s=%s" $name (join "," $value) | toJson }}
{{- else }}
- {{ printf "--%s=%s" $name (include "cluster-apiserver.flagValue" $value) | toJson }}
{{- end }}
{{- end }}
{{- end -}}
