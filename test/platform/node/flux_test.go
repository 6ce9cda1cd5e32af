// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// followsGit applies the module gitops with Flux's own controllers: the platform's objects come from a git repository, and go
// when they are gone from it.
func (w *world) followsGit() {
	w.t.Helper()
	var manifests []string
	for _, name := range []string{"source-controller", "kustomize-controller"} {
		w.must("", *kubeNode, "image", filepath.Join(w.dir, "node"), "localhost/"+name+":"+tag, filepath.Join(w.root, "bin", name))
		module := w.golang("list", "-C", filepath.Join(w.root, "test", "flux"), "-m", "-f", "{{.Dir}}", "github.com/fluxcd/"+name)
		manifests = append(manifests, documents(w.kubectl("kustomize", filepath.Join(module, "config", "crd")))...)
	}
	flux, err := os.ReadFile(filepath.Join(w.root, "test", "flux", "flux.yaml"))
	if err != nil {
		w.t.Fatal(err)
	}
	manifests = append(manifests, documents(strings.ReplaceAll(string(flux), ":TAG", ":"+tag))...)

	central := gittest.New(w.t, gittest.Listen(w.address())).Repository(w.t, "platform")
	central.Commit(w.t, "begin", gittest.Files{"cluster/map.yaml": configMap("from-git")})
	central.Push(w.t)
	w.apply("gitops", "gitops", map[string]any{"platform": "acme-eu", "kubeconfig": w.inline, "manifests": manifests,
		"source_repository": map[string]any{"url": central.URL(), "branch": central.Branch(w.t), "path": "./cluster"}})
	w.kubectl("-n", "flux-system", "wait", "gitrepository/acme-eu", "kustomization/acme-eu", "--for=condition=Ready", "--timeout=90s")
	w.kubectl("-n", "default", "get", "configmap", "from-git")
	w.say("Flux has applied the commit of a git repository")

	central.Commit(w.t, "change", gittest.Files{"cluster/map.yaml": configMap("another")})
	central.Push(w.t)
	stamp := "reconcile.fluxcd.io/requestedAt=" + time.Now().Format(time.RFC3339Nano)
	w.kubectl("-n", "flux-system", "annotate", "--overwrite", "gitrepository/acme-eu", stamp)
	w.kubectl("-n", "default", "wait", "configmap/from-git", "--for=delete", "--timeout=90s")
	w.kubectl("-n", "default", "get", "configmap", "another")
	w.say("Flux has applied the next commit, and removed what it lacks")
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: default}\ndata: {a: b}\n"
}

// documents are those of a file with manifests.
func documents(text string) (all []string) {
	for _, one := range strings.Split("\n"+text, "\n---\n") {
		for line := range strings.Lines(one) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				all = append(all, one)
				break
			}
		}
	}
	return all
}
