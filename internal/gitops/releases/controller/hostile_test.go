// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"archive/tar"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
)

const chartYAML = "apiVersion: v2\nname: app\nversion: 1.0.0\n"

// hostile charts, with what the status says.
var hostile = map[string]struct {
	packed []byte
	want   string
}{
	"a path that leads out": {archived([]*tar.Header{file("app/Chart.yaml", chartYAML), file("app/../../x", "x")}, map[string]string{"app/Chart.yaml": chartYAML, "app/../../x": "x"}), "the archive is not a usable chart"},
	"an absolute path":      {archived([]*tar.Header{file("app/Chart.yaml", chartYAML), file("/etc/x", "x")}, map[string]string{"app/Chart.yaml": chartYAML, "/etc/x": "x"}), ""},
	"no archive":            {[]byte("hello"), "the archive is not a usable chart"},
	"no chart":              {archived([]*tar.Header{file("app/x", "x")}, map[string]string{"app/x": "x"}), "the archive is not a usable chart"},
	"a bomb":                {chart("1.0.0", map[string]string{"templates/x.yaml": strings.Repeat("#", 101<<20)}), "the archive is not a usable chart"},
	"a chart that lacks its dependencies": {chart("1.0.0", map[string]string{"Chart.yaml": chartYAML + "dependencies: [{name: other, version: 1.0.0, repository: \"https://x\"}]\n"}),
		"lacks dependencies in its directory charts/"},
	"a name that leads out": {chart("1.0.0", map[string]string{"Chart.yaml": "apiVersion: v2\nname: ../../x\nversion: 1.0.0\n"}), "chart"},
}

func file(name, content string) *tar.Header {
	return &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}
}

func TestHostileCharts(t *testing.T) {
	for sentence, c := range hostile {
		if c.want == "" {
			continue
		}
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			w.publish("1.0.0", c.packed)
			hr := w.release(nil)
			has(t, w.notReady(hr, helmv2.ArtifactFailedReason), c.want)
		})
	}
}

// hostileTemplates are templates, with what the status says.
var hostileTemplates = map[string]struct{ template, want string }{
	"one that calls itself":        {"{{ define \"x\" }}{{ include \"x\" . }}{{ end }}{{ include \"x\" . }}", "error calling include: template: app/templates/x.yaml"},
	"one that grows without limit": {"{{ $x := \"0123456789abcdef\" }}{{ range untilStep 0 60 1 }}{{ $x = print $x $x }}{{ end }}{{ $x }}", "the chart needs more than 1024 MiB of memory"},
	"one that never ends":          {"{{ range untilStep 0 100000 1 }}{{ range untilStep 0 100000 1 }}{{ end }}{{ end }}", "the chart needs more than 10s of the processor"},
	"one that reads the machine":   {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {x: {{ env \"HOME\" }}}", "function \"env\" not defined"},
	"one that makes no YAML":       {"a: b: c", "MalformedYAMLError"},
	"one that makes no object":     {"hello: world", "apiVersion"},
	"a kind that does not exist":   {"apiVersion: example.com/v1\nkind: Nothing\nmetadata: {name: x}\n", "unable to build kubernetes objects from release manifest"},
}

func TestHostileTemplates(t *testing.T) {
	for sentence, c := range hostileTemplates {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.patience = 10 * time.Minute // 45 s of a processor that others use
			w.publish("1.0.0", chart("1.0.0", map[string]string{"templates/x.yaml": c.template}))
			hr := w.release(nil)
			w.stalled(hr, "RetriesExceeded")
			has(t, w.notReady(hr, helmv2.InstallFailedReason), c.want)
		})
	}
}
