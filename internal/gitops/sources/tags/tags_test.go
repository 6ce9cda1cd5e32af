// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTagsArePublished(t *testing.T) {
	s, server := newSite(t), gittest.New(t)
	repo := server.Repository(t, "vpc")
	first := repo.Commit(t, "first", module("", "cidr"))
	repo.Tag(t, "v1.0.0")
	repo.Tag(t, "nightly")
	o := s.source(repo.URL(), []string{"vpc/aws"})
	s.ready(o, "published 1 version of "+s.namespace+"/vpc/aws, the latest is 1.0.0")
	if got := s.versions("vpc/aws"); got != "1.0.0@v1.0.0" {
		t.Errorf("published: %s", got)
	}
	release, err := s.catalog.Release(t.Context(), version(t, s.namespace+"/vpc/aws@1.0.0"))
	if err != nil || release.By != "system:serviceaccount:"+s.namespace+":default" || *release.From != (catalog.Origin{Repository: repo.URL(), Tag: "v1.0.0", Commit: first}) {
		t.Errorf("%+v %+v, %v", release, release.From, err)
	}
	if o.Status.LastTag != "v1.0.0" || o.Status.LastPublished == nil || o.Status.ObservedGeneration != o.Generation || len(o.Status.Conditions) != 1 {
		t.Errorf("%+v", o.Status)
	}
	eventually(t, func() error { // it follows the status
		if !strings.Contains(s.events.all(), "Normal VersionPublished: published "+s.namespace+"/vpc/aws@1.0.0") {
			return errors.New(s.events.all())
		}
		return nil
	})

	// A new tag is published when it is asked for, and nothing else is fetched.
	repo.Commit(t, "second", gittest.Files{"outputs.tf": "output \"more\" {\n  value = 1\n}\n"})
	repo.Tag(t, "v1.1.0")
	attempts := s.registry.attempts()
	s.ask(o, "one")
	if got := s.versions("vpc/aws"); got != "1.1.0@v1.1.0 1.0.0@v1.0.0" || s.registry.attempts() != attempts+1 {
		t.Errorf("published: %s, in %d attempts", got, s.registry.attempts()-attempts)
	}
	// A deleted tag deletes nothing; a suspended source publishes nothing.
	repo.Git(t, "tag", "--delete", "v1.0.0")
	repo.Git(t, "push", "--quiet", "origin", ":refs/tags/v1.0.0")
	s.ask(o, "two")
	if got := s.versions("vpc/aws"); got != "1.1.0@v1.1.0 1.0.0@v1.0.0" || o.Status.Published != 1 {
		t.Errorf("published: %s, %+v", got, o.Status)
	}
	if n := s.trees(); n != 0 {
		t.Errorf("%d trees are left", n)
	}
	server.Reset()
	s.change(o, func() { o.Spec.Suspend = true })
	repo.Tag(t, "v2.0.0")
	s.change(o, func() { o.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "three"} })
	s.change(o, func() { o.Spec.Suspend = false })
	s.await(o, "2.0.0 is published", func() bool { return o.Status.LastTag == "v2.0.0" })
	if server.Counts("vpc").Clones != 0 {
		t.Error("it cloned again")
	}
}

func version(t *testing.T, text string) layout.ModuleVersion {
	t.Helper()
	v, err := layout.ParseModuleVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestMovedTagsChangeNothing(t *testing.T) {
	s, server := newSite(t), gittest.New(t)
	repo := server.Repository(t, "vpc")
	first := repo.Commit(t, "first", module("", "cidr"))
	repo.Tag(t, "v1.0.0")
	o := s.source(repo.URL(), []string{"vpc/aws"})
	s.ready(o, "published 1 version")

	second := repo.Commit(t, "second", module("", "network"))
	repo.Tag(t, "v1.0.0")
	repo.Tag(t, "v1.1.0")
	s.ask(o, "one")
	if got := refused(o); got != "v1.0.0: TagMoved" || o.Status.Refused != 1 {
		t.Errorf("refused: %s", got)
	}
	r := o.Status.RefusedTags[0]
	if r.Commit != second || r.Module != s.namespace+"/vpc/aws@1.0.0" || !strings.Contains(r.Message, "led to commit "+first) || !strings.Contains(r.Message, second) {
		t.Errorf("%+v", r)
	}
	if c := conditions.Of(o, yubav1.TagsRefusedCondition); c.Status != metav1.ConditionTrue || c.Reason != "TagMoved" || conditions.Of(o, meta.ReadyCondition).Status != metav1.ConditionTrue {
		t.Errorf("%+v", o.Status.Conditions)
	}
	if got := s.files("vpc/aws", "1.0.0")["main.tf"]; !strings.Contains(got, "cidr") {
		t.Errorf("1.0.0 has %s", got)
	}
	if got := s.versions("vpc/aws"); got != "1.1.0@v1.1.0 1.0.0@v1.0.0" {
		t.Errorf("published: %s", got)
	}
	// Moved back, all is well; and moving it between commits with the same files is no change.
	repo.Rewind(t, first)
	repo.Tag(t, "v1.0.0")
	s.ask(o, "two")
	if o.Status.Refused != 0 || len(o.Status.Conditions) != 1 || o.Status.Published != 2 {
		t.Errorf("%+v", o.Status)
	}
	repo.Commit(t, "nothing", nil)
	repo.Tag(t, "v1.0.0")
	s.ask(o, "three")
	if o.Status.Refused != 0 || o.Status.Published != 2 {
		t.Errorf("%+v", o.Status)
	}
}

func TestModulesOfOneRepository(t *testing.T) {
	s, server := newSite(t), gittest.New(t)
	repo := server.Repository(t, "modules")
	repo.Commit(t, "vpc", module("modules/vpc", "cidr"))
	repo.Tag(t, "modules/vpc/v1.0.0")
	repo.Commit(t, "dns", module("modules/dns", "zone"))
	repo.Tag(t, "modules/dns/v0.1.0")
	repo.Tag(t, "dns-0.2.0")
	repo.Tag(t, "v9.0.0")
	o := s.source(repo.URL(), []string{"vpc/aws=modules/vpc", "dns/aws=./modules/dns/"}, func(o *yubav1.ModuleSource) {
		o.Spec.Modules = append(o.Spec.Modules, yubav1.ModuleSourceModule{Name: o.Namespace + "/names/aws", Path: "modules/dns", Tag: "dns-{version}", SemVer: ">=0.2.0"})
	})
	s.ready(o, "published 3 versions of 3 modules")
	for module, want := range map[string]string{"vpc/aws": "1.0.0@modules/vpc/v1.0.0", "dns/aws": "0.1.0@modules/dns/v0.1.0", "names/aws": "0.2.0@dns-0.2.0"} {
		if got := s.versions(module); got != want {
			t.Errorf("%s: %s", module, got)
		}
	}
	if files := s.files("vpc/aws", "1.0.0"); len(files) != 1 || !strings.Contains(files["main.tf"], "cidr") {
		t.Errorf("%v", files)
	}
	if len(o.Status.Modules) != 3 || o.Status.Modules[2] != (yubav1.ModuleSourceModuleStatus{Name: s.namespace + "/names/aws", Published: 1, Latest: "0.2.0"}) {
		t.Errorf("%+v", o.Status.Modules)
	}
}

func TestUnusableTagsAreRefused(t *testing.T) {
	s, server := newSite(t), gittest.New(t)
	repo := server.Repository(t, "modules")
	commit := func(tag string, files gittest.Files) {
		t.Helper()
		repo.Commit(t, tag, files)
		repo.Tag(t, "m/"+tag)
	}
	commit("v1.0.0", module("m", "cidr"))
	commit("v1.0.1", module("m", "network"))
	commit("v1.1.0", gittest.Files{"m/main.tf": "variable \"cidr\" {\n  type = string\n", "m/ok.tf": ""})
	commit("v1.2", nil)
	commit("v1.3.0", gittest.Files{"m/main.tf": gittest.Absent, "m/ok.tf": gittest.Absent, "m/README.md": "nothing"})
	commit("v1.4.0", gittest.Files{"m/README.md": gittest.Absent, "other": "x"})
	replace(t, repo, "m", func(path string) error { return os.WriteFile(path, []byte("a file"), 0o644) })
	commit("v1.5.0", nil)
	replace(t, repo, "m", nil)
	commit("v2.0.0", gittest.Files{"m/main.tf": "output \"a\" {\n  value = 1\n}\n"})
	commit("v2.1.0", module("m", "cidr"))
	// A tag of a file instead of a commit.
	repo.Git(t, "tag", "m/v2.2.0", "HEAD:m/main.tf")
	replace(t, repo, "m/out.tf", func(path string) error { return os.Symlink("../other", path) })
	commit("v3.0.0", nil)
	o := s.source(repo.URL(), []string{"m/aws=m"}, func(o *yubav1.ModuleSource) { o.Spec.Interval.Duration = time.Second })
	s.await(o, "everything is tried", func() bool { return o.Status.Refused == 8 && !working(o) })
	got := refused(o)
	for _, want := range []string{"m/v3.0.0: ContentRefused", "m/v1.5.0: ", "m/v1.4.0: ContentRefused", "m/v1.3.0: InvalidModule", "m/v1.1.0: InvalidModule", "m/v1.0.1: IncompatibleInterface", "m/v1.2: InvalidVersion"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if got := s.versions("m/aws"); got != "2.1.0@m/v2.1.0 2.0.0@m/v2.0.0 1.0.0@m/v1.0.0" {
		t.Errorf("published: %s", got)
	}
	for _, r := range o.Status.RefusedTags {
		t.Logf("%s: %s", r.Tag, r.Message)
		if r.Tag == "m/v1.1.0" && !strings.Contains(r.Message, "main.tf:1") {
			t.Errorf("%+v", r)
		}
	}
	// They are not tried again without a reason.
	attempts := s.registry.attempts()
	replace(t, repo, "m/out.tf", nil)
	commit("v3.1.0-rc1", nil)
	s.await(o, "the next tag is published", func() bool { return o.Status.LastTag == "m/v3.1.0-rc1" })
	if got := s.registry.attempts() - attempts; got != 1 {
		t.Errorf("it tried %d tags again", got-1)
	}
}

// replace replaces what is at a path of the work tree.
func replace(t *testing.T, repo *gittest.Repository, name string, create func(path string) error) {
	t.Helper()
	path := filepath.Join(repo.Tree(), name)
	err := os.RemoveAll(path)
	if err == nil && create != nil {
		err = create(path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestPublishingNeedsPermission(t *testing.T) {
	s, server := newSite(t), gittest.New(t)
	victim := apitest.Namespace(t)
	repo := server.Repository(t, "vpc")
	repo.Commit(t, "first", module("", "cidr"))
	repo.Tag(t, "v1.0.0")
	o := s.source(repo.URL(), []string{"vpc/aws"}, func(o *yubav1.ModuleSource) {
		o.Spec.Modules = append(o.Spec.Modules, yubav1.ModuleSourceModule{Name: victim + "/vpc/aws"})
	})
	message := s.failed(o, yubav1.ReasonPublishingForbidden)
	want := fmt.Sprintf("the service account %s/default may not publish into the registry's namespace %s. To allow it:\n"+
		"    kubectl create clusterrole publish-modules-%s --verb=update --resource=modules.content.yuba.dev --resource-name=%s\n"+
		"    kubectl create clusterrolebinding publish-modules-%s-%s-default --clusterrole=publish-modules-%s --serviceaccount=%s:default",
		s.namespace, victim, victim, victim, victim, s.namespace, victim, s.namespace)
	if message != want {
		t.Errorf("%s\nwant:\n%s", message, want)
	}
	if c := conditions.Of(o, meta.StalledCondition); c.Status != metav1.ConditionTrue || c.Reason != yubav1.ReasonPublishingForbidden {
		t.Errorf("%+v", o.Status.Conditions)
	}
	// What is allowed is published all the same.
	if got := s.versions("vpc/aws"); got != "1.0.0@v1.0.0" {
		t.Errorf("published: %s", got)
	}
	if _, err := s.catalog.Release(t.Context(), version(t, victim+"/vpc/aws@1.0.0")); !errors.Is(err, catalog.ErrNone) {
		t.Errorf("the victim has the version: %v", err)
	}
	// Another service account of the namespace has permissions of its own.
	s.change(o, func() { o.Spec.ServiceAccountName = "other" })
	s.await(o, "nothing is allowed", func() bool {
		return strings.Contains(conditions.Of(o, meta.ReadyCondition).Message, "--resource-name="+s.namespace) &&
			strings.Contains(conditions.Of(o, meta.ReadyCondition).Message, "--serviceaccount="+s.namespace+":other")
	})
	// A permission that was given is noticed without being asked.
	s.change(o, func() { o.Spec.ServiceAccountName = "default" })
	s.allow(victim)
	s.ready(o, "published 2 versions of 2 modules")
	// A permission that is withdrawn leaves what was published there, in the registry and in the status.
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "publish-" + s.namespace + "-" + victim}}
	if err := s.client.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	repo.Tag(t, "v1.0.1")
	eventually(t, func() error { // the authorizer may not know yet
		s.ask(o, rand.Text())
		if conditions.Of(o, meta.ReadyCondition).Reason != yubav1.ReasonPublishingForbidden {
			return fmt.Errorf("not forbidden: %+v", o.Status)
		}
		return nil
	})
	if got := s.versions("vpc/aws"); got != "1.0.1@v1.0.1 1.0.0@v1.0.0" {
		t.Errorf("published: %s", got)
	}
	var published []string
	for _, m := range o.Status.Modules {
		published = append(published, fmt.Sprintf("%s: %d, %s", m.Name, m.Published, m.Latest))
	}
	if len(published) != 2 || published[0] != s.namespace+"/vpc/aws: 2, 1.0.1" || !strings.HasPrefix(published[1], victim+"/vpc/aws: ") || strings.HasSuffix(published[1], ": 0, ") || o.Status.Published < 3 {
		t.Errorf("the status has %d: %q", o.Status.Published, published)
	}
}

func TestPrivateAndUnreachableRepositories(t *testing.T) {
	s, server := newSite(t), gittest.New(t, gittest.BasicAuth("reader", "s3cret"))
	repo := server.Repository(t, "vpc")
	repo.Commit(t, "first", module("", "cidr"))
	repo.Tag(t, "v1.0.0")
	o := s.source(repo.URL(), []string{"vpc/aws"}, func(o *yubav1.ModuleSource) { o.Spec.SecretRef = &meta.LocalObjectReference{Name: "git"} })
	if message := s.failed(o, "AuthenticationFailed"); !strings.Contains(message, s.namespace+"/git does not exist") {
		t.Error(message)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "git"}, StringData: map[string]string{"username": "reader", "password": "s3cret"}}
	s.create(secret)
	s.ready(o, "published 1 version")

	// Later failures keep what is published.
	s.change(secret, func() { secret.Data["password"] = []byte("wr0ng") })
	if message := s.failed(o, "AuthenticationFailed"); strings.Contains(message, "wr0ng") {
		t.Error(message)
	}
	if o.Status.Published != 1 || conditions.Of(o, meta.ReconcilingCondition).Reason != meta.ProgressingWithRetryReason {
		t.Errorf("%+v", o.Status)
	}
	gone := s.source("http://127.0.0.1:1/vpc.git", []string{"vpc/aws"})
	if message := s.failed(gone, "GitOperationFailed"); !strings.Contains(message, "127.0.0.1:1") {
		t.Error(message)
	}
}

func TestRegistryFailuresAreRetried(t *testing.T) {
	s, server := newSite(t), gittest.New(t)
	repo := server.Repository(t, "vpc")
	repo.Commit(t, "first", module("", "cidr"))
	repo.Tag(t, "v1.0.0")
	s.registry.breakWith(errors.New("no space left"))
	o := s.source(repo.URL(), []string{"vpc/aws"})
	if message := s.failed(o, yubav1.ReasonRegistryFailed); !strings.Contains(message, "write to the registry: no space left") {
		t.Error(message)
	}
	if o.Status.Refused != 0 {
		t.Errorf("%+v", o.Status)
	}
	s.registry.breakWith(nil)
	s.ready(o, "published 1 version")
}

func TestManyTags(t *testing.T) {
	const many = 500
	s, server := newSite(t), gittest.New(t)
	repo := server.Repository(t, "vpc")
	repo.Commit(t, "first", module("", "cidr"))
	for i := range many {
		repo.Git(t, "commit", "--quiet", "--allow-empty", "--message", "next")
		repo.Git(t, "tag", fmt.Sprintf("v1.0.%d", i))
	}
	repo.Push(t)
	server.Reset()
	began := time.Now()
	o := s.source(repo.URL(), []string{"vpc/aws"})
	s.ready(o, fmt.Sprintf("published %d versions", many))
	counts := server.Counts("vpc")
	t.Logf("%d tags in %s: %+v", many, time.Since(began).Round(time.Millisecond), counts)
	if counts.Clones > many/100 || counts.Fetches > many {
		t.Errorf("%+v", counts)
	}
	// After a restart nothing is fetched.
	s.end()
	server.Reset()
	attempts := s.registry.attempts()
	s.start()
	s.ask(o, "again")
	if counts := server.Counts("vpc"); counts.Fetches != 0 || s.registry.attempts() != attempts || o.Status.Published != many {
		t.Errorf("%+v, %+v", counts, o.Status)
	}
}
