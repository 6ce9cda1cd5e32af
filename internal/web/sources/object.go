// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// object is a source, a Kustomization or a HelmRelease as the pages show it.
type object struct {
	Kind, Namespace, Name string
	State                 standing.State
	Says                  string
	// From is where it comes from: a URL, or the source of a Kustomization with its path.
	From, FromAddress string
	Revision          string
	// Attempted is the revision of the last attempt, if it is another one.
	Attempted string
	Since     *metav1.Time
	Interval  string
	Suspended bool
	// Fetched is true if somebody can ask for it to be fetched; false for what is pushed.
	Fetched bool
	// Held is the revision whose pruning waits for a person.
	Held    string
	Address string

	// source is what a Kustomization applies, or a HelmRelease installs.
	source     source
	conditions []metav1.Condition
	original   client.Object
}

// source names the source of another object.
type source struct{ kind, namespace, name string }

// credentials matches what a URL says about who asks: people put tokens there.
var credentials = regexp.MustCompile(`^(https?://)[^/@]*@`)

func withoutCredentials(address string) string { return credentials.ReplaceAllString(address, "$1") }

// read describes an object of any of the kinds.
func read(o client.Object) object {
	v := object{Namespace: o.GetNamespace(), Name: o.GetName(), original: o, Fetched: true}
	var artifact *meta.Artifact
	switch o := o.(type) {
	case *sourcev1.GitRepository:
		v.Kind, v.From, v.Suspended, v.conditions, artifact = "GitRepository", withoutCredentials(o.Spec.URL), o.Spec.Suspend, o.Status.Conditions, o.Status.Artifact
		v.Interval = o.Spec.Interval.Duration.String()
	case *sourcev1.OCIRepository:
		v.Kind, v.From, v.Suspended, v.conditions, artifact = "OCIRepository", withoutCredentials(o.Spec.URL), o.Spec.Suspend, o.Status.Conditions, o.Status.Artifact
		v.Interval = o.Spec.Interval.Duration.String()
	case *sourcev1.Bucket:
		v.Kind, v.From, v.Suspended, v.conditions, artifact = "Bucket", withoutCredentials(o.Spec.Endpoint)+"/"+o.Spec.BucketName, o.Spec.Suspend, o.Status.Conditions, o.Status.Artifact
		v.Interval = o.Spec.Interval.Duration.String()
	case *sourcev1.ExternalArtifact:
		v.Kind, v.From, v.conditions, artifact, v.Fetched = "ExternalArtifact", "pushed", o.Status.Conditions, o.Status.Artifact, false
	case *kustomizev1.Kustomization:
		v.kustomization(o)
	case *sourcev1.HelmRepository, *sourcev1.HelmChart, *helmv2.HelmRelease:
		artifact = v.helm(o)
	default:
		v.image(o)
	}
	if artifact != nil {
		v.Revision = artifact.Revision
	}
	if v.State == "" {
		v.State, v.Says = standing.OfConditions(o, v.conditions, v.Suspended)
	}
	if ready := apimeta.FindStatusCondition(v.conditions, meta.ReadyCondition); ready != nil {
		v.Since = &ready.LastTransitionTime
	}
	v.Address = site.Path("sources", strings.ToLower(v.Kind), v.Namespace, v.Name)
	return v
}

func (v *object) kustomization(o *kustomizev1.Kustomization) {
	ref := o.Spec.SourceRef
	v.Kind, v.Suspended, v.conditions, v.Revision = "Kustomization", o.Spec.Suspend, o.Status.Conditions, o.Status.LastAppliedRevision
	v.Interval = o.Spec.Interval.Duration.String()
	v.source = source{ref.Kind, cmp.Or(ref.Namespace, o.Namespace), ref.Name}
	v.From = ref.Kind + " " + v.source.namespace + "/" + ref.Name
	if path := strings.TrimPrefix(o.Spec.Path, "./"); path != "" && path != "." {
		v.From += ", " + path
	}
	v.FromAddress = site.Path("sources", strings.ToLower(ref.Kind), v.source.namespace, ref.Name)
	v.Attempted = o.Status.LastAttemptedRevision
	v.Held, _ = standing.HeldPrune(o)
}

// matches reports whether an object has all words of a query.
func (v *object) matches(query string) bool {
	for word := range strings.FieldsSeq(query) {
		field, value, narrow := strings.Cut(word, ":")
		has := strings.Contains(strings.ToLower(v.Namespace+"/"+v.Name+" "+v.From), strings.ToLower(word))
		if narrow {
			switch field {
			case "kind":
				has = strings.EqualFold(v.Kind, value)
			case "state", "status":
				has = string(v.State) == value
			case "namespace", "ns":
				has = v.Namespace == value
			}
		}
		if !has {
			return false
		}
	}
	return true
}

// sorted puts those first that need somebody.
func sorted(list []object) []object {
	slices.SortStableFunc(list, func(a, b object) int {
		return cmp.Or(a.State.Rank()-b.State.Rank(), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return list
}
