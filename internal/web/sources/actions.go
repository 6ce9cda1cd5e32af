// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	automationv1 "github.com/fluxcd/image-automation-controller/api/v1"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/acts"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// kinds are the kinds by their names in addresses.
var kinds = map[string]struct {
	name, group, resource string
	empty                 func() client.Object
}{
	"gitrepository":    {"GitRepository", sourcev1.GroupVersion.Group, "gitrepositories", func() client.Object { return &sourcev1.GitRepository{} }},
	"ocirepository":    {"OCIRepository", sourcev1.GroupVersion.Group, "ocirepositories", func() client.Object { return &sourcev1.OCIRepository{} }},
	"bucket":           {"Bucket", sourcev1.GroupVersion.Group, "buckets", func() client.Object { return &sourcev1.Bucket{} }},
	"externalartifact": {"ExternalArtifact", sourcev1.GroupVersion.Group, "externalartifacts", func() client.Object { return &sourcev1.ExternalArtifact{} }},
	"helmrepository":   {sourcev1.HelmRepositoryKind, sourcev1.GroupVersion.Group, "helmrepositories", func() client.Object { return &sourcev1.HelmRepository{} }},
	"helmchart":        {sourcev1.HelmChartKind, sourcev1.GroupVersion.Group, "helmcharts", func() client.Object { return &sourcev1.HelmChart{} }},
	"helmrelease":      {helmv2.HelmReleaseKind, helmv2.GroupVersion.Group, "helmreleases", func() client.Object { return &helmv2.HelmRelease{} }},
	"imagerepository":  {imagev1.ImageRepositoryKind, imagev1.GroupVersion.Group, "imagerepositories", func() client.Object { return &imagev1.ImageRepository{} }},
	"imagepolicy":      {imagev1.ImagePolicyKind, imagev1.GroupVersion.Group, "imagepolicies", func() client.Object { return &imagev1.ImagePolicy{} }},
	"imageupdateautomation": {automationv1.ImageUpdateAutomationKind, automationv1.GroupVersion.Group, "imageupdateautomations",
		func() client.Object { return &automationv1.ImageUpdateAutomation{} }},
	"kustomization": {"Kustomization", kustomizev1.GroupVersion.Group, "kustomizations", func() client.Object { return &kustomizev1.Kustomization{} }},
}

// patches is the right to change an object.
func (v *object) patches() access.Right {
	k := kinds[strings.ToLower(v.Kind)]
	return access.Right{Verb: "patch", Group: k.group, Resource: k.resource, Namespace: v.Namespace, Name: v.Name}
}

// buttons are what a person can do with an object.
func (v *object) buttons(r *site.Request) []site.Button {
	if !v.Fetched {
		return nil
	}
	var list []site.Button
	if v.Suspended {
		return append(list, r.Allow(site.Button{Label: "Resume", Address: v.Address + "/resume"}, v.patches()))
	}
	if v.Held != "" {
		list = append(list, r.Allow(site.Button{Label: "Confirm the pruning", Address: v.Address + "/confirm", Danger: true, Values: []site.Value{{Name: "revision", Value: v.Held}},
			Confirm: diagnostic.Printable("The objects that are no longer in " + v.Held + " will be deleted. " + v.Says)}, v.patches()))
	}
	list = append(list, r.Allow(site.Button{Label: "Sync", Address: v.Address + "/sync"}, v.patches()))
	if v.source.name != "" && kinds[strings.ToLower(v.source.kind)].name != "" && v.source.kind != "ExternalArtifact" {
		of := &object{Kind: v.source.kind, Namespace: v.source.namespace, Name: v.source.name}
		list = append(list, r.Allow(site.Button{Label: "Sync with source", Address: v.Address + "/sync", Values: []site.Value{{Name: "source", Value: "yes"}}}, v.patches(), of.patches()))
	}
	return append(list, r.Allow(site.Button{Label: "Suspend", Address: v.Address + "/suspend"}, v.patches()))
}

// get reads an object as the person.
func get(r *site.Request, kind, namespace, name string) (object, error) {
	k, known := kinds[kind]
	if !known {
		return object{}, site.NotFound("There is no kind of sources called "+kind+".", "")
	}
	o := k.empty()
	err := r.As.Objects.Get(r.Context(), types.NamespacedName{Namespace: namespace, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return object{}, site.NotFound("There is no "+k.name+" "+namespace+"/"+name+".", "It was deleted, or never was. Its stacks and objects may still be there: yuba list -n "+namespace)
	}
	return read(o), err
}

func here(r *site.Request) (object, error) {
	return get(r, r.PathValue("kind"), r.PathValue("namespace"), r.PathValue("name"))
}

func (v *object) called() string { return v.Kind + " " + v.Namespace + "/" + v.Name }

func requested(r *site.Request) verbs.Change {
	return verbs.Change{}.Annotate(map[string]any{meta.ReconcileRequestAnnotation: verbs.NewRequest(r.Now)})
}

// sync requests a reconciliation, of the source before if it is asked for. The Kustomization is
// reconciled again when its source has a new artifact.
func sync(r *site.Request) (site.Done, error) {
	v, err := here(r)
	switch {
	case err != nil:
		return site.Done{}, err
	case v.Suspended:
		return site.Done{}, site.Conflict("Nothing was done: "+v.called()+" is suspended.", "Resume it first.")
	case !v.Fetched:
		return site.Done{}, site.BadRequest("Nothing was done: "+v.called()+" is not fetched.", "")
	}
	said := "The sync of " + v.called() + " is requested."
	if r.PostFormValue("source") == "yes" && v.source.name != "" {
		of, err := get(r, strings.ToLower(v.source.kind), v.source.namespace, v.source.name)
		if err != nil {
			return site.Done{}, err
		}
		if of.Fetched && !of.Suspended {
			if err := acts.Patch(r, of.original, requested(r)); err != nil {
				return site.Done{}, err
			}
			said = "The sync of " + of.called() + " and " + v.called() + " is requested."
		}
	}
	return site.Done{Says: said}, acts.Patch(r, v.original, requested(r))
}

// suspend stops an object, or lets it go on.
func suspend(stop bool) site.Action {
	return func(r *site.Request) (site.Done, error) {
		v, err := here(r)
		if err != nil {
			return site.Done{}, err
		}
		if !v.Fetched {
			return site.Done{}, site.BadRequest("Nothing was done: "+v.called()+" cannot be suspended.", "")
		}
		word := "resumed"
		if stop {
			word = "suspended"
		}
		return site.Done{Says: v.called() + " is " + word + "."}, acts.Patch(r, v.original, verbs.Suspend(stop))
	}
}

// confirm confirms the pruning that the person saw: that of one revision.
func confirm(r *site.Request) (site.Done, error) {
	seen := r.PostFormValue("revision")
	says, err := acts.Steadily(r.PathValue("name"), func() (string, error) {
		v, err := here(r)
		switch {
		case err != nil:
			return "", err
		case v.Held == "":
			return "", site.Conflict("Nothing was confirmed: no pruning of "+v.called()+" is held, or somebody confirmed it already.", "")
		case seen != v.Held:
			return "", site.Conflict("Nothing was confirmed: the held pruning of "+v.called()+" is now that of revision "+v.Held+".", "Look at it again.")
		}
		c := verbs.Change{}.Annotate(map[string]any{standing.AnnotationConfirmPrune: v.Held, meta.ReconcileRequestAnnotation: verbs.NewRequest(r.Now)})
		return "The pruning of " + v.called() + " for revision " + v.Held + " is confirmed.", acts.Patch(r, v.original, c.If(v.original.GetResourceVersion()))
	})
	return site.Done{Says: says}, err
}
