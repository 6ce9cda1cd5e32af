// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// helmHome is a "yuba up" of one machine, which installs charts in the cluster, and is killed.
type helmHome struct {
	t    *testing.T
	dir  string
	args []string
	cmd  *exec.Cmd
	log  proctest.Log
	api  client.Client
	// target is the namespace in the cluster; chart the directory of the chart.
	target, chart string
}

// helmChart is a chart with a Deployment of an image that the node has.
var helmChart = map[string]string{
	"Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.0.0\n",
	"values.yaml": "replicas: 1\nimage: localhost/pause:1\ngreeting: hello\nready: 0\n",
	"templates/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: {{ .Values.replicas }}
  minReadySeconds: {{ .Values.ready }}
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations: {greeting: {{ .Values.greeting | quote }}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: web, image: {{ .Values.image }}, imagePullPolicy: Never}]
`,
}

func newHelmHome(t *testing.T) *helmHome {
	t.Helper()
	h := &helmHome{t: t, dir: t.TempDir(), chart: filepath.Join(t.TempDir(), "web"), target: "helm-" + rand.String(6)}
	var addresses [2]string
	for i := range addresses {
		var err error
		addresses[i], err = proctest.FreeAddress()
		must(t, err)
	}
	h.args = []string{"up", "--data-dir", h.dir, "--tofu", tofutest.Tofu(t), "--api-address", addresses[0], "--http-address", addresses[1], "--registry-address", "off", "-v"}
	for name, text := range helmChart {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(h.chart, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(h.chart, name), []byte(text), 0o600))
	}
	t.Cleanup(h.end)
	h.start()
	config, err := kubetest.Config(filepath.Join(h.dir, "kubeconfig"))
	must(t, err)
	h.api, err = client.New(config, client.Options{Scheme: kubetest.Scheme()})
	must(t, err)
	return h
}

func (h *helmHome) start() {
	h.t.Helper()
	h.cmd = exec.Command(filepath.Join(tofutest.RepositoryRoot(h.t), "bin", "yuba"), h.args...) //nolint:noctx // it is ended
	must(h.t, proctest.Start(h.cmd, "Yuba is ready", &h.log, patience))
}

// kill is a crash: nothing can be cleaned up.
func (h *helmHome) kill() {
	h.t.Helper()
	must(h.t, h.cmd.Process.Kill())
	_ = h.cmd.Wait() // it was killed
}

func (h *helmHome) end() {
	if h.t.Failed() {
		h.t.Log(h.log.Tail())
	}
	_ = h.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	_ = h.cmd.Wait()                          // its log says why
	if err := proctest.End(h.dir); err != nil {
		h.t.Error(err)
	}
	_ = api.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.target}}) // it may not be there
}

// change changes the values, and the time that Helm waits for Pods.
func (h *helmHome) change(timeout time.Duration, values string) {
	h.t.Helper()
	hr := h.release()
	before := hr.DeepCopy()
	hr.Spec.Timeout, hr.Spec.Values = &metav1.Duration{Duration: timeout}, &apiextensionsv1.JSON{Raw: []byte(values)}
	must(h.t, h.api.Patch(h.t.Context(), hr, client.MergeFrom(before)))
}

func (h *helmHome) release() *helmv2.HelmRelease {
	h.t.Helper()
	hr := &helmv2.HelmRelease{}
	must(h.t, h.api.Get(h.t.Context(), client.ObjectKey{Namespace: "apps", Name: "web"}, hr))
	return hr
}

// ready waits until the release is as its spec says, and returns it.
func (h *helmHome) ready(sentence string) (hr *helmv2.HelmRelease) {
	h.t.Helper()
	eventually(h.t, sentence, func() string {
		hr = h.release()
		if c := conditions.Of(hr, meta.ReadyCondition); c.Status != metav1.ConditionTrue || hr.Status.ObservedGeneration != hr.Generation {
			return c.Reason + ": " + c.Message
		}
		return ""
	})
	return hr
}

// deployment is that of the chart in the cluster.
func (h *helmHome) deployment() (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	return d, api.Get(h.t.Context(), client.ObjectKey{Namespace: h.target, Name: "web"}, d)
}

// is waits until the Deployment is as it should be.
func (h *helmHome) is(sentence string, as func(*appsv1.Deployment) bool) *appsv1.Deployment {
	h.t.Helper()
	var d *appsv1.Deployment
	eventually(h.t, sentence, func() string {
		var err error
		if d, err = h.deployment(); err != nil {
			return err.Error()
		}
		if !as(d) {
			return fmt.Sprintf("%d replicas, %d ready, %s, %v", *d.Spec.Replicas, d.Status.ReadyReplicas, d.Spec.Template.Spec.Containers[0].Image, d.Spec.Template.Annotations)
		}
		return ""
	})
	return d
}

func greets(text string, replicas int32) func(*appsv1.Deployment) bool {
	return func(d *appsv1.Deployment) bool {
		return d.Spec.Template.Annotations["greeting"] == text && *d.Spec.Replicas == replicas && d.Status.ReadyReplicas == replicas
	}
}

// storedIs reports whether Helm has a version of the release with a status.
func (h *helmHome) storedIs(status string) func() string {
	return func() string {
		var list corev1.SecretList
		if err := api.List(h.t.Context(), &list, client.InNamespace(h.target), client.MatchingLabels{"owner": "helm", "status": status}); err != nil || len(list.Items) == 0 {
			return fmt.Sprintf("no version is %s: %v", status, err)
		}
		return ""
	}
}

// flat is the cluster's kubeconfig without references to files.
func flat(t *testing.T) []byte {
	t.Helper()
	config, err := clientcmd.LoadFromFile(*kubeconfig)
	must(t, err)
	must(t, clientcmdapi.FlattenConfig(config))
	content, err := clientcmd.Write(*config)
	must(t, err)
	return content
}

// A release of plain Helm is taken over, upgraded, survives a crash of Yuba, is rolled back after a failure,
// and its drift is corrected, in a cluster with Pods.
func TestAReleaseInTheCluster(t *testing.T) {
	h := newHelmHome(t)
	// 1. Helm itself has installed the chart.
	do(t, "", "helm", "install", "web", h.chart, "--namespace", h.target, "--create-namespace", "--wait", "--timeout", "60s")
	first := h.is("Helm has installed it", greets("hello", 1))

	// 2. Yuba takes it over without installing it anew.
	content := flat(t)
	must(t, h.api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "apps"}}))
	must(t, h.api.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "cluster"}, Data: map[string][]byte{"value": content}}))
	do(t, "", "yuba", "--kubeconfig", filepath.Join(h.dir, "kubeconfig"), "push", h.chart, "web", "-n", "apps")
	yes := true
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}, Spec: helmv2.HelmReleaseSpec{
		Interval: metav1.Duration{Duration: 5 * time.Second}, Timeout: &metav1.Duration{Duration: 40 * time.Second},
		ChartRef:   &helmv2.CrossNamespaceSourceReference{Kind: sourcev1.ExternalArtifactKind, Name: "web"},
		KubeConfig: &meta.KubeConfigReference{SecretRef: &meta.SecretKeyReference{Name: "cluster"}}, ReleaseName: "web", TargetNamespace: h.target, StorageNamespace: h.target,
		DriftDetection: &helmv2.DriftDetection{Mode: helmv2.DriftDetectionEnabled}, Values: &apiextensionsv1.JSON{Raw: []byte(`{"replicas":2}`)},
		Upgrade: &helmv2.Upgrade{Remediation: &helmv2.UpgradeRemediation{RemediateLastFailure: &yes}},
	}}
	must(t, h.api.Create(t.Context(), hr))
	hr = h.ready("Yuba has upgraded it")
	if d := h.is("it has two replicas", greets("hello", 2)); d.UID != first.UID || hr.Status.History.Latest().Version != 2 {
		t.Errorf("the release was installed anew: %+v", hr.Status.History)
	}

	// 3. Yuba dies while Helm waits for the Pods.
	h.change(time.Minute, `{"replicas":2,"greeting":"killed","ready":4}`)
	eventually(t, "the upgrade is running", h.storedIs("pending-upgrade"))
	h.kill()
	h.start()
	h.ready("the upgrade is continued")
	h.is("it is upgraded", greets("killed", 2))
	if text := h.storedIs("pending-upgrade")(); text == "" {
		t.Error("a version is still pending")
	}

	// 4. Pods that never start are rolled back.
	h.change(5*time.Second, `{"replicas":2,"greeting":"broken","image":"localhost/no-such-image:1"}`)
	eventually(t, "the failed upgrade is rolled back", func() string {
		hr = h.release()
		c := conditions.Of(hr, helmv2.RemediatedCondition)
		if c.Reason != helmv2.RollbackSucceededReason || hr.Status.UpgradeFailures != 1 {
			return fmt.Sprintf("%+v", hr.Status)
		}
		return ""
	})
	if c := conditions.Of(hr, helmv2.ReleasedCondition); !strings.Contains(c.Message, "resource Deployment/"+h.target+"/web not ready") {
		t.Errorf("the failure says: %s", c.Message)
	}
	h.is("the last good version runs", greets("killed", 2))

	// 5. Drift is corrected.
	h.change(time.Minute, `{"replicas":2,"greeting":"good"}`)
	h.ready("it is upgraded again")
	h.is("it is upgraded again", greets("good", 2))
	d, err := h.deployment()
	must(t, err)
	before := d.DeepCopy()
	*d.Spec.Replicas = 0
	must(t, api.Patch(t.Context(), d, client.MergeFrom(before)))
	h.is("the drift is corrected", greets("good", 2))

	// 6. Deleting the HelmRelease uninstalls the release.
	must(t, h.api.Delete(t.Context(), hr))
	eventually(t, "the release is uninstalled", func() string {
		if _, err := h.deployment(); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("the Deployment is there: %v", err)
		}
		if err := h.api.Get(t.Context(), client.ObjectKeyFromObject(hr), hr); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("the HelmRelease is there: %v", err)
		}
		return ""
	})
}
