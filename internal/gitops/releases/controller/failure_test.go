// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"path/filepath"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/yuba-dev/yuba/internal/gitops/releases/session"
	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// refused is a chart whose second object the API refuses.
func refused(version string) []byte {
	return chart(version, map[string]string{"templates/settings.yaml": settings,
		"templates/wrong.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name}\n"})
}

func TestAFailedInstallStops(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", refused("1.0.0"))
	hr := w.release(nil)
	w.stalled(hr, "RetriesExceeded")
	has(t, condition(hr, meta.StalledCondition).Message, "Failed to install after 1 attempt(s)")
	has(t, w.notReady(hr, helmv2.InstallFailedReason), "Helm install failed for release "+w.namespace+"/app with chart app@1.0.0: ", "Not_A_Name")
	if hr.Status.InstallFailures != 1 || hr.Status.Failures != 1 {
		t.Errorf("failures: %+v", hr.Status)
	}
	// Another chart is another attempt.
	w.publish("1.0.1", simple("1.0.1"))
	w.ready(hr)
	if hr.Status.Failures != 0 {
		t.Errorf("failures: %+v", hr.Status)
	}
}

func TestAFailedInstallIsUninstalledAndTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", refused("1.0.0"))
	yes := true
	hr := w.release(func(hr *helmv2.HelmRelease) {
		hr.Spec.Install = &helmv2.Install{Remediation: &helmv2.InstallRemediation{Retries: 2, RemediateLastFailure: &yes}}
	})
	w.stalled(hr, "RetriesExceeded")
	if hr.Status.InstallFailures != 3 {
		t.Errorf("failures: %+v", hr.Status)
	}
	if c := condition(hr, helmv2.RemediatedCondition); c.Status != metav1.ConditionTrue || c.Reason != helmv2.UninstallSucceededReason {
		t.Errorf("remediated: %+v", c)
	}
	w.gone(&corev1.ConfigMap{}, "settings")
}

func TestAFailedUpgradeIsRolledBack(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = values(`{"greeting":"good"}`)
		hr.Spec.Upgrade = &helmv2.Upgrade{Remediation: &helmv2.UpgradeRemediation{Retries: 1}}
	})
	w.ready(hr)
	w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = values(`{"greeting":"bad"}`) })
	w.settingsAre("greeting", "bad")
	w.ready(hr)
	w.publish("2.0.0", refused("2.0.0"))
	w.stalled(hr, "RetriesExceeded")
	w.settingsAre("greeting", "bad")
	if hr.Status.UpgradeFailures != 2 {
		t.Errorf("failures: %+v", hr.Status)
	}
	has(t, w.notReady(hr, helmv2.RollbackSucceededReason), "Helm rollback to previous release "+w.namespace+"/app.v")
	if h := hr.Status.History.Latest(); h.Status != "deployed" || h.ChartVersion != "1.0.0" {
		t.Errorf("history: %+v", h)
	}
	w.publish("2.0.1", simple("2.0.1"))
	w.ready(hr)
	if c := condition(hr, helmv2.RemediatedCondition); c.Type != "" {
		t.Errorf("remediated: %+v", c)
	}
}

// never is a chart with an object that never becomes ready, as the kind of its CRD has no controller.
func never(kind, phase string) []byte {
	return chart("1.0.0", map[string]string{
		"crds/kind.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + kind + "s.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n" +
			"  names: {kind: " + kind + ", plural: " + kind + "s, singular: " + kind + "}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]\n",
		"templates/settings.yaml": settings,
		"templates/object.yaml":   "apiVersion: example.com/v1\nkind: " + kind + "\nmetadata: {name: x}\nstatus: {conditions: [{type: Ready, status: \"" + phase + "\", reason: Never}]}\n",
	})
}

// everywhere gives the service account all rights, which charts with CRDs need.
func (w *world) everywhere() {
	w.t.Helper()
	w.must(w.c.Create(w.t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "deployer", Namespace: w.namespace}}}))
}

func TestAChartThatHangsEndsAtItsTimeout(t *testing.T) {
	w := newWorld(t)
	w.everywhere()
	w.publish("1.0.0", never("slow", "False"))
	hr := w.release(func(hr *helmv2.HelmRelease) { hr.Spec.Timeout = &metav1.Duration{Duration: 3 * time.Second} })
	w.stalled(hr, "RetriesExceeded")
	has(t, w.notReady(hr, helmv2.InstallFailedReason), "it did not end within its timeout of 3s", "slow/"+w.namespace+"/x")
	// Its CRD stays, and without the wait it is fine.
	w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Upgrade = &helmv2.Upgrade{DisableWait: true} })
	w.ready(hr)
}

func TestADeletionDoesNotWaitForAnUpgrade(t *testing.T) {
	w := newWorld(t)
	w.everywhere()
	w.publish("1.0.0", never("slower", "False"))
	hr := w.release(func(hr *helmv2.HelmRelease) { hr.Spec.Timeout = &metav1.Duration{Duration: time.Hour} })
	w.settingsAre("greeting", "hello")
	w.await(hr, "progress", func(hr *helmv2.HelmRelease) bool {
		return condition(hr, meta.ReconcilingCondition).Message == "Running 'install' action with timeout of 1h0m0s"
	})
	w.must(w.c.Delete(t.Context(), hr))
	w.gone(hr, "app")
	w.gone(&corev1.ConfigMap{}, "settings")
}

// A server that is killed in the middle of an upgrade leaves a pending release, which Helm refuses to
// touch.
func TestAnInterruptedUpgradeIsContinued(t *testing.T) {
	w := newWorld(t)
	w.everywhere()
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(nil)
	w.ready(hr)
	config := impersonate(rest.CopyConfig(apitest.API(t).RESTConfig()), w.namespace, "deployer")
	s, err := session.Start(t.Context(), func(name string) (string, error) { return filepath.Join(running.dir, name), nil }, config)
	w.must(err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		call := &wire.Call{Operation: wire.Upgrade, Release: wire.Release{Name: "app", Namespace: w.namespace, StorageNamespace: w.namespace}}
		call.Options.Timeout, call.Options.CRDs = time.Hour, "Create"
		_, _ = s.Do(t.Context(), call, never("killed", "False")) // it is killed
	}()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "sh.helm.release.v1.app.v2"}}
	w.eventually("a pending upgrade", func() bool {
		err := w.c.Get(t.Context(), clientKey(secret), secret)
		return err == nil && secret.Labels["status"] == "pending-upgrade"
	}, func() string { return secret.Labels["status"] })
	s.Close()
	<-ended
	w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = values(`{"greeting":"after"}`) })
	w.settingsAre("greeting", "after")
	w.ready(hr)
	has(t, w.told("PendingRelease"), "version 2 is pending-upgrade, because its operation was interrupted")
	if n := hr.Status.History.Latest().Version; n != 3 {
		t.Errorf("version %d", n)
	}
}

func TestTestsOfACharts(t *testing.T) {
	w := newWorld(t)
	test := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: test, annotations: {\"helm.sh/hook\": test}}\n"
	w.publish("1.0.0", chart("1.0.0", map[string]string{"templates/settings.yaml": settings, "templates/tests/test.yaml": test}))
	hr := w.release(func(hr *helmv2.HelmRelease) { hr.Spec.Test = &helmv2.Test{Enable: true} })
	w.ready(hr)
	has(t, condition(hr, helmv2.TestSuccessCondition).Message, "1 test hook(s) completed successfully")
	if h := hr.Status.History.Latest().GetTestHooks()["test"]; h == nil || h.Phase != "Succeeded" {
		t.Errorf("tests: %+v", h)
	}
	// A test that fails undoes the upgrade.
	w.publish("2.0.0", chart("2.0.0", map[string]string{"templates/settings.yaml": settings, "templates/tests/test.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name, annotations: {\"helm.sh/hook\": test}}\n"}))
	w.stalled(hr, "RetriesExceeded")
	has(t, w.notReady(hr, helmv2.TestFailedReason), "Helm test failed for release")
}
