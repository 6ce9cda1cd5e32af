// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/render"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// maxTenants limits the tenants whose images are kept.
const maxTenants = 10_000

// tenantImages remembers the images of tenants: to render the manifests of three thousand tenants for
// each page would take seconds.
type tenantImages struct {
	mu   sync.Mutex
	seen map[types.UID]ofTenant
}

type ofTenant struct {
	version string
	images  []image
}

// of returns the images of a tenant's workloads.
func (m *tenantImages) of(t *tenantv1.Tenant) []image {
	m.mu.Lock()
	known, found := m.seen[t.UID]
	m.mu.Unlock()
	// The row is in the annotations, so any version may have other images.
	if found && known.version == t.ResourceVersion {
		return known.images
	}
	images := workloadImages(t)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil || len(m.seen) >= maxTenants {
		m.seen = map[types.UID]ofTenant{}
	}
	m.seen[t.UID] = ofTenant{t.ResourceVersion, images}
	return images
}

func (m *tenantImages) uses(t *tenantv1.Tenant, by string) []use {
	images := m.of(t)
	if len(images) == 0 {
		return nil
	}
	state, _ := standing.OfConditions(t, t.Status.Conditions, false)
	return imagesOf(images, use{Environment: environment(t, by), Where: "Tenant " + t.Namespace + "/" + t.Name, Address: site.Path("tenants", t.Namespace, t.Name)}, notYet(state))
}

// pods is where the kinds of workloads have their Pods.
var pods = map[string][]string{
	"Deployment": {"spec", "template", "spec"}, "StatefulSet": {"spec", "template", "spec"}, "DaemonSet": {"spec", "template", "spec"},
	"ReplicaSet": {"spec", "template", "spec"}, "Job": {"spec", "template", "spec"}, "CronJob": {"spec", "jobTemplate", "spec", "template", "spec"}, "Pod": {"spec"},
}

// workloadImages reads the images from the manifests of a tenant. They are rendered only if an image
// is a template.
func workloadImages(t *tenantv1.Tenant) []image {
	var images []image
	rendering := false
	for _, list := range t.Spec.Lists() {
		for i := range list.Items {
			r := &list.Items[i]
			kind := list.Kind
			if kind == "" {
				kind = r.Spec.GetKind()
			}
			for _, text := range imageTexts(kind, &r.Spec) {
				rendering = rendering || strings.Contains(text, "{{")
				images = appendImage(images, text, list.Field+"["+r.ID+"]")
			}
		}
	}
	if !rendering {
		return images
	}
	images = nil
	objects, _ := render.Objects(t) // what does not render is not there
	for i := range objects {
		o := &objects[i]
		for _, text := range imageTexts(o.Object.GetKind(), o.Object) {
			images = appendImage(images, text, o.Where)
		}
	}
	return images
}

func appendImage(images []image, text, from string) []image {
	if name, version, ok := imageOf(text); ok && len(images) < maxImages {
		return append(images, image{name, version, from})
	}
	return images
}

// imageTexts are the images of the containers of a workload, as they are written.
func imageTexts(kind string, o *unstructured.Unstructured) (texts []string) {
	at, is := pods[kind]
	if !is {
		return nil
	}
	for _, field := range []string{"initContainers", "containers"} {
		value, _, _ := unstructured.NestedFieldNoCopy(o.Object, append(at[:len(at):len(at)], field)...) //nolint:errcheck // a manifest of another shape has no images
		containers, _ := value.([]any)
		for _, c := range containers {
			if c, is := c.(map[string]any); is {
				if text, is := c["image"].(string); is {
					texts = append(texts, text)
				}
			}
		}
	}
	return texts
}
