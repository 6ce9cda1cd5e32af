// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/ocitest"
)

// saying is a program with one output.
func saying(text string) string {
	return fmt.Sprintf("resource \"terraform_data\" \"said\" {\n  input = %q\n}\noutput \"said\" { value = terraform_data.said.output }\n", text)
}

// every is the interval of sources: soon enough for tests.
var every = metav1.Duration{Duration: time.Second}

// from creates a stack of a source. Its output is in the Secret said-NAME.
func (tm *team) from(kind, source, name string) {
	tm.t.Helper()
	tm.create(&infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: infrav1.TerraformSpec{
		ApprovePlan: infrav1.ApprovePlanAuto, Interval: metav1.Duration{Duration: time.Hour}, Path: "./stack",
		SourceRef:            &infrav1.CrossNamespaceSourceReference{Kind: kind, Name: source},
		WriteOutputsToSecret: &infrav1.WriteOutputsToSecretSpec{Name: "said-" + name}}})
}

// says waits until the stack has applied the program that says text.
func (tm *team) says(name, text string) *infrav1.Terraform {
	tm.t.Helper()
	return tm.await(name, "it says "+text, func(obj *infrav1.Terraform) string {
		var secret corev1.Secret
		err := api.Get(tm.t.Context(), client.ObjectKey{Namespace: tm.name, Name: "said-" + name}, &secret)
		if err != nil || string(secret.Data["said"]) != text {
			return fmt.Sprintf("it says %q, %v", secret.Data["said"], err)
		}
		return applied(obj)
	})
}

// update changes an object.
func update[T client.Object](tm *team, obj T, change func()) {
	tm.t.Helper()
	must(tm.t, api.Get(tm.t.Context(), client.ObjectKey{Namespace: tm.name, Name: obj.GetName()}, obj))
	before := obj.DeepCopyObject().(client.Object)
	change()
	must(tm.t, api.Patch(tm.t.Context(), obj, client.MergeFrom(before)))
}

func TestAGitRepositoryOfFlux(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, false)
	central := gittest.New(t, gittest.Listen(nodeAddress(t))).Repository(t, "central")
	central.Commit(t, "first", gittest.Files{"stack/main.tf": saying("first")})
	repository := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Name: "central"},
		Spec: sourcev1.GitRepositorySpec{URL: central.URL(), Interval: every, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}}}
	tm.create(repository)
	tm.from(sourcev1.GitRepositoryKind, "central", "vpc")
	first := tm.says("vpc", "first")

	second := central.Commit(t, "second", gittest.Files{"stack/main.tf": saying("second")})
	obj := tm.says("vpc", "second")
	if !strings.HasSuffix(obj.Status.LastAppliedRevision, second) || obj.Status.LastRun.ID == first.Status.LastRun.ID {
		t.Errorf("commit %s was applied as %s by run %+v", second, obj.Status.LastAppliedRevision, obj.Status.LastRun)
	}

	update(tm, repository, func() { repository.Spec.Suspend = true })
	third := central.Commit(t, "third", gittest.Files{"stack/main.tf": saying("third")})
	time.Sleep(5 * time.Second)
	if now := tm.stack("vpc"); now.Status.LastRun.ID != obj.Status.LastRun.ID {
		t.Errorf("a suspended source led to run %+v", now.Status.LastRun)
	}
	update(tm, repository, func() { repository.Spec.Suspend = false })
	obj = tm.says("vpc", "third")
	if !strings.HasSuffix(obj.Status.LastAppliedRevision, third) {
		t.Errorf("commit %s was applied as %s", third, obj.Status.LastAppliedRevision)
	}
	foreign(tm, repository)
}

// foreign checks that Yuba has written nothing to a source.
func foreign(tm *team, source client.Object) {
	tm.t.Helper()
	must(tm.t, api.Get(tm.t.Context(), client.ObjectKeyFromObject(source), source))
	for _, f := range source.GetManagedFields() {
		if strings.HasPrefix(f.Manager, "yuba") {
			tm.t.Errorf("Yuba writes to %s, which is Flux's: %s", source.GetName(), f.FieldsV1)
		}
	}
}

func TestAnOCIRepositoryOfFlux(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, false)
	registry := ocitest.New(t, ocitest.Listen(nodeAddress(t)))
	registry.Push(t, "iac/network", "0.1.0", ocitest.Files{"stack/main.tf": saying("0.1.0")})
	source := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Name: "network"}, Spec: sourcev1.OCIRepositorySpec{
		URL: registry.URL("iac/network"), Insecure: true, Interval: every, Reference: &sourcev1.OCIRepositoryRef{SemVer: "~0.1.0-0"}}}
	tm.create(source)
	tm.from(sourcev1.OCIRepositoryKind, "network", "network")
	tm.says("network", "0.1.0")
	registry.Push(t, "iac/network", "0.1.1", ocitest.Files{"stack/main.tf": saying("0.1.1")})
	if obj := tm.says("network", "0.1.1"); !strings.HasPrefix(obj.Status.LastAppliedRevision, "0.1.1@sha256:") {
		t.Errorf("0.1.1 was applied as %s", obj.Status.LastAppliedRevision)
	}
	foreign(tm, source)
}

// serve starts a server that Pods reach.
func serve(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(nodeAddress(t), "0"))
	must(t, err)
	s := httptest.NewUnstartedServer(handler)
	s.Listener.Close() //nolint:errcheck // replaced
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func TestABucketOfFlux(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, false)
	store := s3mem.New()
	must(t, store.CreateBucket("programs"))
	put := func(text string) {
		program := saying(text)
		modified := map[string]string{"Last-Modified": time.Now().UTC().Format(http.TimeFormat)}
		_, err := store.PutObject("programs", "stack/main.tf", modified, strings.NewReader(program), int64(len(program)), nil)
		must(t, err)
	}
	put("first")
	server := serve(t, gofakes3.New(store, gofakes3.WithTimeSkewLimit(0)).Server())
	tm.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "keys"}, StringData: map[string]string{"accesskey": "yuba", "secretkey": "only-for-tests"}})
	source := &sourcev1.Bucket{ObjectMeta: metav1.ObjectMeta{Name: "programs"}, Spec: sourcev1.BucketSpec{BucketName: "programs",
		Endpoint: strings.TrimPrefix(server.URL, "http://"), Insecure: true, Interval: every, SecretRef: &meta.LocalObjectReference{Name: "keys"}}}
	tm.create(source)
	tm.from(sourcev1.BucketKind, "programs", "network")
	tm.says("network", "first")
	put("second")
	tm.says("network", "second")
	foreign(tm, source)
}

// Another controller fetches an ExternalArtifact; Flux only has the kind.
func TestAnExternalArtifactOfAnotherController(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, false)
	var packed bytes.Buffer
	digest, err := archive.PackInline(map[string]string{"stack/main.tf": saying("external")}, &packed)
	must(t, err)
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(packed.Bytes()) })) //nolint:errcheck // the client reports it
	source := &sourcev1.ExternalArtifact{ObjectMeta: metav1.ObjectMeta{Name: "built"}}
	tm.create(source)
	source.Status.Artifact = &meta.Artifact{Path: "a.tar.gz", URL: server.URL + "/a.tar.gz", Revision: "1", Digest: digest, LastUpdateTime: metav1.Now()}
	source.Status.Conditions = []metav1.Condition{{Type: meta.ReadyCondition, Status: metav1.ConditionTrue, Reason: "Succeeded", LastTransitionTime: metav1.Now()}}
	must(t, api.Status().Update(t.Context(), source))
	tm.from(sourcev1.ExternalArtifactKind, "built", "network")
	tm.says("network", "external")
}

// Flux applies stacks from git, and deletes those that are gone from it.
func TestAKustomizationOfFlux(t *testing.T) {
	t.Parallel()
	tm := newTeam(t, false)
	central := gittest.New(t, gittest.Listen(nodeAddress(t))).Repository(t, "central")
	stack := func(name string) string {
		return fmt.Sprintf("apiVersion: infra.contrib.fluxcd.io/v1alpha2\nkind: Terraform\nmetadata: {name: %s}\nspec:\n  interval: 1h\n  approvePlan: auto\n"+
			"  path: ./stack\n  destroyResourcesOnDeletion: true\n  sourceRef: {kind: GitRepository, name: central}\n"+
			"  writeOutputsToSecret: {name: said-%[1]s}\n", name)
	}
	central.Commit(t, "two stacks", gittest.Files{"stack/main.tf": saying("hello"), "deploy/one.yaml": stack("one"), "deploy/two.yaml": stack("two")})
	repository := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Name: "central"},
		Spec: sourcev1.GitRepositorySpec{URL: central.URL(), Interval: every, Reference: &sourcev1.GitRepositoryRef{Branch: "main"}}}
	tm.create(repository)
	all := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: kustomizev1.KustomizationSpec{
		Path: "./deploy", Prune: true, Interval: every, TargetNamespace: tm.name, Wait: true,
		SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: "central"}}}
	tm.create(all)
	eventually(t, "Flux applies the stacks", func() string {
		if err := api.Get(t.Context(), client.ObjectKey{Namespace: tm.name, Name: "two"}, &infrav1.Terraform{}); err != nil {
			return err.Error()
		}
		return ""
	})
	tm.says("one", "hello")
	tm.says("two", "hello")
	// With spec.wait, Flux waits for the stacks' Ready.
	eventually(t, "the Kustomization is ready", func() string {
		must(t, api.Get(t.Context(), client.ObjectKeyFromObject(all), all))
		for _, c := range all.Status.Conditions {
			if c.Type == meta.ReadyCondition && c.Status == metav1.ConditionTrue {
				return ""
			}
		}
		return fmt.Sprint(all.Status.Conditions)
	})
	central.Git(t, "rm", "--quiet", "deploy/two.yaml")
	central.Commit(t, "one is enough", gittest.Files{"README.md": "one"})
	eventually(t, "the other stack is destroyed", func() string {
		err := api.Get(t.Context(), client.ObjectKey{Namespace: tm.name, Name: "two"}, &infrav1.Terraform{})
		if !apierrors.IsNotFound(err) {
			return fmt.Sprint(err)
		}
		return ""
	})
	tm.stack("one")
	foreign(tm, all)
}
