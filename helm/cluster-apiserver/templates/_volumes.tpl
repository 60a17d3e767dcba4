{{/*
Volumes of the server: a YAML map of the directory below /etc/cluster-apiserver to the source of a projected volume.
A projected volume changes atomically through a symbolic link, and the server watches file contents.
*/}}
{{- define "cluster-apiserver.sources" -}}
tls:
  secret:
    name: {{ include "cluster-apiserver.tlsSecret" . }}
{{- with include "cluster-apiserver.etcdSecret" . }}
etcd:
  secret:
    name: {{ . }}
{{- end }}
{{- with .Values.encryption }}
{{- if .existingSecret }}
encryption:
  secret:
    name: {{ .existingSecret }}
    items:
      - key: {{ .key }}
        path: {{ .key }}
{{- end }}
{{- end }}
{{- with .Values.authentication.clientCA }}
{{- if .existingSecret }}
client-ca:
  secret:
    name: {{ .existingSecret }}
    items:
      - key: {{ .key }}
        path: {{ .key }}
{{- else if .existingConfigMap }}
client-ca:
  configMap:
    name: {{ .existingConfigMap }}
    items:
      - key: {{ .key }}
        path: {{ .key }}
{{- end }}
{{- end }}
{{- with .Values.authentication.requestHeader }}
{{- if .existingConfigMap }}
requestheader-ca:
  configMap:
    name: {{ .existingConfigMap }}
    items:
      - key: {{ .key }}
        path: {{ .key }}
{{- end }}
{{- end }}
{{- with include "cluster-apiserver.tokensSecret" . }}
tokens:
  secret:
    name: {{ . }}
    items:
      {{- $key := ternary $.Values.authentication.tokens.key "tokens.csv" (ne $.Values.authentication.tokens.existingSecret "") }}
      - key: {{ $key }}
        path: {{ $key }}
{{- end }}
{{- with .Values.authentication.webhook.existingSecret }}
token-webhook:
  secret:
    name: {{ . }}
{{- end }}
{{- if .Values.serviceAccountTokens.enabled }}
service-accounts:
  secret:
    name: {{ include "cluster-apiserver.signingKeySecret" . }}
{{- end }}
{{- with .Values.authorization.connectionsSecret }}
authorization-connections:
  secret:
    name: {{ . }}
{{- end }}
{{- with .Values.audit.webhook.existingSecret }}
audit-webhook:
  secret:
    name: {{ . }}
{{- end }}
{{- if .Values.admission.manifests }}
admission-manifests:
  configMap:
    name: {{ include "cluster-apiserver.fullname" . }}-admission-manifests
{{- end }}
{{- if or (include "cluster-apiserver.files.reloaded" .) (include "cluster-apiserver.files.restart" .) }}
config:
  configMap:
    name: {{ include "cluster-apiserver.fullname" . }}-config
{{- end }}
{{- end -}}
