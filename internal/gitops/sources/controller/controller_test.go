// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

func TestAGitRepositoryIsWhatFluxMakesOfIt(t *testing.T) {
	server := gittest.New(t)
	upstream := server.Repository(t, "central")
	head := upstream.Commit(t, "first", gittest.Files{"main.tf": "m", "pic.png": "p", "docs/a.md": "a", "keep.zip": "z"})
	s := newSite(t)
	o := s.repository("central", upstream.URL(), func(o *sourcev1.GitRepository) { o.Spec.Ignore = ptr.To("/docs\n!*.zip\n") })
	revision := "main@sha1:" + head
	s.awaitRevision(o, revision)
	if diff := cmp.Diff(map[string]string{"main.tf": "m", "keep.zip": "z"}, s.tree(o)); diff != "" {
		t.Error(diff)
	}
	digest := o.Status.Artifact.Digest
	if !strings.HasPrefix(digest, "sha256:") || *o.Status.Artifact.Size < 50 || time.Since(o.Status.Artifact.LastUpdateTime.Time) > time.Hour {
		t.Errorf("%+v", o.Status.Artifact)
	}
	o.Status.Artifact.LastUpdateTime, o.Status.Artifact.Size = metav1.Time{}, nil
	stored := "stored artifact for revision '" + revision + "'"
	told := conditionLines(o)
	o.Status.Conditions = nil
	want := sourcev1.GitRepositoryStatus{ObservedGeneration: 1, ObservedIgnore: ptr.To("/docs\n!*.zip\n"),
		Artifact: &meta.Artifact{Digest: digest, Revision: revision, Path: "gitrepository/" + s.namespace + "/central/" + digest + ".tar.gz",
			URL:      "https://yuba.test/gitrepositories/central?digest=" + digest + "&store=mine",
			Metadata: map[string]string{infrav1.ArtifactAuthors: "test@example.com"}}} // Flux names no authors
	if diff := cmp.Diff(want, o.Status); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"ArtifactInStorage=True Succeeded: " + stored, "Ready=True Succeeded: " + stored}, told); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"central Normal NewArtifact: " + stored}, s.told(1)); diff != "" {
		t.Error(diff)
	}
}

func TestARequestIsAnsweredWithWhatIsUpstreamNow(t *testing.T) {
	upstream := gittest.New(t).Repository(t, "central")
	upstream.Commit(t, "first", gittest.Files{"a": "1"})
	s := newSite(t)
	o := s.repository("central", upstream.URL())
	s.awaitRevision(o, "main@sha1:"+upstream.Head(t))
	for i := range 3 {
		head := upstream.Commit(t, "next", gittest.Files{"a": fmt.Sprint("next ", i)})
		s.ask(o, fmt.Sprint("now ", i))
		if o.Status.Artifact.Revision != "main@sha1:"+head {
			t.Fatalf("answered with %s, upstream is %s", o.Status.Artifact.Revision, head)
		}
	}
	// Whoever rewrites history is followed.
	upstream.Rewind(t, "HEAD~2")
	head := upstream.Commit(t, "other", gittest.Files{"b": "other"})
	s.ask(o, "forced")
	if o.Status.Artifact.Revision != "main@sha1:"+head {
		t.Fatal(o.Status.Artifact.Revision)
	}
}

func TestTheLastGoodArtifactServesWhileTheUpstreamIsAway(t *testing.T) {
	server := gittest.New(t)
	upstream := server.Repository(t, "central")
	revision := "main@sha1:" + upstream.Commit(t, "first", gittest.Files{"a": "1"})
	s := newSite(t)
	o := s.repository("central", upstream.URL(), func(o *sourcev1.GitRepository) { o.Spec.Interval.Duration = time.Second })
	s.awaitRevision(o, revision)
	digest := o.Status.Artifact.Digest
	asked := make(chan struct{}, 1000)
	server.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		asked <- struct{}{}
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	s.awaitFailure(o, sourcev1.GitOperationFailedReason)
	version, ready := o.ResourceVersion, conditions.Of(o, meta.ReadyCondition)
	if o.Status.Artifact == nil || o.Status.Artifact.Digest != digest {
		t.Fatal("the artifact went", o.Status.Artifact)
	}
	since := ready.LastTransitionTime.UTC().Format(time.RFC3339)
	if want := " (no newer revision since " + since + "; the artifact of '" + revision + "' is still served)"; !strings.HasSuffix(ready.Message, want) {
		t.Errorf("Ready says %q, want its end to be %q", ready.Message, want)
	}
	fetchFailed := conditions.Of(o, sourcev1.FetchFailedCondition)
	want := []string{"ArtifactInStorage=True Succeeded: stored artifact for revision '" + revision + "'",
		"Ready=False GitOperationFailed: " + ready.Message,
		"FetchFailed=True GitOperationFailed: " + fetchFailed.Message,
		"Reconciling=True ProgressingWithRetry: " + fetchFailed.Message}
	if diff := cmp.Diff(want, conditionLines(o)); diff != "" {
		t.Error(diff)
	}
	// It is tried again and again, and the object does not change because of that.
	for range 4 {
		<-asked
	}
	s.await(o, "it stays as it is", func() bool { return o.ResourceVersion == version })
	if n := len(s.told(2)); n != 2 {
		t.Errorf("%d events: %s", n, s.events.all())
	}
	server.SetFault(nil)
	s.awaitRevision(o, revision)
	if conditions.Of(o, sourcev1.FetchFailedCondition).Type != "" || conditions.Of(o, meta.ReconcilingCondition).Type != "" {
		t.Error("what is over is still told:", conditionLines(o))
	}
	eventually(t, func() error {
		if said := s.events.all(); said[len(said)-1] != "central Normal Succeeded: stored artifact for revision '"+revision+"'" {
			return fmt.Errorf("the recovery is not told: %q", said)
		}
		return nil
	})
}

func TestALookThatFindsNothingNewAsksNothingOfTheAPI(t *testing.T) {
	server := gittest.New(t)
	upstream := server.Repository(t, "central")
	upstream.Commit(t, "first", gittest.Files{"a": "1"})
	s := newSite(t)
	o := s.repository("central", upstream.URL(), func(o *sourcev1.GitRepository) { o.Spec.Interval.Duration = time.Second })
	s.awaitRevision(o, "main@sha1:"+upstream.Head(t))
	lookups := func(more int) {
		from := server.Counts("central").Lookups
		eventually(t, func() error {
			if n := server.Counts("central").Lookups - from; n < more {
				return fmt.Errorf("%d lookups, waiting for %d", n, more)
			}
			return nil
		})
	}
	lookups(1)
	before := s.requests.Load()
	lookups(3)
	if more := s.requests.Load() - before; more != 0 {
		t.Errorf("%d requests to the API", more)
	}
	if clones := server.Counts("central").Fetches; clones != 1 {
		t.Errorf("%d fetches", clones)
	}
}

func TestASuspendedSourceIsNotLookedAt(t *testing.T) {
	server := gittest.New(t)
	upstream := server.Repository(t, "central")
	upstream.Commit(t, "first", gittest.Files{"a": "1"})
	s := newSite(t)
	o := s.repository("central", upstream.URL(), func(o *sourcev1.GitRepository) { o.Spec.Suspend = true })
	other := s.repository("other", upstream.URL())
	s.awaitRevision(other, "main@sha1:"+upstream.Head(t))
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil || o.Status.Artifact != nil || len(o.Status.Conditions) != 0 {
		t.Fatal(err, o.Status)
	}
	s.change(o, func() { o.Spec.Suspend = false })
	s.awaitRevision(o, "main@sha1:"+upstream.Head(t))
}

func TestASecretThatIsMendedIsTriedAtOnce(t *testing.T) {
	upstream := gittest.New(t, gittest.BasicAuth("reader", "hunter2")).Repository(t, "central")
	upstream.Commit(t, "first", gittest.Files{"a": "1"})
	s := newSite(t)
	o := s.repository("central", upstream.URL(), func(o *sourcev1.GitRepository) { o.Spec.SecretRef = &meta.LocalObjectReference{Name: "login"} })
	s.awaitFailure(o, sourcev1.AuthenticationFailedReason)
	secret := s.secret("login", map[string]string{"username": "reader", "password": "wrong-pa55"})
	s.await(o, "it says that the password is wrong", func() bool {
		return !strings.Contains(conditions.Of(o, meta.ReadyCondition).Message, "there is none")
	})
	s.change(secret, func() { secret.StringData = map[string]string{"password": "hunter2"} })
	s.awaitRevision(o, "main@sha1:"+upstream.Head(t))
	for _, said := range append(s.events.all(), conditionLines(o)...) {
		if strings.Contains(said, "hunter2") || strings.Contains(said, "wrong-pa55") {
			t.Error("a password is told:", said)
		}
	}
}

func TestWhatFluxLeftDoesNotHoldUpDeletion(t *testing.T) {
	upstream := gittest.New(t).Repository(t, "central")
	upstream.Commit(t, "first", gittest.Files{"a": "1"})
	s := newSite(t)
	o := s.repository("central", upstream.URL(), func(o *sourcev1.GitRepository) { o.Finalizers = []string{sourcev1.SourceFinalizer} })
	s.awaitRevision(o, "main@sha1:"+upstream.Head(t))
	if err := s.client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is still there: %w", err)
		}
		return nil
	})
}

func TestARestartChangesNothing(t *testing.T) {
	server := gittest.New(t)
	upstream := server.Repository(t, "central")
	upstream.Commit(t, "first", gittest.Files{"a": "1"})
	s := newSite(t)
	o := s.repository("central", upstream.URL())
	s.awaitRevision(o, "main@sha1:"+upstream.Head(t))
	version := o.ResourceVersion
	s.end()
	lookups := server.Counts("central").Lookups
	s.start()
	eventually(t, func() error {
		if server.Counts("central").Lookups == lookups {
			return fmt.Errorf("nobody looked")
		}
		return nil
	})
	// The next look shows that the one before was recorded.
	s.ask(o, "again")
	before, _ := regexp.MatchString(`^\d+$`, version)
	if !before || server.Counts("central").Fetches != 1 || len(s.events.all()) != 0 {
		t.Errorf("%+v, events %s", server.Counts("central"), s.events.all())
	}
}

func TestALostOrDamagedArchiveIsFetchedAgain(t *testing.T) {
	upstream := gittest.New(t).Repository(t, "central")
	upstream.Commit(t, "first", gittest.Files{"a": "1"})
	s := newSite(t)
	o := s.repository("central", upstream.URL())
	s.awaitRevision(o, "main@sha1:"+upstream.Head(t))
	digest := o.Status.Artifact.Digest
	key := "artifacts/sha256/" + strings.TrimPrefix(digest, "sha256:")
	for i, damage := range []func() error{
		func() error { return s.blobs.Delete(t.Context(), key) },
		func() error { return s.blobs.PutBytes(t.Context(), key, []byte("something else")) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		s.ask(o, fmt.Sprint("damaged ", i))
		s.awaitRevision(o, "main@sha1:"+upstream.Head(t))
		if o.Status.Artifact.Digest != digest {
			t.Errorf("another digest: %s", o.Status.Artifact.Digest)
		}
		if err := s.blobs.VerifyArtifact(t.Context(), digest); err != nil {
			t.Error(err)
		}
	}
	told := slices.DeleteFunc(s.events.all(), func(e string) bool { return !strings.Contains(e, "ArtifactVerificationFailed") })
	if len(told) != 2 {
		t.Error(s.events.all())
	}
}

func TestALostArchiveWithoutUpstreamIsNotAdvertised(t *testing.T) {
	server := gittest.New(t)
	upstream := server.Repository(t, "central")
	upstream.Commit(t, "first", gittest.Files{"a": "1"})
	s := newSite(t)
	o := s.repository("central", upstream.URL())
	s.awaitRevision(o, "main@sha1:"+upstream.Head(t))
	if err := s.blobs.Delete(t.Context(), "artifacts/sha256/"+strings.TrimPrefix(o.Status.Artifact.Digest, "sha256:")); err != nil {
		t.Fatal(err)
	}
	server.SetFault(faulttest.Answer(http.StatusBadGateway))
	s.request(o, "now")
	s.awaitFailure(o, sourcev1.GitOperationFailedReason)
	if o.Status.Artifact != nil || conditions.Of(o, sourcev1.ArtifactInStorageCondition).Type != "" {
		t.Error(o.Status.Artifact, conditionLines(o))
	}
}

func TestATreeThatIsTooLargeIsRefusedAndTheLastOneServes(t *testing.T) {
	upstream := gittest.New(t).Repository(t, "central")
	first := upstream.Commit(t, "first", gittest.Files{"a": "1"})
	s := newSite(t, func(s *Sources) { s.Limits = archive.Limits{MaxUnpacked: 1000} })
	o := s.repository("central", upstream.URL())
	s.awaitRevision(o, "main@sha1:"+first)
	second := upstream.Commit(t, "second", gittest.Files{"b": strings.Repeat("x", 2000)})
	s.request(o, "now")
	s.awaitFailure(o, sourcev1.ArchiveOperationFailedReason)
	want := []string{
		"StorageOperationFailed=True ArchiveOperationFailed: store the artifact of 'main@sha1:" + second + "': the size of all files in bytes exceeds the limit of 1000. " +
			"Exclude files with spec.ignore or a .sourceignore file, or start the server with a larger --max-archive",
		"ArtifactOutdated=True NewRevision: new upstream revision 'main@sha1:" + second + "'"}
	for _, line := range want {
		if !slices.Contains(conditionLines(o), line) {
			t.Errorf("no %q in %q", line, conditionLines(o))
		}
	}
	if o.Status.Artifact.Revision != "main@sha1:"+first {
		t.Error(o.Status.Artifact)
	}
	s.change(o, func() { o.Spec.Ignore = ptr.To("/b\n") })
	s.awaitRevision(o, "main@sha1:"+second)
}

func TestLinksThatLeadOutAreTold(t *testing.T) {
	upstream := gittest.New(t).Repository(t, "central")
	if err := place(upstream.Tree(), map[string]string{"out": "-> /etc/passwd", "d/up": "-> ../../x", "in": "-> a"}); err != nil {
		t.Fatal(err)
	}
	revision := "main@sha1:" + upstream.Commit(t, "first", gittest.Files{"a": "1"})
	real := newSite(t)
	double := newSite(t, func(s *Sources) {
		s.Git = fetches(map[string]string{"a": "1", "in": "-> a", "out": "-> /etc/passwd", "d/up": "-> ../../x"})
	})
	for s, revision := range map[*site]string{real: revision, double: "main@sha1:1"} {
		o := s.repository("central", upstream.URL())
		s.awaitRevision(o, revision)
		if diff := cmp.Diff(map[string]string{"a": "1", "in": "1"}, s.tree(o)); diff != "" {
			t.Error(diff)
		}
		want := "central Warning LinksLeftOut: links that lead out of the tree were excluded from the artifact: d/up, out"
		eventually(t, func() error {
			if !slices.Contains(s.events.all(), want) {
				return fmt.Errorf("%q", s.events.all())
			}
			return nil
		})
	}
}

func TestATagThatMovedIsFollowedAndTold(t *testing.T) {
	upstream := gittest.New(t).Repository(t, "central")
	first := upstream.Commit(t, "first", gittest.Files{"a": "1"})
	upstream.Tag(t, "v1.0.0")
	s := newSite(t)
	o := s.repository("central", upstream.URL(), func(o *sourcev1.GitRepository) { o.Spec.Reference = &sourcev1.GitRepositoryRef{SemVer: ">=1.0.0"} })
	s.awaitRevision(o, "v1.0.0@sha1:"+first)
	second := upstream.Commit(t, "second", gittest.Files{"a": "2"})
	upstream.Tag(t, "v1.0.0")
	s.ask(o, "now")
	s.awaitRevision(o, "v1.0.0@sha1:"+second)
	want := "central Warning TagMoved: the tag v1.0.0 was moved from sha1:" + first + " to sha1:" + second
	eventually(t, func() error {
		if !slices.Contains(s.events.all(), want) {
			return fmt.Errorf("%q", s.events.all())
		}
		return nil
	})
}
