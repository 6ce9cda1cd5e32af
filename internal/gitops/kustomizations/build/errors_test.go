// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestBuildSaysWhatIsWrong(t *testing.T) {
	aboutValues := func(s *kustomizev1.KustomizationSpec) {
		s.PostBuild = &kustomizev1.PostBuild{Substitute: map[string]string{"token": "sesame: [\"", "b": "c"}}
	}
	prefixed := func(s *kustomizev1.KustomizationSpec) { s.NamePrefix = "a-" }
	cases := map[string]struct {
		files map[string]string
		spec  func(*kustomizev1.KustomizationSpec)
		want  string
	}{
		"invalid YAML": {files: map[string]string{"a.yaml": configMap, "b/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x: y\n"},
			want: "b/c.yaml:4: invalid YAML: mapping values are not allowed in this context"},
		"invalid YAML that kustomize reads": {spec: prefixed, files: map[string]string{"a.yaml": configMap, "b/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x: y\n"},
			want: "b/c.yaml:4: invalid YAML: mapping values are not allowed in this context"},
		"a tab": {files: map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: x\n"},
			want: "a.yaml:4: invalid YAML: found character that cannot start any token"},
		"an object without a name in a second document": {files: map[string]string{"a.yaml": configMap + "---\napiVersion: v1\nkind: Secret\nmetadata: {}\nstringData: {a: hunter2}\n"},
			want: "a.yaml:9: a Secret without metadata.name"},
		"an object without a kind": {files: map[string]string{"values.yaml": "replicas: 3\n"}, want: "values.yaml:1: an object without kind"},
		"a file that is no object": {files: map[string]string{"values.yaml": "- a\n- b\n"}, want: "values.yaml:1: not an object: it needs apiVersion, kind and metadata.name"},
		"a repeated key":           {files: map[string]string{"a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n  x: hunter2\n  x: hunter3\n"}, want: `a.yaml:6: key "x" is repeated`},
		"an object that is there twice": {files: map[string]string{"a.yaml": configMap, "b.yaml": configMap},
			want: "ConfigMap apps/settings is in a.yaml and in b.yaml; keep one"},
		"an object that kustomize finds twice": {spec: prefixed, files: map[string]string{"a.yaml": web + "---\n" + configMap, "b.yaml": configMap},
			want: "ConfigMap apps/settings is in a.yaml:17 and in b.yaml:1; keep one"},
		"a path that is not there": {spec: func(s *kustomizev1.KustomizationSpec) { s.Path = "./apps" }, files: map[string]string{"a.yaml": configMap},
			want: `kustomization path not found: "./apps" of spec.path is not in the artifact`},
		"a path that is a file": {spec: func(s *kustomizev1.KustomizationSpec) { s.Path = "a.yaml" }, files: map[string]string{"a.yaml": configMap},
			want: `kustomization path not found: "a.yaml" of spec.path is not a directory`},
		"two kustomization files": {files: map[string]string{"kustomization.yaml": "resources: []\n", "kustomization.yml": "resources: []\n"},
			want: "directory . has kustomization.yaml and kustomization.yml; keep one of them"},
		"a resource that is not there": {files: map[string]string{"apps/kustomization.yaml": "resources:\n- a.yaml\n- gone.yaml\n", "apps/a.yaml": configMap, "kustomization.yaml": "resources: [apps]\n"},
			want: `apps/kustomization.yaml:3: resources: "gone.yaml" is not in the artifact`},
		"a patch that is not there": {files: map[string]string{"kustomization.yaml": "resources: [a.yaml]\npatches:\n- path: gone.yaml\n", "a.yaml": configMap},
			want: `kustomization.yaml:3: patches: file "gone.yaml" is not in the artifact`},
		"a directory without a kustomization": {files: map[string]string{"kustomization.yaml": "resources:\n- base\n", "base/a.yaml": configMap},
			want: `kustomization.yaml:2: resources: directory "base" has no kustomization.yaml`},
		"a kustomization with a field that kustomize does not know": {files: map[string]string{"kustomization.yaml": "resources: [base]\n", "base/kustomization.yaml": "resources: [a.yaml]\nnamePrefx: a\n", "base/a.yaml": configMap},
			want: `base/kustomization.yaml:2: invalid kustomization: json: unknown field "namePrefx"`},
		// As in kustomize. Flux ignores the field, which would leave an empty build.
		"a field that kustomize does not know in the topmost one": {files: map[string]string{"kustomization.yaml": "namespace: a\nresource: [a.yaml]\n", "a.yaml": configMap},
			want: `kustomization.yaml:2: invalid kustomization: json: unknown field "resource"`},
		"kustomizations in a circle": {files: map[string]string{"kustomization.yaml": "resources: [base]\n", "base/kustomization.yaml": "resources: [../base2]\n", "base2/kustomization.yaml": "resources: [../base]\n"},
			want: `base2/kustomization.yaml:1: resources: "../base" leads back to base, which led here`},
		"a component that is missing": {spec: func(s *kustomizev1.KustomizationSpec) { s.Components = []string{"gone"} }, files: map[string]string{"a.yaml": configMap},
			want: `components: "gone" is not in the artifact`},
		"a component that is elsewhere": {spec: func(s *kustomizev1.KustomizationSpec) { s.Components = []string{"https://example.org/x"} }, files: map[string]string{"a.yaml": configMap},
			want: `component path "https://example.org/x" of spec.components must be local and relative`},
		"a patch of the spec that fits nothing": {spec: func(s *kustomizev1.KustomizationSpec) {
			s.Patches = []kustomize.Patch{{Patch: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"}}
		}, files: map[string]string{"a.yaml": configMap}, want: "kustomize build failed: no resource matches strategic merge patch"},
		"Helm charts": {files: map[string]string{"kustomization.yaml": "namespace: a\nhelmCharts:\n- name: x\n"},
			want: "kustomization.yaml:2: Helm charts are not rendered"},
		"a plugin that is a program": {files: map[string]string{"kustomization.yaml": "generators: [g.yaml]\n", "g.yaml": "apiVersion: example.org/v1\nkind: Run\nmetadata:\n  name: x\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ./run.sh}\n"},
			want: "external plugins disabled; unable to load external plugin 'Run"},
		"an expression that cannot be read, and its line": {spec: aboutValues, files: map[string]string{
			"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: n\ndata:\n  w: $${no-matter}\n  x: ${b:-${b}}\n  y: ${gone-with}\n"},
			want: "substitute variables in ConfigMap n/a (a.yaml:9): missing closing brace; write $${…} unless it is a variable"},
		"variables without values": {spec: aboutValues, files: map[string]string{
			"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: n\ndata:\n  x: ${b}\n  y: ${gone}-${also}\n", "b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: \"${third^^}\"}\n"},
			want: "substitute variables in ConfigMap n/a (a.yaml:8): no value for also, gone: strict substitution requires one, or a default as in ${also:=…}; $${also} is not substituted\n" +
				"substitute variables in ConfigMap c (b.yaml:4): no value for third"},
		"an expression that is none": {spec: aboutValues, files: map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: \"${not-a-name\"}\n"},
			want: "substitute variables in ConfigMap a (a.yaml:4): missing closing brace; write $${…} unless it is a variable, or annotate the object"},
		"a value that breaks the YAML": {spec: aboutValues, files: map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: \"${token}\"}\n"},
			want: "substitute variables in ConfigMap a (a.yaml:1): with its variables' values it is not valid YAML"},
		"a variable with a name that is none": {spec: func(s *kustomizev1.KustomizationSpec) {
			s.PostBuild = &kustomizev1.PostBuild{Substitute: map[string]string{"a-b": "c"}}
		}, files: map[string]string{"a.yaml": configMap}, want: `variables of spec.postBuild.substitute: "a-b" cannot be a variable's name`},
		"a ConfigMap that is not there": {spec: func(s *kustomizev1.KustomizationSpec) {
			s.PostBuild = &kustomizev1.PostBuild{SubstituteFrom: []kustomizev1.SubstituteReference{{Kind: "ConfigMap", Name: "gone"}}}
		}, files: map[string]string{"a.yaml": configMap}, want: `variables of spec.postBuild.substituteFrom: read ConfigMap team/gone: configmaps "gone" not found`},
		"a Secret whose key is no name": {spec: func(s *kustomizev1.KustomizationSpec) {
			s.PostBuild = &kustomizev1.PostBuild{SubstituteFrom: []kustomizev1.SubstituteReference{{Kind: "Secret", Name: "odd"}}}
		}, files: map[string]string{"a.yaml": configMap}, want: `Secret odd has the key "tls.crt", which cannot be a variable's name`},
		"an encrypted Secret without decryption": {files: map[string]string{"a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {x: \"ENC[AES256_GCM,data:xx]\"}\nsops: {mac: \"ENC[x]\"}\n"},
			want: "apply Secret a (a.yaml:1): it is encrypted with SOPS; name the key in spec.decryption"},
		"a Secret with keys that is not there": {spec: func(s *kustomizev1.KustomizationSpec) {
			s.Decryption = &kustomizev1.Decryption{Provider: "sops", SecretRef: &meta.LocalObjectReference{Name: "gone"}}
		}, files: map[string]string{"a.yaml": configMap}, want: `keys of spec.decryption: read Secret team/gone: secrets "gone" not found`},
	}
	values := FromAPI(fake.NewClientBuilder().WithObjects(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "odd"}, Data: map[string][]byte{"tls.crt": []byte("x")}}).Build())
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := files(t, c.files)
			_, err := Build(t.Context(), Input{Object: spec(c.spec), Dir: dir, Values: values, Strict: true})
			if err == nil {
				t.Fatal("it was built")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error:\n%v\nwant in it:\n%s", err, c.want)
			}
			for _, never := range []string{dir, "hunter", "sesame"} {
				if strings.Contains(err.Error(), never) {
					t.Errorf("error shows %q:\n%v", never, err)
				}
			}
		})
	}
}

func TestNothingIsFetched(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, configMap)
	}))
	defer server.Close()
	url := server.URL + "/a.yaml"
	transformer := "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npath: " + url + "\n"
	cases := map[string]string{
		"a file":                       "resources:\n- " + url + "\n",
		"a file with a password":       "resources:\n- https://me:hunter2@example.org/a.yaml\n",
		"a repository":                 "resources:\n- github.com/org/repo//base?ref=v1\n",
		"a repository through SSH":     "resources:\n- git@example.org:org/repo.git\n",
		"a repository, forced":         "resources:\n- git::https://example.org/org/repo\n",
		"a repository on this machine": "resources:\n- file:///tmp/repo\n",
		"a base":                       "bases:\n- " + url + "\n",
		"a component":                  "components:\n- " + url + "\n",
		"a patch":                      "resources: [here.yaml]\npatches:\n- path: " + url + "\n",
		"a JSON patch":                 "resources: [here.yaml]\npatchesJson6902:\n- path: " + url + "\n  target: {version: v1, kind: ConfigMap, name: settings}\n",
		"an old patch":                 "resources: [here.yaml]\npatchesStrategicMerge:\n- " + url + "\n",
		"a CRD":                        "resources: [here.yaml]\ncrds:\n- " + url + "\n",
		"a configuration":              "resources: [here.yaml]\nconfigurations:\n- " + url + "\n",
		"a schema":                     "resources: [here.yaml]\nopenapi:\n  path: " + url + "\n",
		"a replacement":                "resources: [here.yaml]\nreplacements:\n- path: " + url + "\n",
		"a generator's file":           "configMapGenerator:\n- name: a\n  files: [x=" + url + "]\n",
		"a generator's variables":      "secretGenerator:\n- name: a\n  envs: [\"" + url + "\"]\n",
		"a transformer":                "resources: [here.yaml]\ntransformers:\n- " + url + "\n",
		"a transformer's patch":        "resources: [here.yaml]\ntransformers: [t.yaml]\n",
		"an inline transformer's":      "resources: [here.yaml]\ntransformers:\n- |\n  " + strings.ReplaceAll(transformer, "\n", "\n  ") + "\n",
		"an address that looks inline": "resources: [here.yaml]\ntransformers:\n- |\n  " + url + "\n",
	}
	for name, kustomization := range cases {
		t.Run(name, func(t *testing.T) {
			dir := files(t, map[string]string{"kustomization.yaml": kustomization, "here.yaml": configMap, "t.yaml": transformer})
			_, err := Build(t.Context(), Input{Object: spec(nil), Dir: dir, Strict: true})
			if err == nil || !strings.Contains(err.Error(), "nothing else is fetched") && !strings.Contains(err.Error(), "must be a file or the configuration of a plugin") {
				t.Errorf("error: %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error shows a password: %v", err)
			}
			if asked.Load() != 0 {
				t.Fatal("it was fetched")
			}
		})
	}
}

func TestNoFileOutsideIsRead(t *testing.T) {
	outside := files(t, map[string]string{"secret.txt": "hunter2", "base/kustomization.yaml": "resources: [c.yaml]\n", "base/c.yaml": configMap, "x.yaml": configMap})
	cases := map[string]map[string]string{
		"by a path":             {"kustomization.yaml": "configMapGenerator:\n- name: a\n  files: [OUTSIDE/secret.txt]\n"},
		"by a relative path":    {"kustomization.yaml": "configMapGenerator:\n- name: a\n  files: [../../../../../../../../../../OUTSIDE/secret.txt]\n"},
		"by a link":             {"kustomization.yaml": "configMapGenerator:\n- name: a\n  files: [link/secret.txt]\n"},
		"by a link to a base":   {"kustomization.yaml": "resources: [link/base]\n"},
		"by a link to a file":   {"kustomization.yaml": "resources: [link/x.yaml]\n"},
		"by an absolute base":   {"kustomization.yaml": "resources: [OUTSIDE/base]\n"},
		"by a link among files": {"a.yaml": configMap},
	}
	for name, tree := range cases {
		t.Run(name, func(t *testing.T) {
			for file, text := range tree {
				tree[file] = strings.ReplaceAll(text, "OUTSIDE", outside)
			}
			dir := files(t, tree)
			if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(outside, "x.yaml"), filepath.Join(dir, "link.yaml")); err != nil {
				t.Fatal(err)
			}
			result, err := Build(t.Context(), Input{Object: spec(nil), Dir: dir, Strict: true})
			if err == nil {
				t.Fatalf("it was built: %v", result.Objects)
			}
			t.Log(err)
		})
	}
	dir := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "apps")); err != nil {
		t.Fatal(err)
	}
	_, err := Build(t.Context(), Input{Object: spec(func(s *kustomizev1.KustomizationSpec) { s.Path = "apps/base" }), Dir: dir})
	if at := (*PathError)(nil); !errors.As(err, &at) {
		t.Errorf("a path through a link: %v", err)
	}
}

func TestBuildsAreBounded(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i < 'j'; i++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	diamonds := map[string]string{"kustomization.yaml": "resources: [k00]\n", "k30/kustomization.yaml": "namePrefix: a\n"}
	for i := range 30 {
		diamonds[fmt.Sprintf("k%02d/kustomization.yaml", i)] = fmt.Sprintf("resources: [../k%02d, ../k%02d]\n", i+1, i+1)
	}
	substituted := func(vars map[string]string) func(*kustomizev1.KustomizationSpec) {
		return func(s *kustomizev1.KustomizationSpec) { s.PostBuild = &kustomizev1.PostBuild{Substitute: vars} }
	}
	text := func(data string) map[string]string {
		return map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: '" + data + "'\n"}
	}
	cases := map[string]struct {
		files map[string]string
		spec  func(*kustomizev1.KustomizationSpec)
		want  string
	}{
		"aliases that repeat aliases": {files: map[string]string{"a.yaml": configMap + bomb}, want: "a.yaml is too large to be built"},
		"the same in an inline patch": {files: map[string]string{"kustomization.yaml": "resources: [a.yaml]\npatches:\n- patch: |\n    " + strings.ReplaceAll(bomb, "\n", "\n    ") + "\n", "a.yaml": configMap},
			want: "kustomization.yaml:3 is too large to be built"},
		"the same in a patch of the spec": {files: map[string]string{"a.yaml": configMap}, spec: func(s *kustomizev1.KustomizationSpec) { s.Patches = []kustomize.Patch{{Patch: bomb}} },
			want: "is too large to be built"},
		"an alias that contains itself": {files: map[string]string{"a.yaml": configMap + "x: &x [1, *x]\n"}, want: "a.yaml:"},
		"depth by brackets":             {files: map[string]string{"a.yaml": configMap + "x: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n"}, want: "nested deeper than"},
		"depth by dashes":               {files: map[string]string{"a.yaml": configMap + "x:\n " + strings.Repeat("- ", 5000) + "1\n"}, want: "nested deeper than"},
		"a large file":                  {files: map[string]string{"a.yaml": configMap + "x: " + strings.Repeat("y", maxFile) + "\n"}, want: "a.yaml is too large to be built: at most 8 MiB"},
		"many values":                   {files: map[string]string{"a.yaml": configMap + "x: [" + strings.Repeat("1,", maxFileNodes) + "]\n"}, want: "a.yaml is too large to be built: at most 1000000 values"},
		"kustomizations that double":    {files: diamonds, want: "references between kustomizations"},
		"values that multiply":          {files: text(strings.Repeat("${a}", 10_000)), spec: substituted(map[string]string{"a": strings.Repeat("x", 10_000)}), want: "it would have more than"},
		"replacements that multiply":    {files: text("${a//x/" + strings.Repeat("y", 100_000) + "}"), spec: substituted(map[string]string{"a": strings.Repeat("x", 10_000)}), want: "too long to be replaced in"},
		"patterns on long values":       {files: text("${a##*y*y*y}"), spec: substituted(map[string]string{"a": strings.Repeat("x", 100_000)}), want: "are not trimmed"},
		"very many escapes":             {files: text(strings.Repeat("$$", 500_000)), spec: substituted(map[string]string{"a": "b"}), want: "escaped characters"},
		"very many expressions":         {files: text(strings.Repeat("${a}", 100_000)), spec: substituted(map[string]string{"a": "b"}), want: "expressions"},
		"copies that double": {files: map[string]string{"a.yaml": configMap}, spec: func(s *kustomizev1.KustomizationSpec) {
			patch := ""
			for range 40 {
				patch += "- {op: copy, from: /data, path: /data/x}\n- {op: copy, from: /data, path: /data/y}\n"
			}
			s.Patches = []kustomize.Patch{{Patch: patch, Target: &kustomize.Selector{Kind: "ConfigMap"}}}
		}, want: "the accumulated size increase of copy is"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Build(t.Context(), Input{Object: spec(c.spec), Dir: files(t, c.files), Strict: true})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error: %.300v\nwant in it: %s", err, c.want)
			}
		})
	}
}

func TestABuildEndsWithItsTime(t *testing.T) {
	leave, err := inProcess.Take(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Build(ctx, Input{Object: spec(func(s *kustomizev1.KustomizationSpec) { s.NamePrefix = "a" }), Dir: files(t, map[string]string{"a.yaml": configMap})})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
}

func TestBuildsAtTheSameTimeDoNotDisturbEachOther(t *testing.T) {
	schema := map[string]string{"kustomization.yaml": "resources: [a.yaml]\nopenapi: {version: v1.21.2}\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: settings, namespace: apps}\n    data: {x: y}\n", "a.yaml": configMap}
	patched := map[string]string{"kustomization.yaml": "resources: [a.yaml]\nnamespace: prod\npatches:\n- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: web, namespace: apps}\n    spec: {replicas: 7}\n", "a.yaml": web}
	plain := map[string]string{"a.yaml": web, "b.yaml": configMap}
	var wait sync.WaitGroup
	for _, tree := range []map[string]string{schema, patched, plain} {
		dir := files(t, tree)
		first, err := Build(t.Context(), Input{Object: spec(nil), Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			wait.Go(func() {
				again, err := Build(t.Context(), Input{Object: spec(nil), Dir: dir})
				if err != nil || again.Digest != first.Digest {
					t.Errorf("built another time: %v, %v", again, err)
				}
			})
		}
	}
	wait.Wait()
}
