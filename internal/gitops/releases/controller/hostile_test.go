// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"archive/tar"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/testkit/proctest"
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
	"charts in charts that grow without limit": {bombs(), "the chart needs more than"},
	"a name that leads out":                    {chart("1.0.0", map[string]string{"Chart.yaml": "apiVersion: v2\nname: ../../x\nversion: 1.0.0\n"}), "chart"},
}

// bombs is a chart whose dependencies are small archives of large files.
func bombs() []byte {
	one := string(chart("1.0.0", map[string]string{"templates/x.yaml": strings.Repeat("#", 90<<20)}))
	files := map[string]string{}
	for i := range 16 {
		files[fmt.Sprintf("charts/x%d.tgz", i)] = one
	}
	return chart("1.0.0", files)
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

// TestTemplatesSeeNothingElse: the machine's files, its network and what the service account may not read.
func TestTemplatesSeeNothingElse(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	other.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "password"}, Data: map[string][]byte{"password": []byte("hunter2")}})
	link := &tar.Header{Typeflag: tar.TypeSymlink, Name: "app/passwd", Linkname: "/etc/passwd", Mode: 0o644}
	template := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata:\n  file: {{ .Files.Get \"passwd\" | quote }}\n  up: {{ .Files.Get \"../../../etc/passwd\" | quote }}\n  host: {{ getHostByName \"localhost\" | quote }}\n  greeting: hello\n"
	w.publish("1.0.0", archived([]*tar.Header{file("app/Chart.yaml", chartYAML), link, file("app/templates/x.yaml", template)}, map[string]string{"app/Chart.yaml": chartYAML, "app/templates/x.yaml": template}))
	hr := w.release(nil)
	w.ready(hr)
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "settings"}}
	w.read(made)
	if made.Data["file"]+made.Data["up"]+made.Data["host"] != "" {
		t.Errorf("the templates read %v", made.Data)
	}
	w.publish("1.0.1", chart("1.0.1", map[string]string{"templates/x.yaml": "{{ $s := lookup \"v1\" \"Secret\" \"" + other.namespace + "\" \"password\" }}{{ fail (toString $s) }}"}))
	message := w.notReady(hr, helmv2.UpgradeFailedReason)
	has(t, message, "forbidden")
	lacks(t, message, "hunter2", "aHVudGVyMg")
}

func TestHostileValues(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'l'; c++ {
		bomb += fmt.Sprintf("%c: &%c [", c, c) + strings.Repeat(fmt.Sprintf("*%c,", c-1), 9) + "]\n"
	}
	for sentence, c := range map[string]struct{ text, path, want string }{
		"references that multiply": {bomb, "", "is not a YAML document with a map of values"},
		"a path that is deep":      {"x", strings.Repeat("a.", 120) + "b", "cannot be set at the path"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			w.publish("1.0.0", simple("1.0.0"))
			w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "values"}, Data: map[string]string{"values.yaml": c.text}})
			hr := w.release(func(hr *helmv2.HelmRelease) {
				hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "ConfigMap", Name: "values", TargetPath: c.path}}
			})
			has(t, w.notReady(hr, "ValuesError"), c.want)
		})
	}
}

// TestTheProgramIsConfinedAndMayDie: yuba-helm has neither an environment nor arguments, and a release whose
// program was killed is continued.
func TestTheProgramIsConfinedAndMayDie(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(func(hr *helmv2.HelmRelease) {
		hr.Spec.HealthCheckExprs, hr.Spec.Timeout, hr.Spec.Values = healthy, &metav1.Duration{Duration: time.Hour}, values(`{"greeting":"slow","secret":"hunter2"}`)
	})
	w.settingsAre("greeting", "slow")
	program := filepath.Join(running.dir, "yuba-helm")
	var found []proctest.Process
	w.eventually("the program runs", func() bool {
		found = proctest.Matching(func(p proctest.Process) bool { return strings.TrimRight(p.Line, "\x00") == program })
		return len(found) == 1
	}, func() string { return fmt.Sprint(found) })
	dir := fmt.Sprintf("/proc/%d/", found[0].PID)
	if environment, err := os.ReadFile(dir + "environ"); err != nil || len(environment) > 0 {
		t.Errorf("its environment is %q, %v", environment, err)
	}
	open, err := os.ReadDir(dir + "fd")
	w.must(err)
	for _, fd := range open {
		target, err := os.Readlink(dir + "fd/" + fd.Name())
		if err == nil && !strings.HasPrefix(target, "pipe:") && !strings.HasPrefix(target, "anon_inode:") && target != program {
			t.Errorf("it has opened %s", target)
		}
	}
	w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = values(`{"greeting":"fine"}`) })
	killed, err := os.FindProcess(found[0].PID)
	w.must(err)
	w.must(killed.Kill())
	w.ready(hr)
	w.settingsAre("greeting", "fine")
	has(t, w.told("PendingRelease"), "is pending-install, because its operation was interrupted")
}
