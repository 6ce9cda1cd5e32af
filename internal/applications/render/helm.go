// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	specs "github.com/yuba-dev/yuba/internal/applications/schema"
)

// HelmReleaseKind is Flux's kind, which Flux or Yuba reconciles.
var HelmReleaseKind = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}

// What Cozystack's releases have in common.
const (
	helmInterval, helmRetry, helmTimeout = 5 * time.Minute, 30 * time.Second, 10 * time.Minute
	helmHistory                          = 5
	// platformValues is the Secret of a namespace with values of the platform.
	platformValues = "cozystack-values"
)

// HelmRelease makes the release of an instance, as Cozystack makes it.
func HelmRelease(d *definition.Definition, i *Instance) (*unstructured.Unstructured, error) {
	h := d.Helm
	install, upgrade, err := timeouts(d.Annotations)
	if err != nil {
		return nil, err
	}
	chart := map[string]any{"kind": h.ChartRef.Kind, "name": h.ChartRef.Name}
	if h.ChartRef.Namespace != "" {
		chart["namespace"] = h.ChartRef.Namespace
	}
	platform := map[string]any{"kind": "Secret", "name": platformValues}
	if !d.Released {
		platform["optional"] = true // only Cozystack's namespaces have it
	}
	spec := map[string]any{
		"chartRef": chart, "interval": span(helmInterval), "maxHistory": int64(helmHistory),
		"install":    action(install, d.Annotations),
		"upgrade":    action(upgrade, d.Annotations),
		"valuesFrom": []any{platform},
	}
	if values := specs.WithoutInternal(d.Schema.Default(i.Spec)); len(values) > 0 {
		spec["values"] = values
	}
	strategy := h.WaitStrategy
	if strategy == "" && len(h.HealthCheckExprs) > 0 {
		strategy = "poller" // the only one that looks at expressions
	}
	if strategy != "" {
		spec["waitStrategy"] = map[string]any{"name": strategy}
	}
	if len(h.HealthCheckExprs) > 0 {
		spec["healthCheckExprs"] = h.HealthCheckExprs
	}
	account, err := i.identity(h.Identity)
	if err != nil {
		return nil, err
	}
	if account != "" {
		spec["serviceAccountName"] = account
	}
	meta := i.metadata(d)
	if h.Template != nil {
		i.complete(&meta, h.Template.Metadata)
	}
	for field, value := range definition.Fill(d.Template, i.words()) {
		if more, ok := value.([]any); ok && field == "valuesFrom" {
			value = append([]any{platform}, more...)
		}
		spec[field] = value
	}
	return plain(map[string]any{"apiVersion": HelmReleaseKind.GroupVersion().String(), "kind": HelmReleaseKind.Kind, "metadata": meta, "spec": spec})
}

// plain makes an object of values of any types.
func plain(object map[string]any) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write the object: %w", err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("write the object: %w", err)
	}
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return u, nil
}

func action(timeout time.Duration, annotations map[string]string) map[string]any {
	a := map[string]any{"timeout": span(timeout), "strategy": map[string]any{"name": "RetryOnFailure", "retryInterval": span(helmRetry)}}
	if annotations[appv1.AnnotationInstallDisableWait] == "true" {
		a["disableWait"] = true
	}
	return a
}

// timeouts are those of Helm's actions: the annotation about installations is for both, unless there is
// one about upgrades.
func timeouts(annotations map[string]string) (install, upgrade time.Duration, err error) {
	install, upgrade = helmTimeout, helmTimeout
	if text := annotations[appv1.AnnotationInstallTimeout]; text != "" {
		if install, err = readTimeout(appv1.AnnotationInstallTimeout, text); err != nil {
			return 0, 0, err
		}
		upgrade = install
	}
	if text := annotations[appv1.AnnotationUpgradeTimeout]; text != "" {
		upgrade, err = readTimeout(appv1.AnnotationUpgradeTimeout, text)
	}
	return install, upgrade, err
}

func readTimeout(annotation, text string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d <= 0 {
		return 0, &NotAllowedError{fmt.Sprintf("the definition's annotation %s: %q is not a duration such as 15m", annotation, text)}
	}
	return d, nil
}

func span(d time.Duration) string { return metav1.Duration{Duration: d}.Duration.String() }
