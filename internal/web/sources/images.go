// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	automationv1 "github.com/fluxcd/image-automation-controller/api/v1"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

// image describes an object of image automation.
func (v *object) image(o client.Object) {
	switch o := o.(type) {
	case *imagev1.ImageRepository:
		v.Kind, v.From, v.Suspended, v.conditions = imagev1.ImageRepositoryKind, o.Spec.Image, o.Spec.Suspend, o.Status.Conditions
		v.Interval = o.Spec.Interval.Duration.String()
		if last := o.Status.LastScanResult; last != nil {
			v.Revision = fmt.Sprintf("%d tags", last.TagCount)
		}
	case *imagev1.ImagePolicy:
		v.Kind, v.Suspended, v.conditions = imagev1.ImagePolicyKind, o.Spec.Suspend, o.Status.Conditions
		v.takes(source{imagev1.ImageRepositoryKind, cmp.Or(o.Spec.ImageRepositoryRef.Namespace, o.Namespace), o.Spec.ImageRepositoryRef.Name})
		if latest := o.Status.LatestRef; latest != nil {
			v.Revision = strings.TrimPrefix(latest.String(), latest.Name+":")
		}
	case *automationv1.ImageUpdateAutomation:
		v.Kind, v.Suspended, v.conditions = automationv1.ImageUpdateAutomationKind, o.Spec.Suspend, o.Status.Conditions
		v.Interval = o.Spec.Interval.Duration.String()
		v.takes(source{o.Spec.SourceRef.Kind, cmp.Or(o.Spec.SourceRef.Namespace, o.Namespace), o.Spec.SourceRef.Name})
		if o.Status.LastPushCommit != "" {
			v.Revision = "sha1:" + o.Status.LastPushCommit
		}
	}
}

// takes records what an object works with.
func (v *object) takes(of source) {
	v.source, v.From = of, of.kind+" "+of.namespace+"/"+of.name
	v.FromAddress = site.Path("sources", strings.ToLower(of.kind), of.namespace, of.name)
}

// images is the part of the list about image automation.
func (p pages) images(r *site.Request, query string) (t table, err error) {
	for _, list := range []func() ([]object, string, error){
		listed(r, p.objects, watched.ImageRepositories), listed(r, p.objects, watched.ImagePolicies), listed(r, p.objects, watched.ImageUpdates),
	} {
		some, missing, err := list()
		if err != nil {
			return t, err
		}
		t.Total += len(some)
		if missing != "" {
			t.Missing = append(t.Missing, missing)
		}
		for _, v := range sorted(slices.DeleteFunc(some, func(v object) bool { return !v.matches(query) })) {
			t.Rows = append(t.Rows, entry{v, v.buttons(r)})
		}
	}
	t.Pager = pieces.Pager{Total: len(t.Rows)}
	t.Rows = t.Rows[:min(len(t.Rows), maxNamed)]
	return t, nil
}

// imageUsers are the policies of an image, or the automations of a repository.
func (p pages) imageUsers(r *site.Request, v object) (list []user, err error) {
	return usersOf(v, listed(r, p.objects, watched.ImagePolicies), listed(r, p.objects, watched.ImageUpdates))
}

// usersOf are those of the listed objects that take from an object.
func usersOf(v object, lists ...func() ([]object, string, error)) (list []user, err error) {
	for _, get := range lists {
		some, _, err := get()
		if err != nil {
			return nil, err
		}
		for _, one := range some {
			if one.source == (source{v.Kind, v.Namespace, v.Name}) && len(list) < maxNamed {
				list = append(list, user{one.Kind, one.Namespace + "/" + one.Name, one.Address, one.State})
			}
		}
	}
	return list, nil
}
