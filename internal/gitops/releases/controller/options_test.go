// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// versions are Helm's stored versions of the release "app", by their status.
func (w *world) versions(namespace string) map[string]int {
	w.t.Helper()
	var list corev1.SecretList
	w.must(w.c.List(w.t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{"owner": "helm"}))
	all := map[string]int{}
	for _, s := range list.Items {
		all[s.Labels["status"]]++
	}
	return all
}

func TestTheHistoryOfAnUninstalledReleaseMayStay(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	keep := func(hr *helmv2.HelmRelease) { hr.Spec.Uninstall = &helmv2.Uninstall{KeepHistory: true} }
	hr := w.release(keep)
	w.ready(hr)
	w.must(w.c.Delete(t.Context(), hr))
	w.gone(&helmv2.HelmRelease{}, "app")
	w.gone(&corev1.ConfigMap{}, "settings")
	if all := w.versions(w.namespace); all["uninstalled"] != 1 {
		t.Errorf("stored: %v", all)
	}
	// Helm installs over such a history only if it is told to.
	hr = w.release(keep)
	has(t, w.notReady(hr, helmv2.InstallFailedReason), "cannot reuse a name that is still in use")
	w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Install = &helmv2.Install{Replace: true} })
	w.ready(hr)
	w.settingsAre("greeting", "hello")
}

func TestAReleaseHasItsOwnNamespaces(t *testing.T) {
	w, storage := newWorld(t), newWorld(t)
	w.everywhere()
	w.publish("1.0.0", simple("1.0.0"))
	target := w.namespace + "-made"
	hr := w.release(func(hr *helmv2.HelmRelease) {
		hr.Spec.TargetNamespace, hr.Spec.StorageNamespace, hr.Spec.Install = target, storage.namespace, &helmv2.Install{CreateNamespace: true}
	})
	w.ready(hr)
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "settings"}}
	w.read(made)
	if last := hr.Status.History.Latest(); last.Name != target+"-app" || last.Namespace != target || hr.Status.StorageNamespace != storage.namespace {
		t.Errorf("%+v", hr.Status)
	}
	// Another storage is another release: the first one is uninstalled.
	w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.StorageNamespace = w.namespace })
	w.await(hr, "the storage has moved", func(hr *helmv2.HelmRelease) bool {
		return hr.Status.StorageNamespace == w.namespace && condition(hr, meta.ReadyCondition).Status == metav1.ConditionTrue
	})
	if all := w.versions(storage.namespace); len(all) != 0 {
		t.Errorf("left in the first storage: %v", all)
	}
	w.read(made)
}

func TestAFailedUpgradeMayBeUninstalled(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	yes, strategy := true, helmv2.UninstallRemediationStrategy
	hr := w.release(func(hr *helmv2.HelmRelease) {
		hr.Spec.Upgrade = &helmv2.Upgrade{Remediation: &helmv2.UpgradeRemediation{Strategy: &strategy, RemediateLastFailure: &yes}}
	})
	w.ready(hr)
	w.publish("2.0.0", refused("2.0.0"))
	has(t, w.told(helmv2.UninstallSucceededReason), "Helm uninstall remediation for release "+w.namespace+"/app")
	w.stalled(hr, "RetriesExceeded")
	w.publish("2.0.1", simple("2.0.1"))
	w.ready(hr)
}

func TestAFailedInstallIsRetriedAfterAPause(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", refused("1.0.0"))
	hr := w.release(func(hr *helmv2.HelmRelease) {
		pause := &metav1.Duration{Duration: 500 * time.Millisecond}
		hr.Spec.Install = &helmv2.Install{Strategy: &helmv2.InstallStrategy{Name: string(helmv2.ActionStrategyRetryOnFailure), RetryInterval: pause}}
		hr.Spec.Upgrade = &helmv2.Upgrade{Strategy: &helmv2.UpgradeStrategy{Name: string(helmv2.ActionStrategyRetryOnFailure), RetryInterval: pause}}
	})
	w.await(hr, "three attempts", func(hr *helmv2.HelmRelease) bool { return hr.Status.Failures >= 3 })
	if c := condition(hr, helmv2.RemediatedCondition); c.Type != "" {
		t.Errorf("remediated: %+v", c)
	}
	w.publish("1.0.1", simple("1.0.1"))
	w.ready(hr)
	// A chart that cannot be rendered stores no version, and is retried, too.
	w.publish("1.0.2", chart("1.0.2", map[string]string{"templates/x.yaml": "{{ fail \"no\" }}"}))
	w.await(hr, "three more attempts", func(hr *helmv2.HelmRelease) bool { return hr.Status.UpgradeFailures >= 3 })
	w.publish("1.0.3", simple("1.0.3"))
	w.ready(hr)
}

func TestAnotherChartReplacesTheRelease(t *testing.T) {
	other := chart("1.0.0", map[string]string{"Chart.yaml": "apiVersion: v2\nname: other\nversion: 1.0.0\n", "templates/settings.yaml": settings})
	for sentence, test := range map[string]struct {
		strategy helmv2.ChartNameChangeStrategy
		version  int
	}{
		"by default, it is installed anew": {"", 1},
		"it is upgraded in its place":      {helmv2.ChartNameChangeStrategyInPlaceUpdate, 2},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			w.publish("1.0.0", simple("1.0.0"))
			hr := w.release(func(hr *helmv2.HelmRelease) {
				hr.Spec.Upgrade = &helmv2.Upgrade{ChartNameChangeStrategy: test.strategy}
			})
			w.ready(hr)
			w.publish("other", other)
			w.await(hr, "the other chart", func(hr *helmv2.HelmRelease) bool {
				last := hr.Status.History.Latest()
				return last != nil && last.ChartName == "other" && last.Version == test.version && condition(hr, meta.ReadyCondition).Status == metav1.ConditionTrue
			})
			w.settingsAre("greeting", "hello")
		})
	}
}

func TestTheHistoryIsLimited(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	two := 2
	hr := w.release(func(hr *helmv2.HelmRelease) { hr.Spec.MaxHistory = &two })
	w.ready(hr)
	for _, greeting := range []string{"one", "two", "three"} {
		w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = values(`{"greeting":"` + greeting + `"}`) })
		w.settingsAre("greeting", greeting)
		w.ready(hr)
	}
	if all := w.versions(w.namespace); all["deployed"] != 1 || all["superseded"] != 1 {
		t.Errorf("stored: %v", all)
	}
}

// hook is a chart's object with a wrong name, which fails if it is created.
func hook(event string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name, annotations: {\"helm.sh/hook\": " + event + "}}\n"
}

// TestOptionsOfAnInstall: each chart fails without the option.
func TestOptionsOfAnInstall(t *testing.T) {
	goodTest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good, annotations: {\"helm.sh/hook\": test}}\n"
	for sentence, test := range map[string]struct {
		files  map[string]string
		change func(*helmv2.HelmRelease)
	}{
		"no hooks": {map[string]string{"templates/hook.yaml": hook("pre-install")}, func(hr *helmv2.HelmRelease) { hr.Spec.Install = &helmv2.Install{DisableHooks: true} }},
		"no schema of values": {map[string]string{"values.schema.json": `{"type":"object","required":["missing"]}`},
			func(hr *helmv2.HelmRelease) { hr.Spec.Install = &helmv2.Install{DisableSchemaValidation: true} }},
		"no CRDs": {map[string]string{"crds/x.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: bad}\n"},
			func(hr *helmv2.HelmRelease) { hr.Spec.Install = &helmv2.Install{CRDs: helmv2.Skip} }},
		"one of the tests": {map[string]string{"templates/good.yaml": goodTest, "templates/bad.yaml": hook("test")},
			func(hr *helmv2.HelmRelease) {
				hr.Spec.Test = &helmv2.Test{Enable: true, Filters: &[]helmv2.Filter{{Name: "Not_A_Name", Exclude: true}}}
			}},
		"failed tests do not matter": {map[string]string{"templates/bad.yaml": hook("test")},
			func(hr *helmv2.HelmRelease) { hr.Spec.Test = &helmv2.Test{Enable: true, IgnoreFailures: true} }},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			w.everywhere()
			test.files["templates/settings.yaml"] = settings
			w.publish("1.0.0", chart("1.0.0", test.files))
			hr := w.release(func(hr *helmv2.HelmRelease) {
				test.change(hr)
				if hr.Spec.Test != nil {
					hr.Spec.Test = &helmv2.Test{Enable: true}
				} else {
					hr.Spec.Install = nil
				}
			})
			w.await(hr, "it fails without the option", func(hr *helmv2.HelmRelease) bool {
				return condition(hr, meta.ReadyCondition).Status == metav1.ConditionFalse && condition(hr, meta.ReconcilingCondition).Type == ""
			})
			w.must(w.c.Delete(t.Context(), hr))
			w.gone(&helmv2.HelmRelease{}, "app")
			w.ready(w.release(test.change))
			w.settingsAre("greeting", "hello")
		})
	}
}

func TestHooksAreRenderedAsTheStrategySays(t *testing.T) {
	for strategy, want := range map[helmv2.PostRenderStrategy]string{helmv2.PostRenderStrategyNoHooks: "", helmv2.PostRenderStrategyCombined: "blue", "": "blue"} {
		t.Run("strategy "+string(strategy), func(t *testing.T) {
			w := newWorld(t)
			w.publish("1.0.0", chart("1.0.0", map[string]string{"templates/settings.yaml": settings,
				"templates/hook.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {\"helm.sh/hook\": pre-install}}\n"}))
			w.ready(w.release(func(hr *helmv2.HelmRelease) {
				hr.Spec.PostRenderStrategy = strategy
				hr.Spec.PostRenderers = []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{{Patch: "- {op: add, path: /metadata/labels, value: {team: blue}}", Target: &kustomize.Selector{Kind: "ConfigMap"}}}}}}
			}))
			made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "hook"}}
			w.read(made)
			if made.Labels["team"] != want {
				t.Errorf("the hook's labels: %v", made.Labels)
			}
		})
	}
}

func TestAChartOfAnOCIRepository(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	external := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "chart"}}
	w.read(external)
	source := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Name: "chart"}, Spec: sourcev1.OCIRepositorySpec{URL: "oci://registry.example.com/app", Interval: metav1.Duration{Duration: time.Hour}}}
	w.create(source)
	before := source.DeepCopy()
	source.Status.Artifact, source.Status.ObservedGeneration = external.Status.Artifact.DeepCopy(), source.Generation
	source.Status.Artifact.Revision = "1.0.0@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	w.must(w.c.Status().Patch(t.Context(), source, client.MergeFrom(before)))
	hr := w.release(func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Kind = sourcev1.OCIRepositoryKind })
	w.ready(hr)
	// As Flux does it: the digest is a part of the version.
	if last := hr.Status.History.Latest(); last.ChartVersion != "1.0.0+0123456789ab" || last.OCIDigest != "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" {
		t.Errorf("%+v", last)
	}
}

func TestADependencyIsReadyWhenItsExpressionHolds(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	first := w.release(func(hr *helmv2.HelmRelease) { hr.Name, hr.Labels = "first", map[string]string{"version": "1"} })
	w.ready(first)
	hr := w.release(func(hr *helmv2.HelmRelease) {
		hr.Labels = map[string]string{"version": "2"}
		hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "first", ReadyExpr: "self.metadata.labels.version == dep.metadata.labels.version"}}
	})
	has(t, w.notReady(hr, helmv2.DependencyNotReadyReason), "dependency '"+w.namespace+"/first' is not ready")
	w.change(first, func(hr *helmv2.HelmRelease) {
		hr.Labels["version"], hr.Spec.Values = "2", values(`{"greeting":"two"}`)
	})
	w.ready(hr)
}
