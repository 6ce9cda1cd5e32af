// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// others are the objects that the next test refers to, one of each kind.
const others = `
- {id: infra, object: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {writeOutputsToSecret: {name: outputs}}}}
- {id: secret, object: {apiVersion: v1, kind: Secret}}
- {id: config, object: {apiVersion: v1, kind: ConfigMap}}
- {id: account, object: {apiVersion: v1, kind: ServiceAccount}}
- {id: claim, object: {apiVersion: v1, kind: PersistentVolumeClaim}}
- {id: service, object: {apiVersion: v1, kind: Service}}
- {id: app, object: {apiVersion: apps/v1, kind: Deployment}}
- {id: role, object: {apiVersion: rbac.authorization.k8s.io/v1, kind: Role}}
- {id: git, object: {apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository}}
- {id: flux, object: {apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization}}
- {id: ns, object: {apiVersion: v1, kind: Namespace, metadata: {name: apart}}}
- {id: apart, object: {apiVersion: v1, kind: Secret, metadata: {name: secret, namespace: other}}}
- {id: knative, object: {apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: service}}}
`

func TestReferences(t *testing.T) {
	for sentence, test := range map[string]struct {
		object string
		want   []string
	}{
		"the environment of a Pod": {
			`{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {
				initContainers: [{envFrom: [{configMapRef: {name: config}}]}],
				containers: [{env: [{name: A, value: a}, {name: B, valueFrom: {secretKeyRef: {name: outputs, key: b}}}, {name: C, valueFrom: {secretKeyRef: {name: outputs, key: c}}}]}, {envFrom: [{secretRef: {name: secret}}]}]}}}}`,
			[]string{"x -> config (ConfigMap shops/config)", "x -> infra (Secret shops/outputs) ready", "x -> secret (Secret shops/secret)"},
		},
		"volumes of a Pod": {
			`{apiVersion: apps/v1, kind: StatefulSet, spec: {serviceName: service, template: {spec: {volumes: [{name: a, secret: {secretName: outputs}}, {name: b, configMap: {name: config}},
				{name: c, persistentVolumeClaim: {claimName: claim}}, {name: d, projected: {sources: [{secret: {name: secret}}]}}, {name: e, emptyDir: {}}, {name: f, cephfs: {secretRef: {name: secret}}}]}}}}`,
			[]string{"x -> infra (Secret shops/outputs) ready", "x -> config (ConfigMap shops/config)", "x -> claim (PersistentVolumeClaim shops/claim)", "x -> secret (Secret shops/secret)", "x -> service (Service shops/service)"},
		},
		"an account and how images are pulled": {
			`{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {template: {spec: {serviceAccountName: account, imagePullSecrets: [{name: secret}]}}}}}}`,
			[]string{"x -> account (ServiceAccount shops/account)", "x -> secret (Secret shops/secret)"},
		},
		"a Pod's account by its old name": {`{apiVersion: v1, kind: Pod, spec: {serviceAccount: account}}`, []string{"x -> account (ServiceAccount shops/account)"}},
		"what is optional is not waited for": {
			`{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {volumes: [{secret: {secretName: outputs, optional: true}}, {configMap: {name: config, optional: true}}],
				containers: [{envFrom: [{secretRef: {name: secret, optional: true}}], env: [{valueFrom: {configMapKeyRef: {name: config, key: k, optional: true}}}]}]}}}}`, nil,
		},
		"an Ingress": {
			`{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {tls: [{secretName: secret}], rules: [{host: a}, {http: {paths: [{path: /, backend: {service: {name: service}}}]}}]}}`,
			[]string{"x -> service (Service shops/service)", "x -> secret (Secret shops/secret)"},
		},
		"an Ingress with a Service for all": {`{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {service: {name: service}}}}`, []string{"x -> service (Service shops/service)"}},
		"an autoscaler":                     {`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: app}}}`, []string{"x -> app (Deployment shops/app)"}},
		"who may do what":                   {`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {kind: Role, name: role}, subjects: [{kind: User, name: account}, {kind: ServiceAccount, name: account}]}`, []string{"x -> role (Role shops/role)", "x -> account (ServiceAccount shops/account)"}},
		"a stack": {
			`{apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {sourceRef: {kind: GitRepository, name: git}, dependsOn: [{name: infra}], varsFrom: [{kind: Secret, name: secret}, {kind: Other, name: x}],
				vars: [{name: a, valueFrom: {configMapKeyRef: {name: config, key: a}}}], readInputsFromSecrets: [{name: outputs, as: net}], cliConfigSecretRef: {name: secret, namespace: other}}}`,
			[]string{"x -> git (GitRepository shops/git)", "x -> infra (Terraform shops/infra) ready", "x -> config (ConfigMap shops/config)", "x -> secret (Secret shops/secret)", "x -> apart (Secret other/secret)"},
		},
		"a stack that reads what it writes, and nothing else": {`{apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {varsFrom: [{kind: Secret, name: own}, {kind: Secret, name: outputs, optional: true}], writeOutputsToSecret: {name: own}}}`, nil},
		"Secrets of a stack in other fields": {
			`{apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {serviceAccountName: account, envFrom: [{secretRef: {name: secret}}], fileMappings: [{secretRef: {name: outputs, key: k}}], backendConfigsFrom: [{kind: ConfigMap, name: config}], runnerPodTemplate: {spec: {envFrom: [{secretRef: {name: secret}}], volumes: [{persistentVolumeClaim: {claimName: claim}}]}}}}`,
			[]string{"x -> account (ServiceAccount shops/account)", "x -> secret (Secret shops/secret)", "x -> config (ConfigMap shops/config)", "x -> infra (Secret shops/outputs) ready", "x -> claim (PersistentVolumeClaim shops/claim)"},
		},
		"manifests from a source": {
			`{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, spec: {sourceRef: {kind: GitRepository, name: git}, dependsOn: [{name: flux}], postBuild: {substituteFrom: [{kind: Secret, name: outputs}, {kind: ConfigMap, name: config, optional: true}]}}}`,
			[]string{"x -> git (GitRepository shops/git)", "x -> flux (Kustomization shops/flux) ready", "x -> infra (Secret shops/outputs) ready"},
		},
		"a release of a chart": {
			`{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: {chart: {spec: {sourceRef: {kind: GitRepository, name: git}}}, valuesFrom: [{kind: Secret, name: outputs}]}}`,
			[]string{"x -> git (GitRepository shops/git)", "x -> infra (Secret shops/outputs) ready"},
		},
		"a namespace":                     {`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: apart}}`, []string{"x -> ns (Namespace apart) ready"}},
		"a Secret of that name elsewhere": {`{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: apart}, secrets: [{name: secret}]}`, []string{"x -> ns (Namespace apart) ready"}},
		"a custom kind with Pods":         {`{apiVersion: example.org/v1, kind: Rollout, spec: {template: {spec: {volumes: [{secret: {secretName: secret}}]}}}}`, []string{"x -> secret (Secret shops/secret)"}},
		"a custom kind, by the usual names": {
			`{apiVersion: example.org/v1, kind: Thing, spec: {auth: [{secretRef: {name: outputs}}, {password: {secretKeyRef: {name: secret, namespace: other, key: k}}}], more: {configMapRef: {name: config, optional: true}, configMapKeyRef: [x]}}}`,
			[]string{"x -> infra (Secret shops/outputs) ready", "x -> apart (Secret other/secret)"}},
		"a kind of Kubernetes that has no such references": {`{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {secretRef: {name: secret}}}`, nil},
		"fields of other types than theirs":                {`{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {volumes: {secret: x}, containers: [7, null, {env: x, envFrom: [[]]}], serviceAccountName: 3, imagePullSecrets: [secret]}}}}`, nil},
		"a template where an object is due":                {`{apiVersion: apps/v1, kind: Deployment, spec: [a]}`, nil},
		"an object that is nothing but kind":               {`{apiVersion: networking.k8s.io/v1, kind: Ingress}`, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			g, err := Of(objectsOf(t, others+"- id: x\n  object: "+flow(test.object)+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, edges(g)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// flow writes YAML with braces on one line.
func flow(text string) string {
	out := []byte(text)
	for i, c := range out {
		if c == '\t' || c == '\n' {
			out[i] = ' '
		}
	}
	return string(out)
}

// TestWhoOnlyHasToBeThere: waitForReady applies to references, too.
func TestWhoOnlyHasToBeThere(t *testing.T) {
	g, err := Of(objectsOf(t, `
- {id: infra, waitForReady: false, object: {apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, spec: {writeOutputsToSecret: {name: outputs}}}}
- {id: x, object: {apiVersion: v1, kind: ServiceAccount, secrets: [{name: outputs}]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x -> infra (Secret shops/outputs)"}, edges(g)); diff != "" {
		t.Error(diff)
	}
}

// FuzzOf: manifests may have any shape.
func FuzzOf(f *testing.F) {
	for _, kind := range []string{"apps/v1 Deployment", "v1 Pod", "infra.contrib.fluxcd.io/v1alpha2 Terraform", "networking.k8s.io/v1 Ingress", "helm.toolkit.fluxcd.io/v2 HelmRelease"} {
		var version, name string
		if _, err := fmt.Sscan(kind, &version, &name); err != nil {
			f.Fatal(err)
		}
		f.Add(version, name, `{"template": {"spec": {"volumes": [{"secret": {"secretName": "out"}}]}}, "writeOutputsToSecret": {"name": "out"}, "dependsOn": [{"name": "x"}], "varsFrom": [{"kind": "Secret", "name": "out"}]}`)
		f.Add(version, name, `{"sourceRef": [], "chart": 3, "rules": [[{}]], "env": {"a": null}, "volumes": ["x"]}`)
	}
	f.Fuzz(func(t *testing.T, apiVersion, kind, spec string) {
		var value any
		if json.Unmarshal([]byte(spec), &value) != nil {
			return
		}
		var objects []Node
		for _, id := range []string{"x", "out"} {
			objects = append(objects, Node{ID: id, Gated: true, Object: &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": id, "namespace": "shops"}, "spec": value}}})
		}
		g, err := Of(objects)
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		if len(g.Order()) != 2 {
			t.Errorf("%s: the order is %v", spec, g.Order())
		}
	})
}
