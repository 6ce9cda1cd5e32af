// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// The conditions, as in Flux. Those of a failure exist only while it lasts.
//
//	Ready
//	├── StorageOperationFailed  storing the content failed
//	├── FetchFailed             the upstream is unavailable, or lacks the requested revision
//	├── IncludeUnavailable      an included GitRepository has no artifact
//	├── ArtifactOutdated        there is something newer than the artifact
//	├── ArtifactInStorage       the artifact can be used
//	├── SourceVerified          whether the signature is valid
//	├── Stalled                 a change of the source is required
//	└── Reconciling             in progress, or to be retried

// settle writes the result of a look to the status of the object. It makes no requests.
func (k *kind) settle(o Object, out *outcome, archiveURL string, now time.Time) {
	v := k.view(o)
	if out.requested != "" {
		*v.handled = out.requested
	}
	if out.err != nil {
		k.settleFailure(o, v, out)
		return
	}
	conditions.Remove(o, sourcev1.StorageOperationFailedCondition, sourcev1.FetchFailedCondition, sourcev1.IncludeUnavailableCondition,
		sourcev1.ArtifactOutdatedCondition, meta.StalledCondition, meta.ReconcilingCondition)
	k.settleArtifact(o, v, out, archiveURL, now)
	if out.found.Verified != "" {
		conditions.Set(o, sourcev1.SourceVerifiedCondition, metav1.ConditionTrue, meta.SucceededReason, out.found.Verified)
	} else {
		conditions.Remove(o, sourcev1.SourceVerifiedCondition)
	}
	message, reason := cmp.Or(out.found.Message, k.storedMessage(out.found.Revision)), cmp.Or(out.found.Reason, meta.SucceededReason)
	conditions.Set(o, sourcev1.ArtifactInStorageCondition, metav1.ConditionTrue, reason, message)
	conditions.Set(o, meta.ReadyCondition, metav1.ConditionTrue, reason, message)
	*v.generation = o.GetGeneration()
	k.observe(o)
	if k.found != nil {
		k.found(o, out.found)
	}
}

func (k *kind) settleArtifact(o Object, v view, out *outcome, archiveURL string, now time.Time) {
	if made := out.made; made != nil {
		*v.artifact = &meta.Artifact{Digest: made.digest, Revision: out.found.Revision, Size: &made.size, Metadata: out.found.Metadata,
			LastUpdateTime: metav1.NewTime(now.UTC().Truncate(time.Second)),
			Path:           fmt.Sprintf("%s/%s/%s/%s.%s", kindPath(k.name), o.GetNamespace(), o.GetName(), made.digest, cmp.Or(k.extension, "tar.gz"))}
		if v.includes != nil {
			*v.includes = out.includes
		}
	}
	// The server may have another address than when the artifact was made.
	(*v.artifact).URL = archiveURL
	if v.archive != nil {
		*v.archive = archiveURL
	}
}

// settleFailure records a failure. The stored artifact is still served, and Ready says so.
func (k *kind) settleFailure(o Object, v view, out *outcome) {
	condition, reason, message := k.failure(out.err)
	for _, other := range []string{sourcev1.StorageOperationFailedCondition, sourcev1.FetchFailedCondition, sourcev1.IncludeUnavailableCondition} {
		if other != condition {
			conditions.Remove(o, other)
		}
	}
	if out.gone {
		*v.artifact = nil
		conditions.Remove(o, sourcev1.ArtifactInStorageCondition)
	}
	if a := *v.artifact; a != nil && out.found != nil && a.Revision != out.found.Revision {
		conditions.Set(o, sourcev1.ArtifactOutdatedCondition, metav1.ConditionTrue, "NewRevision", fmt.Sprintf("new upstream revision '%s'", out.found.Revision))
	}
	if condition == sourcev1.SourceVerifiedCondition {
		conditions.Set(o, condition, metav1.ConditionFalse, reason, message)
	} else {
		conditions.Set(o, condition, metav1.ConditionTrue, reason, message)
	}
	conditions.Set(o, meta.ReadyCondition, metav1.ConditionFalse, reason, message)
	if a := *v.artifact; a != nil {
		// Use an absolute time, so that retries do not change the status.
		since := conditions.Of(o, meta.ReadyCondition).LastTransitionTime.UTC().Format(time.RFC3339)
		conditions.Set(o, meta.ReadyCondition, metav1.ConditionFalse, reason,
			fmt.Sprintf("%s (no newer revision since %s; the artifact of '%s' is still served)", message, since, a.Revision))
	}
	if stalls(out.err) {
		conditions.Remove(o, meta.ReconcilingCondition)
		conditions.Set(o, meta.StalledCondition, metav1.ConditionTrue, reason, message)
		*v.generation = o.GetGeneration()
		return
	}
	conditions.Remove(o, meta.StalledCondition)
	conditions.Set(o, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingWithRetryReason, message)
}

// failure returns the condition for an error, with reason and message.
func (k *kind) failure(err error) (condition, reason, message string) {
	var fetch *archive.FetchError
	var include *includeError
	var store *storeError
	switch {
	case errors.As(err, &include):
		return sourcev1.IncludeUnavailableCondition, include.reason, clean(include.message)
	case errors.As(err, &store):
		return sourcev1.StorageOperationFailedCondition, sourcev1.ArchiveOperationFailedReason, clean(store.message)
	case errors.As(err, &fetch):
		condition, reason = sourcev1.FetchFailedCondition, fetch.Reason
		if isVerification(reason) {
			condition = sourcev1.SourceVerifiedCondition
		}
		return condition, reason, clean(fetch.Message)
	}
	return sourcev1.FetchFailedCondition, k.failed, clean(err.Error())
}

// stalls reports whether retrying is useless without a change.
func stalls(err error) bool {
	var fetch *archive.FetchError
	var include *includeError
	return errors.As(err, &fetch) && fetch.Stalled || errors.As(err, &include) && include.stalled
}

// progress marks the object as in progress.
func progress(o Object, message string) {
	conditions.Set(o, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, message)
	if ready := conditions.Of(o, meta.ReadyCondition); ready.Type == "" || ready.Status == metav1.ConditionUnknown {
		conditions.Set(o, meta.ReadyCondition, metav1.ConditionUnknown, meta.ProgressingReason, message)
	}
}

// maxMessage limits a condition's message; the API accepts eight times as much.
const maxMessage = 4096

// passwords matches passwords in URLs that libraries quote in errors.
var passwords = regexp.MustCompile(`(://)[^/@\s"']*@`)

func clean(message string) string {
	return shorten.Cut(passwords.ReplaceAllString(message, "$1"), maxMessage)
}
