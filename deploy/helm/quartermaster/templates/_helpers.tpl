{{- define "quartermaster.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "quartermaster.labels" -}}
app.kubernetes.io/name: quartermaster
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "quartermaster.selector" -}}
app.kubernetes.io/name: quartermaster
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "quartermaster.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "quartermaster.configuration" -}}
{{- $acting := dict "mode" .Values.enforcer.mode "namespace" .Release.Namespace "listen" "0.0.0.0:9501" }}
{{- $collector := dict "listen" "0.0.0.0:9500" "spool" (dict "path" "/var/spool/quartermaster") }}
{{- $own := dict "collector" $collector "policy" (dict "acting" $acting) }}
{{- toYaml (mergeOverwrite (deepCopy .Values.configuration) $own) }}
{{- end }}

{{- define "quartermaster.claim" -}}
{{ .Values.data.existingClaim | default (printf "%s-data" (include "quartermaster.name" .)) }}
{{- end }}

{{- define "quartermaster.enforcerCommand" -}}
{{- if eq .Values.enforcer.mode "shadow" -}}
["enforce", "--watch", "--listen", "0.0.0.0:9501"]
{{- else if eq .Values.enforcer.mode "plan" -}}
["enforce", "--plan"]
{{- else -}}
["enforce", "--act", "--yes"]
{{- end }}
{{- end }}

{{- define "quartermaster.pod" -}}
{{- /* The pod of a part: .part, .account, .token, .command, .probe (port or empty), .ready (path), .resources, .spool, .root */ -}}
metadata:
  labels:
    {{- include "quartermaster.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .part }}
  annotations:
    checksum/configuration: {{ include "quartermaster.configuration" .root | sha256sum }}
spec:
  serviceAccountName: {{ include "quartermaster.name" .root }}-{{ .account }}
  automountServiceAccountToken: {{ .token }}
  terminationGracePeriodSeconds: 90
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- with .root.Values.image.pullSecrets }}
  imagePullSecrets: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- if eq .part "reports" }}
  restartPolicy: Never
  {{- end }}
  containers:
    - name: {{ .part }}
      image: {{ include "quartermaster.image" .root }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: {{ .command }}
      env:
        - {name: QUARTERMASTER_CONFIG, value: /etc/quartermaster/quartermaster.yaml}
      envFrom:
        - secretRef: {name: {{ .root.Values.secret }}}
      {{- if .port }}
      ports:
        - {name: metrics, containerPort: {{ .port }}}
      {{- end }}
      {{- if eq .part "dashboards" }}
      {{- $asked := dict "exec" (dict "command" (list "python" "-S" "-c" "from urllib.request import urlopen; urlopen('http://127.0.0.1:8501/_stcore/health', timeout=3)")) }}
      startupProbe: {{ mergeOverwrite (deepCopy $asked) (dict "periodSeconds" 5 "timeoutSeconds" 5 "failureThreshold" 36) | toJson }}
      livenessProbe: {{ mergeOverwrite (deepCopy $asked) (dict "periodSeconds" 20 "timeoutSeconds" 5 "failureThreshold" 3) | toJson }}
      readinessProbe: {{ mergeOverwrite (deepCopy $asked) (dict "periodSeconds" 10 "timeoutSeconds" 5) | toJson }}
      {{- else if .port }}
      startupProbe:
        httpGet: {path: {{ .live }}, port: metrics}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 36
      livenessProbe:
        httpGet: {path: {{ .live }}, port: metrics}
        periodSeconds: 20
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        httpGet: {path: {{ .ready }}, port: metrics}
        periodSeconds: 10
        timeoutSeconds: 5
      {{- end }}
      resources: {{ toYaml .resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: configuration, mountPath: /etc/quartermaster, readOnly: true}
        - {name: data, mountPath: /var/lib/quartermaster}
        - {name: tmp, mountPath: /tmp}
        {{- if .spool }}
        - {name: spool, mountPath: /var/spool/quartermaster}
        {{- end }}
  volumes:
    - name: configuration
      configMap: {name: {{ include "quartermaster.name" .root }}}
    - name: data
      persistentVolumeClaim: {claimName: {{ include "quartermaster.claim" .root }}}
    - name: tmp
      emptyDir: {sizeLimit: 2Gi}
{{- end }}
