// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// localFiles writes files into a directory.
func localFiles(t *testing.T, content map[string]string) string {
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

const appsFile = `apiVersion: v1
kind: ConfigMap
metadata: {name: unrelated}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: apps
spec:
  interval: 10m
  path: ./apps
  prune: true
  sourceRef: {kind: GitRepository, name: infra}
  targetNamespace: shop
  postBuild:
    substitute: {colour: blue}
`

func TestBuildKustomizationNeedsNoAPI(t *testing.T) {
	dir := localFiles(t, map[string]string{
		"ks.yaml":                  appsFile,
		"apps/kustomization.yaml":  "resources: [c.yaml, ../base]\n",
		"apps/c.yaml":              "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {colour: \"${colour}\", size: \"${size:=3}\", gone: \"-${gone}-\"}\n",
		"base/kustomization.yaml":  "resources: [s.yaml]\n",
		"base/s.yaml":              "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: \"ENC[AES256_GCM,data:x]\"}\nsops: {mac: \"ENC[AES256_GCM,data:x]\", age: []}\n",
		"elsewhere/unrelated.yaml": "nothing: of the kind\n",
	})
	before := tree(t, dir)
	call := func(args ...string) called {
		var out, news strings.Builder
		code := Execute(t.Context(), append([]string{"build", "kustomization", "apps", "--path", filepath.Join(dir, "apps"), "--kustomization-file", filepath.Join(dir, "ks.yaml"), "--dry-run"}, args...),
			strings.NewReader(""), &out, &news)
		return called{out.String(), news.String(), code}
	}
	call().want(t, ui.ExitOK, `apiVersion: v1
data:
  colour: blue
  gone: --
  size: 3
kind: ConfigMap
metadata:
  name: c
  namespace: shop
---
apiVersion: v1
kind: Secret
metadata:
  name: s
  namespace: shop
stringData:
  a: '**SOPS**'
`)
	var list struct {
		Items []struct{ Kind string }
	}
	if got := call("-o", "json"); got.code != ui.ExitOK || json.Unmarshal([]byte(got.out), &list) != nil || len(list.Items) != 2 {
		t.Errorf("as JSON: %d %s%s", got.code, got.out, got.news)
	}
	call("--strict-substitute").want(t, ui.ExitFailure, "", "substitute variables in ConfigMap shop/c (apps/c.yaml:4): no value for gone")
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("files have changed:\n%s", diff)
	}
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestBuildKustomizationRefuses(t *testing.T) {
	dir := localFiles(t, map[string]string{"ks.yaml": appsFile, "apps/c.yaml": "a: b: c\n", "odd.yaml": strings.Replace(appsFile, "  path:", "  pth:", 1)})
	apps, file := filepath.Join(dir, "apps"), filepath.Join(dir, "ks.yaml")
	for name, c := range map[string]struct {
		args []string
		code int
		news string
	}{
		"no path":                        {[]string{"apps"}, ui.ExitUsage, "--path is missing"},
		"a path that is none":            {[]string{"apps", "--path", file}, ui.ExitUsage, "is not a directory"},
		"a dry run without a file":       {[]string{"apps", "--path", apps, "--dry-run"}, ui.ExitUsage, "--dry-run needs --kustomization-file"},
		"a file without it":              {[]string{"other", "--path", apps, "--dry-run", "--kustomization-file", file}, ui.ExitNotFound, "has no Kustomization other"},
		"a file with an unknown field":   {[]string{"apps", "--path", apps, "--dry-run", "--kustomization-file", filepath.Join(dir, "odd.yaml")}, ui.ExitFailure, `unknown field "pth"`},
		"files that are no objects":      {[]string{"apps", "--path", apps, "--dry-run", "--kustomization-file", file}, ui.ExitFailure, "apps/c.yaml:1: invalid YAML"},
		"a file of another namespace":    {[]string{"prod/apps", "--path", apps, "--dry-run", "--kustomization-file", filepath.Join(dir, "gone.yaml")}, ui.ExitFailure, "read the Kustomization: open"},
		"a form that it does not write":  {[]string{"apps", "--path", apps, "-o", "name"}, ui.ExitUsage, "name"},
		"a command that there is not":    {nil, ui.ExitOK, ""},
		"a diff without a path, as well": {[]string{"--diff"}, ui.ExitUsage, "--path is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"build", "kustomization"}, c.args...)
			switch {
			case c.args == nil:
				args = []string{"build"}
			case c.args[0] == "--diff":
				args = []string{"diff", "ks", "apps"}
			}
			var out, news strings.Builder
			if code := Execute(t.Context(), args, strings.NewReader(""), &out, &news); code != c.code || !strings.Contains(news.String(), c.news) {
				t.Errorf("code %d, want %d: %s", code, c.code, news.String())
			}
		})
	}
}

func TestDiffKustomizationAsksTheAPI(t *testing.T) {
	ns := apitest.Namespace(t)
	ctx := context.Background()
	api := apitest.Client(t)
	owned := func(name string) metav1.ObjectMeta {
		o := appliedBy(named(ns, name), "apps")
		return o
	}
	k := &kustomizev1.Kustomization{ObjectMeta: named(ns, "apps"), Spec: kustomizev1.KustomizationSpec{Prune: true, Path: "apps",
		SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "infra"}, Interval: metav1.Duration{Duration: 1e12}, TargetNamespace: ns,
		PostBuild: &kustomizev1.PostBuild{SubstituteFrom: []kustomizev1.SubstituteReference{{Kind: "ConfigMap", Name: "values"}}}}}
	for _, id := range []string{"same", "drifted", "gone", "kept", "already"} {
		k.Status.Inventory = withEntry(k.Status.Inventory, ns+"_"+id+"__ConfigMap")
	}
	kept := owned("kept")
	kept.Annotations = map[string]string{"kustomize.toolkit.fluxcd.io/prune": "disabled"}
	put(t, k,
		&corev1.ConfigMap{ObjectMeta: named(ns, "values"), Data: map[string]string{"colour": "blue"}},
		&corev1.ConfigMap{ObjectMeta: owned("same"), Data: map[string]string{"colour": "blue"}},
		&corev1.ConfigMap{ObjectMeta: owned("drifted"), Data: map[string]string{"colour": "red", "text": "one\ntwo\nthree\n"}},
		&corev1.ConfigMap{ObjectMeta: owned("gone")},
		&corev1.ConfigMap{ObjectMeta: kept},
		&corev1.Secret{ObjectMeta: owned("secret"), Data: map[string][]byte{"password": []byte("hunter2")}},
		&corev1.Secret{ObjectMeta: owned("sealed"), Data: map[string][]byte{"password": []byte("hunter2")}})
	content := map[string]string{
		"apps/same.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: same}\ndata: {colour: \"${colour}\"}\n",
		"apps/drifted.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: drifted}\ndata:\n  colour: ${colour}\n  text: |\n    one\n    2\n    three\n",
		"apps/new.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n",
		"apps/secret.yaml":  "apiVersion: v1\nkind: Secret\nmetadata: {name: secret}\nstringData: {password: hunter3}\n",
		"apps/sealed.yaml":  "apiVersion: v1\nkind: Secret\nmetadata: {name: sealed}\ndata: {password: \"ENC[AES256_GCM,data:x]\"}\nsops: {mac: \"ENC[AES256_GCM,data:x]\"}\n",
		"apps/skip.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: skip, annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}}\n",
	}
	dir := localFiles(t, content)
	args := []string{"diff", "kustomization", "apps", "--path", filepath.Join(dir, "apps"), "--progress-bar=false"}
	got := yuba(t, ns, args...)
	for _, part := range []string{
		"► ConfigMap/" + ns + "/new created\n", "► ConfigMap/" + ns + "/drifted drifted\n  /data/colour\n    - red\n    + blue\n  /data/text\n    - two\n    + 2\n",
		"► Secret/" + ns + "/secret drifted\n  /data/password\n", "► ConfigMap/" + ns + "/gone deleted\n"} {
		if !strings.Contains(got.out, part) {
			t.Errorf("the answer lacks %q:\n%s", part, got.out)
		}
	}
	for _, never := range []string{"hunter", "aHVudGVy", "/same", "/kept", "/sealed", "/skip", "/already"} {
		if strings.Contains(got.out+got.news, never) {
			t.Errorf("the answer has %q:\n%s%s", never, got.out, got.news)
		}
	}
	if got.code != ui.ExitDifferent || !strings.Contains(got.news, "1 to create, 2 to change, 1 to delete, 3 unchanged.") {
		t.Errorf("code %d, news: %s", got.code, got.news)
	}
	var changes []struct{ Action, Object string }
	if got := yuba(t, ns, append(args, "-o", "json")...); json.Unmarshal([]byte(got.out), &changes) != nil || len(changes) != 4 || got.code != ui.ExitDifferent {
		t.Errorf("as JSON: %d %s%s", got.code, got.out, got.news)
	}

	t.Run("nothing was changed", func(t *testing.T) {
		drifted := &corev1.ConfigMap{}
		if err := api.Get(ctx, client.ObjectKey{Namespace: ns, Name: "drifted"}, drifted); err != nil || drifted.Data["colour"] != "red" {
			t.Error(drifted.Data, err)
		}
	})
	t.Run("no difference", func(t *testing.T) {
		same := localFiles(t, map[string]string{"apps/same.yaml": content["apps/same.yaml"], "apps/sealed.yaml": content["apps/sealed.yaml"],
			"apps/gone.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gone}\n", "apps/drifted.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: drifted}\n"})
		yuba(t, ns, "diff", "ks", "apps", "--path", filepath.Join(same, "apps")).want(t, ui.ExitOK, "", "0 to create, 0 to change, 0 to delete, 4 unchanged.")
	})
	t.Run("a namespace and a kind of the same build", func(t *testing.T) {
		new := localFiles(t, map[string]string{"ks.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: fresh}\nspec: {interval: 1m, prune: true, sourceRef: {kind: GitRepository, name: a}}\n",
			"x/a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + ns + "-new}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: " + ns + "-new}\n---\n" +
				"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.org}\nspec:\n  group: example.org\n  scope: Namespaced\n  names: {kind: Thing, plural: things}\n" +
				"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n---\napiVersion: example.org/v1\nkind: Thing\nmetadata: {name: t, namespace: " + ns + "-new}\n"})
		got := yuba(t, ns, "diff", "ks", "fresh", "--path", filepath.Join(new, "x"), "--kustomization-file", filepath.Join(new, "ks.yaml"))
		if got.code != ui.ExitDifferent || strings.Count(got.out, " created\n") != 4 {
			t.Errorf("code %d: %s%s", got.code, got.out, got.news)
		}
	})
	t.Run("a kind that there is not", func(t *testing.T) {
		odd := localFiles(t, map[string]string{"apps/a.yaml": "apiVersion: example.com/v1\nkind: Odd\nmetadata: {name: a}\n"})
		yuba(t, ns, "diff", "ks", "apps", "--path", filepath.Join(odd, "apps")).want(t, ui.ExitDiffFailed, "", "the API does not serve the kind Odd of example.com/v1")
	})
	t.Run("a Kustomization that there is not", func(t *testing.T) {
		yuba(t, ns, "diff", "ks", "gone", "--path", dir).want(t, ui.ExitNotFound, "", "there is no such Kustomization")
	})
}

func withEntry(i *kustomizev1.ResourceInventory, id string) *kustomizev1.ResourceInventory {
	if i == nil {
		i = &kustomizev1.ResourceInventory{}
	}
	i.Entries = append(i.Entries, kustomizev1.ResourceRef{ID: id, Version: "v1"})
	return i
}
