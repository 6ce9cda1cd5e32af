// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// aRepository is a GitRepository that has an artifact and was changed since.
func aRepository(change ...func(*sourcev1.GitRepository)) *sourcev1.GitRepository {
	o := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "central", Generation: 2}, Spec: sourcev1.GitRepositorySpec{URL: "https://git.test/central"}}
	o.Status.ObservedGeneration = 1
	o.Status.Artifact = &meta.Artifact{Revision: "main@sha1:a", Digest: "sha256:a"}
	conditions.Set(o, sourcev1.ArtifactInStorageCondition, metav1.ConditionTrue, meta.SucceededReason, "stored artifact for revision 'main@sha1:a'")
	conditions.Set(o, meta.ReadyCondition, metav1.ConditionTrue, meta.SucceededReason, "stored artifact for revision 'main@sha1:a'")
	for _, c := range change {
		c(o)
	}
	return o
}

// sinces are times in messages.
var sinces = regexp.MustCompile(`since \S+Z`)

func TestSettle(t *testing.T) {
	found := &Found{Revision: "main@sha1:b"}
	fails := func(reason, message string, stalled bool) *outcome {
		return &outcome{err: &archive.FetchError{Reason: reason, Message: message, Stalled: stalled}}
	}
	bare := func(o *sourcev1.GitRepository) { o.Status = sourcev1.GitRepositoryStatus{ObservedGeneration: -1} }
	failing := func(o *sourcev1.GitRepository) {
		gitRepositories(nil).settle(o, fails(sourcev1.GitOperationFailedReason, "no route", false), "", noon)
		conditions.Set(o, sourcev1.ArtifactOutdatedCondition, metav1.ConditionTrue, "NewRevision", "old news")
		conditions.Set(o, meta.StalledCondition, metav1.ConditionTrue, "Old", "old news")
	}
	const served = " (no newer revision since T; the artifact of 'main@sha1:a' is still served)"
	const inStorage = "ArtifactInStorage=True Succeeded: stored artifact for revision 'main@sha1:a'"
	for sentence, test := range map[string]struct {
		object  *sourcev1.GitRepository
		outcome *outcome
		// revision and generation are those of the status afterwards.
		revision   string
		generation int64
		want       []string
	}{
		"new content": {aRepository(bare), &outcome{found: found, made: &packed{digest: "sha256:b"}}, "main@sha1:b", 2,
			[]string{"ArtifactInStorage=True Succeeded: stored artifact for revision 'main@sha1:b'", "Ready=True Succeeded: stored artifact for revision 'main@sha1:b'"}},
		"nothing new ends what failed": {aRepository(failing), &outcome{found: &Found{Revision: "main@sha1:a"}}, "main@sha1:a", 2,
			[]string{inStorage, "Ready=True Succeeded: stored artifact for revision 'main@sha1:a'"}},
		"a signature that is right": {aRepository(), &outcome{found: &Found{Revision: "main@sha1:a", Verified: "verified"}}, "main@sha1:a", 2,
			[]string{inStorage, "Ready=True Succeeded: stored artifact for revision 'main@sha1:a'", "SourceVerified=True Succeeded: verified"}},
		"no answer": {aRepository(), fails(sourcev1.GitOperationFailedReason, "no route", false), "main@sha1:a", 1,
			[]string{inStorage, "Ready=False GitOperationFailed: no route" + served, "FetchFailed=True GitOperationFailed: no route", "Reconciling=True ProgressingWithRetry: no route"}},
		"no answer, and nothing to serve": {aRepository(bare), fails(sourcev1.GitOperationFailedReason, "no route", false), "", -1,
			[]string{"FetchFailed=True GitOperationFailed: no route", "Ready=False GitOperationFailed: no route", "Reconciling=True ProgressingWithRetry: no route"}},
		"no answer, and what was stored is gone": {aRepository(), &outcome{gone: true, err: &archive.FetchError{Reason: "GitOperationFailed", Message: "no route"}}, "", 1,
			[]string{"Ready=False GitOperationFailed: no route", "FetchFailed=True GitOperationFailed: no route", "Reconciling=True ProgressingWithRetry: no route"}},
		"the source itself is wrong": {aRepository(failing), fails(sourcev1.URLInvalidReason, "no such scheme", true), "main@sha1:a", 2,
			[]string{inStorage, "Ready=False URLInvalid: no such scheme" + served, "FetchFailed=True URLInvalid: no such scheme",
				"ArtifactOutdated=True NewRevision: old news", "Stalled=True URLInvalid: no such scheme"}},
		"a signature that is wrong": {aRepository(), &outcome{found: nil, err: &archive.FetchError{Reason: "InvalidCommitSignature", Message: "not signed"}}, "main@sha1:a", 1,
			[]string{inStorage, "Ready=False InvalidCommitSignature: not signed" + served, "SourceVerified=False InvalidCommitSignature: not signed", "Reconciling=True ProgressingWithRetry: not signed"}},
		"what is new cannot be stored": {aRepository(), &outcome{found: found, err: &storeError{message: "too large"}}, "main@sha1:a", 1,
			[]string{inStorage, "Ready=False ArchiveOperationFailed: too large" + served, "ArtifactOutdated=True NewRevision: new upstream revision 'main@sha1:b'",
				"StorageOperationFailed=True ArchiveOperationFailed: too large", "Reconciling=True ProgressingWithRetry: too large"}},
		"an include is missing": {aRepository(bare), &outcome{err: &includeError{reason: "NotFound", message: "not there"}}, "", -1,
			[]string{"IncludeUnavailable=True NotFound: not there", "Ready=False NotFound: not there", "Reconciling=True ProgressingWithRetry: not there"}},
		"what nobody foresaw": {aRepository(bare), &outcome{err: errors.New("boom at https://user:pa55@git.test/x")}, "", -1,
			[]string{"FetchFailed=True GitOperationFailed: boom at https://git.test/x", "Ready=False GitOperationFailed: boom at https://git.test/x",
				"Reconciling=True ProgressingWithRetry: boom at https://git.test/x"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := test.object
			test.outcome.requested = "r1"
			gitRepositories(nil).settle(o, test.outcome, "https://yuba.test/a", noon)
			var got []string
			for _, line := range conditionLines(o) {
				got = append(got, sinces.ReplaceAllString(line, "since T"))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			revision := ""
			if o.Status.Artifact != nil {
				revision = o.Status.Artifact.Revision
			}
			if revision != test.revision || o.Status.ObservedGeneration != test.generation || o.Status.LastHandledReconcileAt != "r1" {
				t.Errorf("revision %q, generation %d, handled %q", revision, o.Status.ObservedGeneration, o.Status.LastHandledReconcileAt)
			}
			// The same again changes nothing, however late.
			before := o.DeepCopy()
			test.outcome.made, test.outcome.gone = nil, false
			gitRepositories(nil).settle(o, test.outcome, "https://yuba.test/a", noon.Add(time.Hour))
			if diff := cmp.Diff(before, o); diff != "" {
				t.Error("a second time it differs", diff)
			}
		})
	}
}

func TestMessagesAreBounded(t *testing.T) {
	if got := clean(strings.Repeat("ä", 10_000)); len([]rune(got)) != maxMessage+1 {
		t.Errorf("%d", len(got))
	}
}

func TestFailuresThatSayNothingAreToldAsTheKindDoes(t *testing.T) {
	k := gitRepositories(nil)
	late, cancel := context.WithDeadline(t.Context(), noon.Add(-100*365*24*time.Hour))
	defer cancel()
	v := view{url: "https://git.test/x", timeout: time.Minute}
	known := &archive.FetchError{Reason: "URLInvalid", Message: "known"}
	for sentence, test := range map[string]struct {
		ctx  context.Context
		err  error
		want archive.FetchError
	}{
		"one that is known stays": {late, known, *known},
		"one that took too long":  {late, errors.New("x"), archive.FetchError{Reason: "GitOperationFailed", Message: "check https://git.test/x: it took longer than spec.timeout allows"}},
		"any other":               {t.Context(), errors.New("x"), archive.FetchError{Reason: "GitOperationFailed", Message: "check https://git.test/x: x"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got *archive.FetchError
			if !errors.As(k.explain(test.ctx, v, "check", test.err), &got) {
				t.Fatal("no FetchError")
			}
			if got.Reason != test.want.Reason || got.Message != test.want.Message {
				t.Errorf("%+v", got)
			}
		})
	}
}
