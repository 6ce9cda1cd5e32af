// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
)

// cozystackPair is a definition as Cozystack releases it, and an instance of its kind.
func cozystackPair(t *testing.T, file string) (*definition.Definition, *Instance) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, second, both := bytes.Cut(text, []byte("---\n"))
	if !both {
		t.Fatalf("%s has one document", file)
	}
	d := &appv1.ApplicationDefinition{}
	if err := yaml.UnmarshalStrict(first, d); err != nil {
		t.Fatal(err)
	}
	parsed, list := definition.Parse(d)
	if parsed == nil {
		t.Fatal(list)
	}
	if len(list) > 0 {
		t.Errorf("warnings: %s", list)
	}
	o := &unstructured.Unstructured{}
	content, err := yaml.YAMLToJSON(second)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.UnmarshalJSON(content); err != nil {
		t.Fatal(err)
	}
	spec, _, err := unstructured.NestedMap(o.Object, "spec")
	if err != nil {
		t.Fatal(err)
	}
	return parsed, &Instance{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: "the-uid", Labels: o.GetLabels(), Spec: spec}
}

// TestReleasesOfCozystack: instances of Cozystack's applications become the HelmReleases that its API
// server makes. Cozystack's is written down here independently of the package.
func TestReleasesOfCozystack(t *testing.T) {
	files, err := filepath.Glob("testdata/cozystack/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			d, i := cozystackPair(t, file)
			full := d.Schema.Default(i.Spec)
			if bad := d.Schema.Validate(full); bad != nil {
				t.Fatal(bad)
			}
			if dropped := d.Schema.Dropped(i.Spec); len(dropped) > 0 {
				t.Errorf("these fields would be dropped: %v", dropped)
			}
			if example := d.Schema.Example(); d.Schema.Validate(d.Schema.Default(example)) != nil {
				t.Errorf("the example is not valid: %v", example)
			}
			got, err := HelmRelease(d, i)
			if err != nil {
				t.Fatal(err)
			}
			install, disable := "10m0s", false
			if name == "kubernetes" {
				install, disable = "20m0s", true
			}
			want := releaseOf(name, d, i, install, disable)
			want["spec"].(map[string]any)["values"] = full
			if len(full) == 0 {
				delete(want["spec"].(map[string]any), "values")
			}
			if diff := cmp.Diff(want, got.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func releaseOf(name string, d *definition.Definition, i *Instance, timeout string, disableWait bool) map[string]any {
	action := func() map[string]any {
		a := map[string]any{"timeout": timeout, "strategy": map[string]any{"name": "RetryOnFailure", "retryInterval": "30s"}}
		if disableWait {
			a["disableWait"] = true
		}
		return a
	}
	return map[string]any{
		"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
		"metadata": map[string]any{
			"namespace": "tenant-acme", "name": d.Prefix + i.Name,
			"labels": map[string]any{
				"sharding.fluxcd.io/key": "tenants", "apps.cozystack.io-team": "web",
				"apps.cozystack.io/application.kind": i.Kind, "apps.cozystack.io/application.group": "apps.cozystack.io", "apps.cozystack.io/application.name": i.Name,
			},
			// Cozystack's instance is the HelmRelease itself; Yuba's owns it.
			"ownerReferences": []any{map[string]any{"apiVersion": "apps.cozystack.io/v1alpha1", "kind": i.Kind, "name": i.Name, "uid": "the-uid", "controller": true}},
		},
		"spec": map[string]any{
			"chartRef": map[string]any{"kind": "ExternalArtifact", "name": "cozystack-" + name + "-application-default-" + name, "namespace": "cozy-system"},
			"interval": "5m0s", "maxHistory": int64(5), "install": action(), "upgrade": action(),
			"valuesFrom": []any{map[string]any{"kind": "Secret", "name": "cozystack-values"}},
		},
	}
}

// TestDefaultsOfCozystack checks by hand what an instance's values are.
func TestDefaultsOfCozystack(t *testing.T) {
	for file, want := range map[string]string{
		"bucket": `{"locking":false,"storagePool":"","users":{"ci":{},"viewer":{"readonly":true}}}`,
		"redis":  `{"replicas":2,"resources":{},"resourcesPreset":"nano","size":"2Gi","storageClass":"","external":false,"version":"v8","authEnabled":true}`,
		"tenant": `{"host":"","etcd":false,"monitoring":false,"ingress":false,"seaweedfs":false,"resourceQuotas":{"cpu":4,"memory":"8Gi"}}`,
		"etcd":   `{"size":"4Gi","storageClass":"","replicas":3,"resources":{"cpu":"1000m","memory":"512Mi"}}`,
		"kafka": `{"external":false,"topics":[{"name":"events","partitions":3,"replicas":2,"config":{"min.insync.replicas":2}}],
			"kafka":{"replicas":3,"resources":{},"resourcesPreset":"small","size":"20Gi","storageClass":""},
			"zookeeper":{"replicas":3,"resources":{},"resourcesPreset":"small","size":"5Gi","storageClass":""}}`,
	} {
		d, i := cozystackPair(t, filepath.Join("testdata/cozystack", file+".yaml"))
		got, err := HelmRelease(d, i)
		if err != nil {
			t.Fatal(err)
		}
		values, _, _ := unstructured.NestedMap(got.Object, "spec", "values") //nolint:errcheck // compared below
		text, err := yaml.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := yaml.JSONToYAML([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(wanted), string(text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}
