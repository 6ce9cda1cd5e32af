// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// badTexts are invalid or unusual names, and other unexpected texts.
var badTexts = []string{"", " ", "a/b", "/", ".", "..", "../../etc/passwd", "A_B", "Prod", "50%", "%2e%2e", "-x", "x-", "a..b", "ä", "a b", "x\ny", "\u0000", "a:b", "a=b",
	"${x}", "{{ .x }}", "a,b", strings.Repeat("x", 64), strings.Repeat("x", 240), strings.Repeat("x", 253), strings.Repeat("x", 254), strings.Repeat("x/", 500)}

// badFields are specs by kind; each contains the placeholder BAD for such a text.
var badFields = map[string][]string{
	"Terraform infra.contrib.fluxcd.io/v1alpha2": {
		`workspace: BAD`, `backendConfig: {secretSuffix: BAD}`, `backendConfig: {labels: {a: BAD}}`, `backendConfig: {configPath: BAD}`,
		`backendConfig: {customConfiguration: BAD}`, `backendConfigsFrom: [{kind: Secret, name: BAD}]`, `cloud: {organization: BAD, workspaces: {name: BAD}}`,
		`varsFrom: [{kind: Secret, name: BAD}]`, `varsFrom: [{kind: ConfigMap, name: BAD, optional: true}]`, `vars: [{name: BAD, value: x}]`,
		`vars: [{name: a, valueFrom: {secretKeyRef: {name: BAD, key: BAD}}}]`, `vars: [{name: a, valueFrom: {configMapKeyRef: {name: x, key: BAD}}}]`,
		`env: [{name: BAD, value: x}]`, `env: [{name: A, valueFrom: {secretKeyRef: {name: BAD, key: x}}}]`, `env: [{name: A, valueFrom: {configMapKeyRef: {name: BAD, key: x}}}]`,
		`envFrom: [{secretRef: {name: BAD}}]`, `envFrom: [{configMapRef: {name: BAD}}]`, `fileMappings: [{secretRef: {name: BAD, key: x}, location: home, path: x}]`,
		`fileMappings: [{secretRef: {name: x, key: x}, location: workspace, path: BAD}]`, `cliConfigSecretRef: {name: BAD}`, `cliConfigSecretRef: {name: x, namespace: BAD}`,
		`readInputsFromSecrets: [{name: BAD, as: x}]`, `readInputsFromSecrets: [{name: x, as: BAD}]`, `writeOutputsToSecret: {name: BAD}`,
		`writeOutputsToSecret: {name: out, labels: {a: BAD}, outputs: [BAD]}`, `dependsOn: [{name: BAD}]`, `dependsOn: [{name: x, namespace: BAD}]`,
		`sourceRef: {kind: GitRepository, name: BAD}`, `sourceRef: {kind: Bucket, name: x, namespace: BAD}`, `sourceRef: {kind: OCIRepository, name: x, apiVersion: BAD}`,
		`sourceRef: {kind: ExternalArtifact, name: BAD}`, `path: BAD`, `tfVarsFiles: [BAD]`, `inline: {BAD: x}`, `inline: {main.tf: BAD}`, `values: {hcl: BAD}`, `values: BAD`,
		`targets: [BAD]`, `tool: {version: BAD}`, `approvePlan: BAD`, `tfstate: {forceUnlock: "yes", lockIdentifier: BAD, lockTimeout: BAD}`,
		`runnerPodTemplate: {spec: {env: [{name: BAD, value: x}], envFrom: [{secretRef: {name: BAD}}]}}`, `serviceAccountName: BAD`, `storeReadablePlan: json`,
		`healthChecks: [{name: BAD, type: http, url: BAD}]`, `healthChecks: [{name: x, type: tcp, address: BAD}]`, `webhooks: [{stage: post-planning, url: BAD}]`,
	},
	"GitRepository source.toolkit.fluxcd.io/v1": {`secretRef: {name: BAD}`, `proxySecretRef: {name: BAD}`, `verify: {mode: HEAD, secretRef: {name: BAD}}`, `url: BAD`,
		`ref: {branch: BAD}`, `ref: {semver: BAD}`, `ref: {name: BAD}`, `ref: {commit: BAD}`, `include: [{repository: {name: BAD}, fromPath: BAD, toPath: BAD}]`, `ignore: BAD`,
		`sparseCheckout: [BAD]`, `serviceAccountName: BAD`},
	"OCIRepository source.toolkit.fluxcd.io/v1": {`secretRef: {name: BAD}`, `certSecretRef: {name: BAD}`, `proxySecretRef: {name: BAD}`, `serviceAccountName: BAD`, `url: BAD`,
		`ref: {tag: BAD}`, `ref: {semver: BAD}`, `ref: {digest: BAD}`, `verify: {provider: cosign, secretRef: {name: BAD}}`, `layerSelector: {mediaType: BAD}`},
	"Bucket source.toolkit.fluxcd.io/v1": {`secretRef: {name: BAD}`, `certSecretRef: {name: BAD}`, `proxySecretRef: {name: BAD}`, `endpoint: BAD`, `bucketName: BAD`, `prefix: BAD`,
		`region: BAD`, `serviceAccountName: BAD`},
	"Kustomization kustomize.toolkit.fluxcd.io/v1": {`sourceRef: {kind: GitRepository, name: BAD}`, `sourceRef: {kind: Bucket, name: x, namespace: BAD}`, `serviceAccountName: BAD`,
		`kubeConfig: {secretRef: {name: BAD}}`, `kubeConfig: {configMapRef: {name: BAD}}`, `dependsOn: [{name: BAD}]`, `dependsOn: [{name: x, namespace: BAD}]`, `path: BAD`,
		`decryption: {provider: sops, secretRef: {name: BAD}}`, `postBuild: {substituteFrom: [{kind: Secret, name: BAD}]}`, `postBuild: {substitute: {a: BAD}}`, `targetNamespace: BAD`,
		`namePrefix: BAD`, `components: [BAD]`, `images: [{name: BAD}]`, `patches: [{patch: BAD}]`, `healthChecks: [{apiVersion: BAD, kind: BAD, name: BAD}]`,
		`healthCheckExprs: [{apiVersion: v1, kind: X, current: BAD}]`, `commonMetadata: {labels: {a: BAD}}`},
	"Receiver notification.toolkit.fluxcd.io/v1": {`secretRef: {name: BAD}`, `resources: [{kind: GitRepository, name: BAD}]`, `resources: [{kind: GitRepository, name: x, namespace: BAD}]`,
		`resourceFilter: BAD`, `events: [BAD]`},
	"Provider notification.toolkit.fluxcd.io/v1beta3": {`secretRef: {name: BAD}`, `certSecretRef: {name: BAD}`, `proxySecretRef: {name: BAD}`, `address: BAD`, `channel: BAD`},
	"Alert notification.toolkit.fluxcd.io/v1beta3":    {`providerRef: {name: BAD}`, `eventSources: [{kind: GitRepository, name: BAD}]`, `inclusionList: [BAD]`},
	"TenantRegistry operator.kubernetes-tenants.org/v1": {`source: {type: postgresql, syncInterval: 1h, postgres: {host: 127.0.0.1, port: 1, username: u, database: d, table: t, passwordRef: {name: BAD, key: BAD}}}`,
		`source: {type: postgresql, syncInterval: 1h, postgres: {host: BAD, username: BAD, database: BAD, table: BAD, schema: BAD}}`,
		`source: {type: mysql, syncInterval: 1h, mysql: {host: 127.0.0.1, port: 1, username: u, database: d, table: BAD, tls: {mode: verify-full, caRef: {name: BAD, key: x}, clientSecretName: BAD}}}`,
		`source: {type: sqlite, syncInterval: 1h, sqlite: {path: BAD, table: BAD}}`, `source: {type: http, syncInterval: 1h, http: {url: BAD}}`,
		`source: {type: http, syncInterval: 1h, http: {url: "http://127.0.0.1:1", secretName: BAD}}`, `source: {type: configmap, syncInterval: 1h, configMap: {name: BAD, key: BAD}}`,
		`source: {type: configmap, syncInterval: BAD, configMap: {name: x, key: x}}`, `valueMappings: {uid: BAD, hostOrUrl: BAD, activate: BAD}`},
	"TenantTemplate operator.kubernetes-tenants.org/v1": {`registryId: BAD`, `configMaps: [{id: BAD, nameTemplate: x, spec: {apiVersion: v1, kind: ConfigMap}}]`,
		`configMaps: [{id: x, nameTemplate: BAD, spec: {apiVersion: v1, kind: ConfigMap}}]`, `manifests: [{id: x, nameTemplate: x, spec: {apiVersion: BAD, kind: BAD}}]`,
		`configMaps: [{id: x, nameTemplate: x, dependIds: [BAD], spec: {apiVersion: v1, kind: ConfigMap}}]`, `kubeConfig: {secretRef: {name: BAD}}`},
	"Tenant operator.kubernetes-tenants.org/v1":  {`uid: BAD`, `templateRef: BAD`, `configMaps: [{id: x, nameTemplate: BAD, spec: {apiVersion: v1, kind: ConfigMap}}]`},
	"CircuitBreaker yuba.dev/v1alpha1":           {`{mode: Open, provider: BAD}`, `{mode: Open, namespaces: [BAD]}`},
	"Terraform infra.contrib.fluxcd.io/v1alpha1": {`varsFrom: [{kind: Secret, name: BAD}]`},
}

// required are other fields that a kind requires.
var required = map[string]string{
	"Terraform":      `{interval: 1h, approvePlan: auto, inline: {main.tf: 'output "a" { value = "b" }'}}`,
	"GitRepository":  `{interval: 1h, timeout: 1s, url: "http://127.0.0.1:1/x.git"}`,
	"OCIRepository":  `{interval: 1h, timeout: 1s, url: "oci://127.0.0.1:1/x", insecure: true}`,
	"Bucket":         `{interval: 1h, timeout: 1s, endpoint: "127.0.0.1:1", bucketName: x, insecure: true}`,
	"Kustomization":  `{interval: 1h, retryInterval: 1h, prune: true, sourceRef: {kind: GitRepository, name: x}}`,
	"Receiver":       `{type: generic, secretRef: {name: x}, resources: [{kind: GitRepository, name: x}]}`,
	"Provider":       `{type: generic, address: "http://127.0.0.1:1"}`,
	"Alert":          `{providerRef: {name: x}, eventSources: [{kind: GitRepository, name: x}]}`,
	"TenantRegistry": `{source: {type: configmap, syncInterval: 1h, configMap: {name: x, key: x}}, valueMappings: {uid: a, hostOrUrl: b, activate: c}}`,
	"TenantTemplate": `{registryId: x}`,
	"Tenant":         `{uid: x, templateRef: x}`,
	"CircuitBreaker": `{}`,
}

// statusless are kinds without a status, in which nothing can be reported.
var statusless = []string{"Provider", "Alert"}

// bad makes an object of a kind ("Kind group/version") with a text in place of BAD.
func bad(t *testing.T, namespace, name, kind, spec, text string) *unstructured.Unstructured {
	t.Helper()
	word, version, _ := strings.Cut(kind, " ")
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{}
	for _, part := range []string{required[word], strings.ReplaceAll(spec, "BAD", string(quoted))} {
		if err := yaml.Unmarshal([]byte(part), &fields); err != nil {
			t.Fatalf("%v in %s", err, part)
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": word, "spec": fields}}
	u.SetNamespace(namespace)
	u.SetName(name)
	if word == "CircuitBreaker" {
		u.SetNamespace("")
		u.SetName(namespace + "-" + name)
	}
	return u
}

// accepted creates the objects, and returns those that the API accepted.
func (y *yuba) accepted(t *testing.T, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	var taken []*unstructured.Unstructured
	for _, u := range objects {
		switch err := y.client.Create(t.Context(), u); {
		case err == nil:
			taken = append(taken, u)
		case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err):
			t.Errorf("the API fails at %s: %v", described(u), err)
		}
	}
	return taken
}

func described(u *unstructured.Unstructured) string {
	spec, err := json.Marshal(u.Object["spec"])
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %.40s: %.200s", u.GetKind(), u.GetName(), spec)
}

// tells reports whether an object was reconciled: it has a condition, or its kind has none.
func tells(u *unstructured.Unstructured) bool {
	if slices.Contains(statusless, u.GetKind()) {
		return true
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions") //nolint:errcheck // none are none
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, ok := c.(map[string]any)
		return ok && (condition["type"] == "Ready" || condition["type"] == "Valid") && condition["message"] != ""
	})
}

// eachEventually waits until something is true of all objects, and names the others on timeout.
func (y *yuba) eachEventually(t *testing.T, sentence string, objects []*unstructured.Unstructured, is func(live *unstructured.Unstructured, gone bool) bool) {
	t.Helper()
	left := slices.Clone(objects)
	for deadline := time.Now().Add(2 * patience); len(left) > 0; time.Sleep(200 * time.Millisecond) {
		left = slices.DeleteFunc(left, func(u *unstructured.Unstructured) bool {
			live := &unstructured.Unstructured{}
			live.SetGroupVersionKind(u.GroupVersionKind())
			err := y.client.Get(t.Context(), client.ObjectKeyFromObject(u), live)
			if client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
			if err == nil {
				u.Object["status"] = live.Object["status"]
			}
			return is(live, err != nil)
		})
		if time.Now().After(deadline) {
			for _, u := range left {
				status, _ := json.Marshal(u.Object["status"]) //nolint:errcheck // it came as JSON
				t.Errorf("not %s: %s\n    %.300s", sentence, described(u), status)
			}
			return
		}
	}
}

// behave checks that each object that the API accepts reports what is wrong with it, and that it
// can be deleted.
func (y *yuba) behave(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	taken := y.accepted(t, objects)
	t.Logf("the API took %d of %d objects", len(taken), len(objects))
	y.eachEventually(t, "reconciled", taken, func(live *unstructured.Unstructured, gone bool) bool { return gone || tells(live) })
	for _, u := range taken {
		if err := y.client.Delete(context.Background(), u); client.IgnoreNotFound(err) != nil {
			t.Errorf("delete %s: %v", described(u), err)
		}
	}
	y.eachEventually(t, "gone", taken, func(_ *unstructured.Unstructured, gone bool) bool { return gone })
}

func TestNoBadObjectStaysWithoutACondition(t *testing.T) {
	t.Parallel()
	y := alone(t)
	ns := y.namespace(t)
	var objects []*unstructured.Unstructured
	// Each field with the worst text, and with one of the others in turn.
	for kind, specs := range badFields {
		for _, spec := range specs {
			for _, text := range []string{"a/b", badTexts[len(objects)%len(badTexts)]} {
				objects = append(objects, bad(t, ns, fmt.Sprintf("bad-%d", len(objects)), kind, spec, text))
			}
		}
	}
	for i, n := range []int{33, 64, 232, 240, 253} {
		name := strings.Repeat("x", n-2) + fmt.Sprintf("-%d", i)
		for kind := range badFields {
			if !strings.HasSuffix(kind, "v1alpha1") {
				objects = append(objects, bad(t, ns, name, kind, "{}", ""))
			}
		}
	}
	y.behave(t, objects)
}

// Random combinations of bad fields find cases that the table lacks.
func TestNoObjectOfChanceStaysWithoutACondition(t *testing.T) {
	t.Parallel()
	y := alone(t)
	ns := y.namespace(t)
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any number
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // no secret
	var objects []*unstructured.Unstructured
	for kind, specs := range badFields {
		for range 6 {
			u := bad(t, ns, fmt.Sprintf("chance-%d", len(objects)), kind, "{}", "")
			for range 1 + chance.IntN(4) {
				more := bad(t, ns, "", kind, specs[chance.IntN(len(specs))], badTexts[chance.IntN(len(badTexts))])
				for field, value := range more.Object["spec"].(map[string]any) {
					u.Object["spec"].(map[string]any)[field] = value
				}
			}
			objects = append(objects, u)
		}
	}
	y.behave(t, objects)
}
