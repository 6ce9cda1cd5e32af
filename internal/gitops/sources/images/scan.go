// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"time"

	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/sources/images/policy"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

const (
	// youngScan is the maximum age of a shared list for an object whose author waits for it.
	youngScan = 10 * time.Second
	// showScanAfter is the age of the shown time of the last scan that lets a scan without news write.
	showScanAfter = 10 * time.Minute
	// shownTags is Flux's number of tags in the status.
	shownTags = 10
	// reasonInvalidExclusion: an entry of spec.exclusionList cannot be used.
	reasonInvalidExclusion = "InvalidExclusionList"
)

// scans are those of ImageRepositories.
func (i *Images) scans() *purpose {
	return &purpose{name: imagev1.ImageRepositoryKind, action: "Scan", failed: imagev1.ReadOperationFailedReason,
		new:  func() object { return &imagev1.ImageRepository{} },
		list: func() client.ObjectList { return &imagev1.ImageRepositoryList{} },
		view: func(o object) view {
			r := o.(*imagev1.ImageRepository)
			return view{r.Spec.Suspend, r.Spec.Interval.Duration, &r.Status.ObservedGeneration, &r.Status.LastHandledReconcileAt}
		},
		work: func(ctx context.Context, o object, fresh bool) *outcome {
			return i.scan(ctx, o.(*imagev1.ImageRepository), fresh)
		},
		ended:  func(o object) { i.policies.tell(i.ctx, indexRepository, o.GetNamespace()+"/"+o.GetName()) },
		forget: i.book.forget,
	}
}

func (i *Images) scan(ctx context.Context, o *imagev1.ImageRepository, fresh bool) *outcome {
	exclusions, err := exclusionsOf(o)
	if err != nil {
		return &outcome{err: err}
	}
	wanted, err := i.image(ctx, o)
	if err != nil {
		return &outcome{err: err}
	}
	canonical, err := wanted.Canonical()
	if err != nil {
		return &outcome{err: err}
	}
	leave, err := i.hosts.Take(ctx, hostOf(o.Spec.Image, o.Namespace, o.Spec.ProxySecretRef))
	if err != nil {
		return &outcome{err: err}
	}
	defer leave()
	// All objects of an image with the same access share a list in each interval.
	wanted.MaxAge = min(o.Spec.Interval.Duration/10*9, 10*time.Minute)
	if o.Status.LastScanResult == nil {
		wanted.MaxAge = min(wanted.MaxAge, youngScan)
	}
	names, err := i.Registries.Tags(ctx, wanted, fresh)
	if err != nil {
		return &outcome{err: err, write: func(o object) { o.(*imagev1.ImageRepository).Status.CanonicalImageName = canonical }}
	}
	tags, invalid := policy.Valid(names, exclusions)
	i.book.write(client.ObjectKeyFromObject(o), page{o.UID, o.Generation, tags})
	result := &imagev1.ScanResult{Revision: revisionOf(tags), TagCount: len(tags), ScanTime: metav1.NewTime(i.now().UTC().Truncate(time.Second)), LatestTags: latest(tags)}
	out := &outcome{ready: scanMessage(len(tags), len(names), invalid), write: func(object object) {
		s := &object.(*imagev1.ImageRepository).Status
		s.CanonicalImageName, s.ObservedExclusionList = canonical, o.GetExclusionList()
		if last := s.LastScanResult; last == nil || last.Revision != result.Revision || last.TagCount != result.TagCount || fresh || result.ScanTime.Sub(last.ScanTime.Time) >= showScanAfter {
			s.LastScanResult = result
		}
	}}
	if last := o.Status.LastScanResult; last == nil || last.Revision != result.Revision {
		out.said = []said{{corev1.EventTypeNormal, meta.SucceededReason, out.ready}}
	}
	return out
}

// scanMessage is Flux's message, with what was left out.
func scanMessage(tags, names, invalid int) string {
	text := fmt.Sprintf("successful scan: found %d tags", tags)
	if tags == 1 {
		text = "successful scan: found 1 tag"
	}
	if invalid > 0 {
		text += fmt.Sprintf("; %d of %d names are not valid tags and were left out", invalid, names)
	}
	return text
}

func exclusionsOf(o *imagev1.ImageRepository) (all []*regexp.Regexp, err error) {
	for n, text := range o.GetExclusionList() {
		r, err := regexp.Compile(text)
		if err != nil {
			return nil, upstream.Stalled(reasonInvalidExclusion, nil, "spec.exclusionList[%d] is not a valid regular expression (Go's RE2 syntax): %s", n, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// revisionOf is equal for equal tags.
func revisionOf(tags []string) string {
	sum := sha256.New()
	for _, tag := range tags {
		fmt.Fprintln(sum, tag)
	}
	return hex.EncodeToString(sum.Sum(nil)[:10])
}

// latest returns the last tags in order, the last one first.
func latest(tags []string) []string {
	some := slices.Clone(tags[max(0, len(tags)-shownTags):])
	slices.Reverse(some)
	return some
}
