// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	automationv1 "github.com/fluxcd/image-automation-controller/api/v1"
	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/gitops/sources/images/setters"
	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// defaultMessage is Flux's.
const defaultMessage = "Update from image update automation"

// objectChanges are changes by the object.
type objectChanges map[setters.Object][]setters.Change

// messageOf renders a commit's message, with Flux's data.
func messageOf(o *automationv1.ImageUpdateAutomation, changes map[string][]setters.Change) (string, error) {
	commit := o.Spec.GitSpec.Commit
	if strings.TrimSpace(commit.MessageTemplate) == "" {
		return defaultMessage, nil
	}
	values := map[string]any{}
	for key, value := range commit.MessageTemplateValues {
		values[key] = value
	}
	data := map[string]any{"AutomationObject": types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, "Changed": changedOf(changes), "Updated": updatedOf(changes), "Values": values}
	text, err := template.File("spec.git.commit.messageTemplate", []byte(commit.MessageTemplate), data)
	if err != nil {
		return "", upstream.Stalled(automationv1.UpdateFailedReason, nil, "write the commit's message: %s", err)
	}
	return string(text), nil
}

// changedOf is .Changed: what changed in each file, and in each object.
func changedOf(changes map[string][]setters.Change) map[string]any {
	files, objects := map[string]objectChanges{}, objectChanges{}
	var all []setters.Change
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		files[path] = objectChanges{}
		for _, one := range changes[path] {
			files[path][one.Object] = append(files[path][one.Object], one)
			objects[one.Object] = append(objects[one.Object], one)
			one.Object = setters.Object{}
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return map[string]any{"FileChanges": files, "Objects": objects, "Changes": all}
}

// imageRef is an image in .Updated, which Flux had before .Changed.
type imageRef struct {
	name.Reference
	text   string
	policy types.NamespacedName
}

// String is the image as it was written.
func (r imageRef) String() string { return r.text }

// Repository is the path in the registry, Registry its host, Policy the policy that elected it.
func (r imageRef) Repository() string           { return r.Context().RepositoryStr() }
func (r imageRef) Registry() string             { return r.Context().RegistryStr() }
func (r imageRef) Policy() types.NamespacedName { return r.policy }

// fileImages are the images of one file, by the object.
type fileImages struct {
	Objects map[setters.Object][]imageRef
}

// updatedOf is .Updated: the written images.
func updatedOf(changes map[string][]setters.Change) map[string]any {
	files, objects := map[string]fileImages{}, map[setters.Object][]imageRef{}
	var all []imageRef
	met := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		files[path] = fileImages{map[setters.Object][]imageRef{}}
		for _, one := range changes[path] {
			ref, ok := imageOf(one)
			if !ok {
				continue
			}
			files[path].Objects[one.Object] = append(files[path].Objects[one.Object], ref)
			objects[one.Object] = append(objects[one.Object], ref)
			if !met[ref.text] {
				met[ref.text] = true
				all = append(all, ref)
			}
		}
	}
	slices.SortFunc(all, func(a, b imageRef) int { return cmp.Compare(a.text, b.text) })
	return map[string]any{"Files": files, "Objects": objects, "Images": all}
}

// imageOf returns the image of a change; parts of an image are none.
func imageOf(one setters.Change) (imageRef, bool) {
	namespace, policy, _ := strings.Cut(one.Setter, ":")
	ref, err := name.ParseReference(one.NewValue, name.WeakValidation)
	return imageRef{ref, one.NewValue, types.NamespacedName{Namespace: namespace, Name: policy}}, err == nil && !strings.Contains(policy, ":")
}
