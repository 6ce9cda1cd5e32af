// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/kustomize"
	generator "github.com/fluxcd/pkg/kustomize"
	ssautil "github.com/fluxcd/pkg/ssa/utils"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// files writes a tree.
func files(t testing.TB, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// asFlux builds a tree with Flux's own functions, in the order in which its controller calls them.
func asFlux(t *testing.T, content map[string]string, object *kustomizev1.Kustomization, values client.Client, strict bool) []*unstructured.Unstructured {
	t.Helper()
	root := files(t, content)
	dir := filepath.Join(root, filepath.Join("/", object.Spec.Path))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	u := unstructured.Unstructured{Object: fields}
	if _, err := generator.NewGenerator(root, u).WriteFile(dir); err != nil {
		t.Fatalf("Flux's generator: %v", err)
	}
	built, err := generator.SecureBuild(root, dir, false)
	if err != nil {
		t.Fatalf("Flux's build: %v", err)
	}
	for _, r := range built.Resources() {
		if object.Spec.PostBuild == nil {
			continue
		}
		substituted, err := generator.SubstituteVariables(t.Context(), values, u, r, generator.SubstituteWithStrict(strict),
			generator.SubstituteWithAlways(object.GetSubstituteStrategy() == kustomizev1.SubstituteStrategyAlways))
		if err != nil {
			t.Fatalf("Flux's substitution: %v", err)
		}
		if substituted != nil {
			if _, err := built.Replace(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := ssautil.ReadObjects(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if common := object.Spec.CommonMetadata; common != nil {
		ssautil.SetCommonMetadata(objects, common.Labels, common.Annotations)
	}
	return objects
}

const (
	configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: apps\ndata:\n  colour: blue\n"
	secret    = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: password\nstringData:\n  password: hunter2\n"
	namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: apps\n"
	web       = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # the shop
  namespace: apps
spec:
  replicas: 2
  template:
    spec:
      serviceAccountName: web
      containers:
        - name: web
          image: shop/web:1.0
          envFrom:
            - configMapRef: {name: settings}
`
	stack = `apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata:
  name: network
spec:
  interval: 10m
  approvePlan: auto
  path: ./network
  sourceRef: {kind: OCIRepository, name: network}
`
	roles = `apiVersion: v1
kind: ServiceAccount
metadata:
  name: web
  namespace: apps
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: web
  namespace: apps
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects:
  - kind: ServiceAccount
    name: web
`
)

// spec builds a Kustomization.
func spec(change func(*kustomizev1.KustomizationSpec)) *kustomizev1.Kustomization {
	object := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "apps"}}
	if change != nil {
		change(&object.Spec)
	}
	return object
}

type likeFlux struct {
	files  map[string]string
	spec   func(*kustomizev1.KustomizationSpec)
	values []client.Object
	strict bool
	// direct is true if kustomize is not needed.
	direct bool
}

func TestBuildIsWhatFluxBuilds(t *testing.T) {
	cases := map[string]likeFlux{
		"a directory of files without a kustomization": {direct: true, files: map[string]string{
			"web.yaml": web, "z/settings.yml": configMap, "a/b/ns.yaml": namespace, "a/password.yaml": secret, "README.md": "# nothing", "stack.yaml": stack}},
		"documents that are empty, comments, lists and JSON": {direct: true, files: map[string]string{
			"all.yaml":  "# first\n---\n---\n" + configMap + "---\n# nothing\n---\nnull\n---\n" + web,
			"list.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n- apiVersion: v1\n  kind: ConfigMapList\n  items:\n  - {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n",
			"json.yaml": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}`, "empty.yaml": ""}},
		"all that YAML makes of scalars": {direct: true, files: map[string]string{"x.yaml": `apiVersion: example.org/v1
kind: Thing
metadata: {name: thing, annotations: {a: "true", b: "1"}}
spec: {int: 3, big: 9007199254740993, neg: -1, float: 1.5, exp: 1e3, exp2: 1.0e+10, oct: 0o17, old: 017, hex: 0x1F, yes: yes, on: on, t: true, null1: ~, null2: null, none: , s: '3', date: 2026-01-02, b: !!binary aGk=, inf: 12e03, e: "", dot: ., tilde: "~", list: [], map: {}, "3": x}
text: |
  two
    lines
folded: >-
  one
  line
quoted: "tab\t and \u00e9"
anchors: &a {x: 1}
again: *a
merged: {<<: *a, y: 2}
`}},
		"an object that is only local": {direct: true, files: map[string]string{"a.yaml": configMap,
			"b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: local\n  annotations: {config.kubernetes.io/local-config: \"true\"}\n",
			"c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: notlocal\n  annotations: {config.kubernetes.io/local-config: \"false\"}\n"}},
		"kinds and names in another order than their files'": {direct: true, files: map[string]string{
			"1.yaml": "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\n", "2.yaml": web, "3.yaml": namespace,
			"4.yaml": "apiVersion: other/v1\nkind: Namespace\nmetadata: {name: foreign}\n", "5.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x.y}\n",
			"6.yaml": stack, "7.yaml": configMap, "8.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: zz, namespace: aa}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: aa}\n",
			"9.yaml": "apiVersion: aaa/v1\nkind: Thing\nmetadata: {name: a}\n---\napiVersion: aaa/v2\nkind: Thing\nmetadata: {name: a}\n---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\n"}},
		"kustomizations that only list resources": {direct: true, files: map[string]string{
			"kustomization.yaml": "resources: [web.yaml, base, ./more.yaml]\n", "web.yaml": web, "more.yaml": secret, "ignored.yaml": stack,
			"base/kustomization.yml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- ../shared/ns.yaml\n- c.yaml\n", "base/c.yaml": configMap, "shared/ns.yaml": namespace}},
		"a directory with a kustomization below one without": {direct: true, files: map[string]string{
			"web.yaml": web, "base/Kustomization": "resources: [c.yaml]\n", "base/c.yaml": configMap, "base/ignored.yaml": stack, "base/deep/x.yaml": stack}},
		"a path with dots": {direct: true, spec: func(s *kustomizev1.KustomizationSpec) { s.Path = "./x/../apps/" },
			files: map[string]string{"apps/web.yaml": web, "other.yaml": configMap, "x/y.yaml": stack}},
		"a directory without anything":                                    {files: map[string]string{"README.md": "empty"}, direct: false},
		"bindings, in which kustomize writes the namespace of an account": {files: map[string]string{"roles.yaml": roles, "web.yaml": web}},
		"target namespace": {spec: func(s *kustomizev1.KustomizationSpec) { s.TargetNamespace = "prod" },
			files: map[string]string{"web.yaml": web, "ns.yaml": namespace, "roles.yaml": roles, "c.yaml": configMap, "s.yaml": stack}},
		"prefix and suffix, and references to what is renamed": {spec: func(s *kustomizev1.KustomizationSpec) { s.NamePrefix, s.NameSuffix = "a-", "-z" },
			files: map[string]string{"web.yaml": web, "c.yaml": configMap, "roles.yaml": roles}},
		"patches of both kinds": {spec: func(s *kustomizev1.KustomizationSpec) {
			s.Patches = []kustomize.Patch{
				{Patch: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: apps}\nspec: {replicas: 5}\n"},
				{Patch: "- {op: add, path: /metadata/labels, value: {x: y}}\n- {op: replace, path: /data/colour, value: red}\n", Target: &kustomize.Selector{Kind: "ConfigMap", Name: "set.*"}},
				{Patch: "$patch: delete\napiVersion: v1\nkind: Secret\nmetadata: {name: password}\n"}}
		}, files: map[string]string{"web.yaml": web, "c.yaml": configMap, "s.yaml": secret}},
		"images, laid over those of the directory": {spec: func(s *kustomizev1.KustomizationSpec) {
			s.Images = []kustomize.Image{{Name: "shop/web", NewName: "registry/web"}, {Name: "shop/db", NewTag: "2"}}
		}, files: map[string]string{"kustomization.yaml": "resources: [web.yaml]\nimages:\n- {name: shop/web, newTag: \"7\"}\n", "web.yaml": web}},
		"components, one of them missing": {spec: func(s *kustomizev1.KustomizationSpec) {
			s.Path, s.Components, s.IgnoreMissingComponents = "app", []string{"../component", "../gone"}, true
		}, files: map[string]string{"app/web.yaml": web,
			"component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels: [{pairs: {team: a}}]\nresources: [c.yaml]\n", "component/c.yaml": configMap}},
		"generators, hashes and references to them": {files: map[string]string{
			"kustomization.yaml": "resources: [web.yaml]\nnamespace: apps\nconfigMapGenerator:\n- name: settings\n  literals: [a=b]\n  files: [motd.txt, other=motd.txt]\n  envs: [x.env]\nsecretGenerator:\n- name: key\n  files: [motd.txt]\n",
			"web.yaml":           web, "motd.txt": "hello\n", "x.env": "A=1\nB=two\n"}},
		"generators alone, whose objects Flux annotates with their origin": {files: map[string]string{
			"kustomization.yaml": "configMapGenerator:\n- {name: settings, literals: [a=b]}\ngeneratorOptions: {disableNameSuffixHash: true}\n"}},
		"labels, annotations, replicas, replacements and variables": {files: map[string]string{
			"kustomization.yaml": "resources: [web.yaml, c.yaml]\ncommonLabels: {app: web}\ncommonAnnotations: {note: x}\nlabels: [{pairs: {l: m}, includeSelectors: false}]\nreplicas: [{name: web, count: 9}]\n" +
				"replacements:\n- source: {kind: ConfigMap, name: settings, fieldPath: data.colour}\n  targets: [{select: {kind: Deployment}, fieldPaths: [metadata.annotations.colour], options: {create: true}}]\n" +
				"vars:\n- {name: COLOUR, objref: {apiVersion: v1, kind: ConfigMap, name: settings}, fieldref: {fieldpath: data.colour}}\n",
			"web.yaml": web, "c.yaml": configMap}},
		"build metadata": {spec: func(s *kustomizev1.KustomizationSpec) {
			s.BuildMetadata = []kustomizev1.BuildMetadataOption{kustomizev1.BuildMetadataOriginAnnotations, kustomizev1.BuildMetadataTransformerAnnotations}
			s.NamePrefix = "a-"
		}, files: map[string]string{"web.yaml": web, "base/kustomization.yaml": "resources: [c.yaml]\n", "base/c.yaml": configMap}},
		"an order of its own": {files: map[string]string{"kustomization.yaml": "resources: [web.yaml, ns.yaml]\nsortOptions: {order: fifo}\n", "web.yaml": web, "ns.yaml": namespace}},
		"a schema of its own": {files: map[string]string{"kustomization.yaml": "resources: [x.yaml]\nopenapi: {path: schema.json}\npatches:\n- patch: |-\n    apiVersion: example.org/v1\n    kind: Thing\n    metadata: {name: a}\n    spec: {parts: [{name: two, v: 9}]}\n",
			"x.yaml":      "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a}\nspec: {parts: [{name: one, v: 1}, {name: two, v: 2}]}\n",
			"schema.json": `{"definitions":{"Thing":{"properties":{"spec":{"properties":{"parts":{"type":"array","items":{"type":"object"},"x-kubernetes-patch-merge-key":"name","x-kubernetes-patch-strategy":"merge"}},"type":"object"}},"type":"object","x-kubernetes-group-version-kind":[{"group":"example.org","kind":"Thing","version":"v1"}]}}}`}},
		"common metadata": {direct: true, spec: func(s *kustomizev1.KustomizationSpec) {
			s.CommonMetadata = &kustomizev1.CommonMetadata{Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"b": "c"}}
		}, files: map[string]string{"web.yaml": web, "c.yaml": configMap}},
		"variables: types, defaults, functions, escapes and order of precedence": {direct: true, strict: true, spec: func(s *kustomizev1.KustomizationSpec) {
			s.PostBuild = &kustomizev1.PostBuild{Substitute: map[string]string{"inline": "i\nj", "both": "inline", "n": "3", "flag": "true", "empty": ""},
				SubstituteFrom: []kustomizev1.SubstituteReference{{Kind: "ConfigMap", Name: "first"}, {Kind: "Secret", Name: "second"}, {Kind: "ConfigMap", Name: "gone", Optional: true}}}
		}, values: []client.Object{
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "first"}, Data: map[string]string{"from": "first", "late": "first", "both": "first"}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "second"}, Data: map[string][]byte{"late": []byte("second"), "key": []byte("k=v")}}},
			files: map[string]string{"x.yaml": "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: \"a-${from}\"}\nspec:\n  a: ${n}\n  b: \"${n}\"\n  c: ${flag}\n  d: ${nothing:=fallback} ${nothing:-${from}}\n  e: ${inline}-${both}-${late}\n  f: $${literal} $$x $y ${from^^} ${from:1:2} ${from//r/R}\n  g: '${key}'\n  h: ${empty}\n  i: ${#from}\n  j: |\n    line ${from}\n    ${late}\n",
				"y.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: raw, annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}\ndata: {a: \"${nowhere}\"}\n",
				"z.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: raw2, labels: {kustomize.toolkit.fluxcd.io/substitute: disabled}}\ndata: {a: \"${nowhere}\"}\n"}},
		"variables without a value, when that is allowed": {direct: true, spec: func(s *kustomizev1.KustomizationSpec) {
			s.PostBuild = &kustomizev1.PostBuild{Substitute: map[string]string{"a": "b"}}
		}, files: map[string]string{"x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: \"-${missing}-\", b: \"${a}\"}\n"}},
		"no variables at all: expressions stay": {direct: true, strict: true, spec: func(s *kustomizev1.KustomizationSpec) { s.PostBuild = &kustomizev1.PostBuild{} },
			files: map[string]string{"x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: \"${missing} $$\"}\n"}},
		"no variables, and expressions are evaluated always": {direct: true, strict: true, spec: func(s *kustomizev1.KustomizationSpec) {
			s.PostBuild = &kustomizev1.PostBuild{SubstituteStrategy: kustomizev1.SubstituteStrategyAlways}
		}, files: map[string]string{"x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: \"${missing:=d} $$\"}\n"}},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			object := spec(c.spec)
			values := fake.NewClientBuilder().WithObjects(c.values...).Build()
			in := Input{Object: object, Dir: files(t, c.files), Values: FromAPI(values), Strict: c.strict}
			got, err := Build(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			want := asFlux(t, c.files, object, values, c.strict)
			if diff := cmp.Diff(want, got.Objects); diff != "" {
				t.Errorf("objects (-Flux +ours):\n%s", diff)
			}
			if c.direct != builtDirectly(t, in) {
				t.Errorf("built directly: %v, want %v", !c.direct, c.direct)
			}
			again, err := Build(t.Context(), in)
			if err != nil || again.Digest != got.Digest {
				t.Errorf("the same build has digest %v, then %v (%v)", got.Digest, again.Digest, err)
			}
			in.Programs, in.apart = programs(t), true
			apart, err := Build(t.Context(), in)
			if err != nil || apart.Digest != got.Digest {
				t.Errorf("in a process of its own: %v, %v", apart, err)
			}
		})
	}
}

// builtDirectly reports whether a tree is read without kustomize.
func builtDirectly(t *testing.T, in Input) bool {
	t.Helper()
	root, err := openTree(in.Dir, in.Object.Spec.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := &look{t: root, plain: true}
	file, kus, err := root.topmost()
	if err != nil {
		t.Fatal(err)
	}
	if err := root.add(kus, &in.Object.Spec); err != nil {
		t.Fatal(err)
	}
	if err := l.kustomization(root.dir, kus, file, nil); err != nil {
		t.Fatal(err)
	}
	defer cancel()
	if !l.plain {
		return false
	}
	_, done, err := l.direct(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return done
}
