// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	automationv1 "github.com/fluxcd/image-automation-controller/api/v1"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	"github.com/fluxcd/pkg/apis/acl"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
)

// marked is a manifest whose image has a marker.
func (s *site) marked(image, policy string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  image: %s  # {\"$imagepolicy\": \"%s:%s\"}\n", image, s.namespace, policy)
}

// inGit runs git in the bare repository.
func inGit(t *testing.T, r *gittest.Repository, args ...string) string {
	t.Helper()
	return r.Git(t, append([]string{"--git-dir", r.Path()}, args...)...)
}

// pushed waits until a file of a branch has a content.
func pushed(t *testing.T, r *gittest.Repository, branch, file, content string) {
	t.Helper()
	eventually(t, func() error {
		if got := inGit(t, r, "show", branch+":"+file); got != strings.TrimSpace(content) {
			return fmt.Errorf("%s of %s is\n%s, want\n%s", file, branch, got, content)
		}
		return nil
	})
}

func TestANewTagBecomesACommit(t *testing.T) {
	s, registry, server := newSite(t), ocitest.New(t), gittest.New(t, gittest.Writable(), gittest.BasicAuth("bot", "s3cret"))
	image := registry.Host() + "/acme/app"
	registry.Push(t, "acme/app", "1.0.0", ocitest.Files{"a": "1"})
	r := server.Repository(t, "infra")
	r.Commit(t, "first", gittest.Files{"web.yaml": s.marked(image+":1.0.0", "app"), "broken.yaml": "a: [ # {\"$imagepolicy\": \"x:y\"}\n",
		"main.tf": fmt.Sprintf("locals {\n  image = %q # {\"$imagepolicy\": \"%s:app\"}\n}\n", image+":1.0.0", s.namespace)})
	s.create(&corev1.Secret{ObjectMeta: s.named("git"), StringData: map[string]string{"username": "bot", "password": "s3cret"}})
	app := s.scanned(image)
	policy := s.policy("app", "1.x")
	s.repository(r.URL(), func(o *sourcev1.GitRepository) { o.Spec.SecretRef = &meta.LocalObjectReference{Name: "git"} })
	a := s.automation(func(o *automationv1.ImageUpdateAutomation) {
		o.Spec.GitSpec.Commit.MessageTemplate = "{{ .AutomationObject }}: {{ range .Changed.Changes }}{{ .OldValue }} -> {{ .NewValue }}{{ end }} {{ .Values.why }}\n\n" +
			"{{ range $file, $objects := .Changed.FileChanges }}{{ $file }} {{ range $object, $_ := $objects }}{{ $object.Kind }}/{{ $object.Name }} {{ end }}{{ end }}\n" +
			"{{ range .Updated.Images }}{{ .Repository }} {{ .Identifier }} {{ .Policy.Name }}{{ end }}"
		o.Spec.GitSpec.Commit.MessageTemplateValues = map[string]string{"why": "(bot)"}
	})
	s.ready(a, `repository up-to-date; left alone: "broken.yaml": it is not valid YAML`)
	if a.Status.LastPushCommit != "" || a.Status.LastAutomationRunTime == nil || a.Status.ObservedPolicies["app"].Tag != "1.0.0" {
		t.Errorf("%+v", a.Status)
	}
	registry.Push(t, "acme/app", "1.1.0", ocitest.Files{"a": "2"})
	s.ask(app)
	s.elects(policy, "1.1.0")
	pushed(t, r, "main", "web.yaml", s.marked(image+":1.1.0", "app"))
	head := inGit(t, r, "rev-parse", "main")
	s.await(a, "the status has the commit", func() bool {
		return a.Status.LastPushCommit == head && a.Status.ObservedSourceRevision == "main@sha1:"+head
	})
	want := s.namespace + "/app: " + image + ":1.0.0 -> " + image + ":1.1.0 (bot)\n\nmain.tf HCL/main.tf web.yaml ConfigMap/web \nacme/app 1.1.0 app"
	if diff := cmp.Diff(want, inGit(t, r, "log", "-1", "--format=%B", "main")); diff != "" {
		t.Error(diff)
	}
	s.told("Normal Succeeded: pushed commit '" + head[:7] + "' to 'main': main.tf, web.yaml")
	// Without news nothing is written, whoever looks.
	version := a.ResourceVersion
	server.Reset()
	s.images.automations.memories.mark(client.ObjectKeyFromObject(a))
	s.images.automations.wake(client.ObjectKeyFromObject(a))
	eventually(t, func() error {
		if server.Counts("infra").Lookups == 0 {
			return fmt.Errorf("it did not look")
		}
		return nil
	})
	s.ready(a, "repository up-to-date")
	if a.ResourceVersion != version || inGit(t, r, "rev-parse", "main") != head || server.Counts("infra").Fetches != 0 {
		t.Errorf("%+v", a.Status)
	}
}

func TestBranchesPathsAndSelectors(t *testing.T) {
	s, registry, server := newSite(t), ocitest.New(t), gittest.New(t, gittest.Writable())
	image := registry.Host() + "/acme/app"
	registry.Push(t, "acme/app", "1.1.0", ocitest.Files{"a": "1"})
	r := server.Repository(t, "infra")
	other := s.marked(image+":1.0.0", "other")
	first := r.Commit(t, "first", gittest.Files{"prod/web.yaml": s.marked(image+":1.0.0", "app") + "---\n" + other, "dev/web.yaml": s.marked(image+":1.0.0", "app")})
	s.scanned(image)
	s.policy("app", "1.x", func(o *imagev1.ImagePolicy) { o.Labels = map[string]string{"env": "prod"} })
	s.elects(s.policy("other", "1.x"), "1.1.0")
	s.repository(r.URL())
	a := s.automation(func(o *automationv1.ImageUpdateAutomation) {
		o.Spec.PolicySelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
		o.Spec.Update = &automationv1.UpdateStrategy{Strategy: automationv1.UpdateStrategySetters, Path: "./prod"}
		o.Spec.GitSpec.Push = &automationv1.PushSpec{Branch: "updates", Refspec: "updates:refs/for/main"}
	})
	s.ready(a, "markers without a selected policy that has an image: "+s.namespace+":other")
	pushed(t, r, "updates", "prod/web.yaml", s.marked(image+":1.1.0", "app")+"---\n"+other)
	pushed(t, r, "updates", "dev/web.yaml", s.marked(image+":1.0.0", "app"))
	if inGit(t, r, "rev-parse", "main") != first || inGit(t, r, "rev-parse", "refs/for/main") != inGit(t, r, "rev-parse", "updates") {
		t.Error("other references were pushed")
	}
}

func TestWrongAutomations(t *testing.T) {
	s, registry, server := newSite(t), ocitest.New(t), gittest.New(t, gittest.Writable())
	image := registry.Host() + "/acme/app"
	registry.Push(t, "acme/app", "1.1.0", ocitest.Files{"a": "1"})
	r := server.Repository(t, "infra")
	first := r.Commit(t, "first", gittest.Files{"web.yaml": s.marked(image+":1.0.0", "app")})
	hook := func(script string) {
		if err := os.WriteFile(filepath.Join(r.Path(), "hooks", "pre-receive"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	hook("echo 'main is protected' >&2; exit 1\n")
	a := s.automation()
	s.failed(a, "SourceManagerFailed", s.namespace+"/infra does not exist")
	source := s.repository(r.URL(), func(o *sourcev1.GitRepository) { o.Spec.Reference = &sourcev1.GitRepositoryRef{Tag: "v1"} })
	s.ready(a, "no selected ImagePolicy of this namespace has a latest image")
	s.scanned(image)
	s.policy("app", "1.x")
	s.failed(a, "InvalidSourceConfiguration", "spec.git.push.branch is required")
	s.change(source, func() { source.Spec.Reference = &sourcev1.GitRepositoryRef{Branch: "main"} })
	s.ask(a)
	s.failed(a, "PushRefused", "main is protected", "branch protection", "spec.git.push.branch")
	git := a.Spec.GitSpec.DeepCopy()
	for _, c := range []struct {
		change func(*automationv1.ImageUpdateAutomationSpec)
		reason string
		words  string
	}{
		{func(o *automationv1.ImageUpdateAutomationSpec) { o.GitSpec.Commit.MessageTemplate = "{{ .Nobody.Knows" }, "UpdateFailed", "spec.git.commit.messageTemplate"},
		{func(o *automationv1.ImageUpdateAutomationSpec) {
			o.GitSpec.Commit.MessageTemplate = "{{ range until 100000000 }}x{{ end }}"
		}, "UpdateFailed", "too much time or memory"},
		{func(o *automationv1.ImageUpdateAutomationSpec) {
			o.GitSpec.Commit.SigningKey = &automationv1.SigningKey{SecretRef: meta.LocalObjectReference{Name: "key"}}
		}, "AuthenticationFailed", s.namespace + "/key does not exist"},
		{func(o *automationv1.ImageUpdateAutomationSpec) {
			o.GitSpec.Push = &automationv1.PushSpec{Refspec: "main:prod"}
		}, "InvalidSourceConfiguration", "write it as main:refs/"},
		{func(o *automationv1.ImageUpdateAutomationSpec) {
			o.Update = &automationv1.UpdateStrategy{Strategy: "Setters", Path: "nowhere"}
		}, "GitOperationFailed", `there is no directory "nowhere"`},
		{func(o *automationv1.ImageUpdateAutomationSpec) {
			o.PolicySelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}}
		}, "InvalidPolicySelector", "spec.policySelector"},
		{func(o *automationv1.ImageUpdateAutomationSpec) { o.GitSpec = nil }, "InvalidSourceConfiguration", "spec.git is required"},
		{func(o *automationv1.ImageUpdateAutomationSpec) { o.SourceRef.Namespace = "elsewhere" }, acl.AccessDeniedReason, "--allow-cross-namespace"},
	} {
		s.change(a, func() {
			a.Spec.GitSpec, a.Spec.Update, a.Spec.PolicySelector = git.DeepCopy(), nil, nil
			c.change(&a.Spec)
		})
		s.failed(a, c.reason, c.words)
	}
	if inGit(t, r, "rev-parse", "main") != first {
		t.Error("something was pushed")
	}
	hook("exit 0\n")
	s.change(a, func() { a.Spec.GitSpec, a.Spec.SourceRef.Namespace = git, "" })
	pushed(t, r, "main", "web.yaml", s.marked(image+":1.1.0", "app"))
}

func TestRepositoriesOfOtherNamespaces(t *testing.T) {
	registry, server, owner := ocitest.New(t), gittest.New(t, gittest.Writable()), apitest.Namespace(t)
	s := newSite(t, owner)
	s.end()
	s.start(func(i *Images) { i.AllowCrossNamespace = true })
	image := registry.Host() + "/acme/app"
	registry.Push(t, "acme/app", "1.1.0", ocitest.Files{"a": "1"})
	r := server.Repository(t, "infra")
	r.Commit(t, "first", gittest.Files{"web.yaml": s.marked(image+":1.0.0", "app")})
	s.scanned(image)
	s.policy("app", "1.x")
	s.repository(r.URL(), func(o *sourcev1.GitRepository) { o.Namespace = owner })
	s.automation(func(o *automationv1.ImageUpdateAutomation) { o.Spec.SourceRef.Namespace = owner })
	pushed(t, r, "main", "web.yaml", s.marked(image+":1.1.0", "app"))
}

func TestSignedByAnSSHKey(t *testing.T) {
	s, registry, server := newSite(t), ocitest.New(t), gittest.New(t, gittest.Writable(), gittest.SSH())
	image := registry.Host() + "/acme/app"
	registry.Push(t, "acme/app", "1.1.0", ocitest.Files{"a": "1"})
	r := server.Repository(t, "infra")
	r.Commit(t, "first", gittest.Files{"web.yaml": s.marked(image+":1.0.0", "app")})
	s.create(&corev1.Secret{ObjectMeta: s.named("git"), Data: map[string][]byte{"identity": server.Authorize(t), "known_hosts": server.KnownHosts()}})
	s.scanned(image)
	s.policy("app", "1.x")
	s.repository(server.SSHURL("infra"), func(o *sourcev1.GitRepository) { o.Spec.SecretRef = &meta.LocalObjectReference{Name: "git"} })
	a := s.automation(func(o *automationv1.ImageUpdateAutomation) {
		o.Spec.GitSpec.Commit.SigningKey = &automationv1.SigningKey{SecretRef: meta.LocalObjectReference{Name: "git"}, Type: automationv1.SigningKeyTypeSSH}
	})
	pushed(t, r, "main", "web.yaml", s.marked(image+":1.1.0", "app"))
	if commit := inGit(t, r, "cat-file", "commit", "main"); !strings.Contains(commit, "gpgsig -----BEGIN SSH SIGNATURE-----") {
		t.Error(commit)
	}
	s.change(a, func() { a.Spec.GitSpec.Commit.SigningKey.Type = automationv1.SigningKeyTypeGPG })
	s.failed(a, "AuthenticationFailed", "git.asc must have exactly one")
}
