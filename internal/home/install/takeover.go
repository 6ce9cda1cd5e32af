// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// Verb is what to do with a kind.
type Verb string

// Create and Replace apply Yuba's definition, Keep leaves the installed one, and Refuse stops the
// installation before it changes anything.
const (
	Create  Verb = "create"
	Replace Verb = "replace"
	Keep    Verb = "keep"
	Refuse  Verb = "refuse"
)

// Step is the decision about one kind.
type Step struct {
	// Name is that of the CRD.
	Name   string `json:"name"`
	Verb   Verb   `json:"verb"`
	Reason string `json:"reason"`
	// Lost are the versions and fields that Yuba's definition lacks.
	Lost []string `json:"lost,omitempty"`
	// Warning says what endangers the kind in the future.
	Warning string `json:"warning,omitempty"`
}

// Rights say what an installation may do beyond its defaults.
type Rights struct {
	// DropFields replaces definitions that have more versions or fields than Yuba's. The API server
	// drops those fields from objects.
	DropFields bool
	// TakeTenants replaces the kinds of a Tenant Operator.
	TakeTenants bool
}

// facts are everything that a decision depends on.
type facts struct {
	ours   apiextensionsv1.CustomResourceDefinition
	digest string
	// installed is nil if the API does not have the kind.
	installed *apiextensionsv1.CustomResourceDefinition
	rights    Rights
	lost      []string
}

// Groups of others whose kinds Yuba also has.
const (
	fluxGroups  = ".toolkit.fluxcd.io"
	tenantGroup = "operator.kubernetes-tenants.org"
	// partOf is the label that all CRDs of Flux have.
	partOf = "app.kubernetes.io/part-of"
)

// rules decide about a kind: the first that holds.
var rules = []struct {
	verb   Verb
	reason string
	holds  func(facts) bool
}{
	{Create, "not installed", func(f facts) bool { return f.installed == nil }},
	// The annotation alone proves nothing: tools that apply another definition leave it.
	{Keep, "up to date", func(f facts) bool {
		return f.sameDigest() && len(f.lost) == 0 && len(lostBy(&f.ours, f.installed)) == 0
	}},
	// Flux upgrades its own kinds, and its controllers need their own version.
	{Keep, "Flux installed it", facts.ofFlux},
	// An active Tenant Operator needs its own version.
	{Keep, "Tenant Operator installed it; --take-tenants replaces it", func(f facts) bool {
		return !f.ofYuba() && f.ours.Spec.Group == tenantGroup && !f.rights.TakeTenants
	}},
	{Refuse, "somebody added to it", func(f facts) bool { return len(f.lost) > 0 && !f.rights.DropFields && f.sameDigest() }},
	{Refuse, "a newer Yuba installed it", func(f facts) bool { return len(f.lost) > 0 && !f.rights.DropFields && f.ofYuba() }},
	{Refuse, "it is newer than Yuba's", func(f facts) bool { return len(f.lost) > 0 && !f.rights.DropFields }},
	{Replace, "somebody changed it", facts.sameDigest},
	{Replace, "another version of Yuba installed it", facts.ofYuba},
	{Replace, "Yuba's version has all its fields", func(f facts) bool { return len(f.lost) == 0 }},
	{Replace, "its additional fields may be dropped", func(facts) bool { return true }},
}

// ofYuba reports whether Yuba installed the kind.
func (f facts) ofYuba() bool { return f.installed.Annotations[digestAnnotation] != "" }

// ofFlux reports whether Flux installed the kind, perhaps in place of Yuba's: then the annotation
// of Yuba stays, and all installations of Flux add their label.
func (f facts) ofFlux() bool {
	return strings.HasSuffix(f.ours.Spec.Group, fluxGroups) && (!f.ofYuba() || f.installed.Labels[partOf] == "flux")
}

// sameDigest reports whether Yuba installed this definition, whatever became of it.
func (f facts) sameDigest() bool { return f.installed.Annotations[digestAnnotation] == f.digest }

func decide(f facts) Step {
	s := Step{Name: f.ours.Name}
	if f.installed != nil {
		f.lost = lostBy(f.installed, &f.ours)
		s.Warning = releaseWarning(f.installed)
	}
	for _, rule := range rules {
		if rule.holds(f) {
			s.Verb, s.Reason = rule.verb, rule.reason
			break
		}
	}
	if s.Verb != Keep {
		s.Lost = f.lost
	}
	return s
}

// lostBy lists the versions and fields of theirs that ours lacks.
func lostBy(theirs, ours *apiextensionsv1.CustomResourceDefinition) (lost []string) {
	for _, v := range theirs.Spec.Versions {
		at := slices.IndexFunc(ours.Spec.Versions, func(o apiextensionsv1.CustomResourceDefinitionVersion) bool { return o.Name == v.Name })
		switch {
		case at >= 0 && v.Schema != nil && ours.Spec.Versions[at].Schema != nil:
			lost = append(lost, lostFields(v.Name+" ", v.Schema.OpenAPIV3Schema, ours.Spec.Versions[at].Schema.OpenAPIV3Schema)...)
		case at < 0 && (v.Served || slices.Contains(theirs.Status.StoredVersions, v.Name)):
			lost = append(lost, "version "+v.Name)
		}
	}
	return lost
}

// lostFields lists the fields of a schema that another lacks.
func lostFields(path string, theirs, ours *apiextensionsv1.JSONSchemaProps) (lost []string) {
	if theirs == nil || ours == nil || ours.XPreserveUnknownFields != nil && *ours.XPreserveUnknownFields {
		return nil
	}
	for name, field := range theirs.Properties {
		own, ok := ours.Properties[name]
		switch {
		case ok:
			lost = append(lost, lostFields(path+"."+name, &field, &own)...)
		case ours.AdditionalProperties == nil:
			lost = append(lost, path+"."+name)
		}
	}
	slices.Sort(lost)
	if theirs.Items != nil && ours.Items != nil {
		lost = append(lost, lostFields(path+"[]", theirs.Items.Schema, ours.Items.Schema)...)
	}
	if theirs.AdditionalProperties != nil && ours.AdditionalProperties != nil {
		lost = append(lost, lostFields(path+".*", theirs.AdditionalProperties.Schema, ours.AdditionalProperties.Schema)...)
	}
	return lost
}

// releaseWarning warns of a Helm release that has the CRD among its templates: Helm deletes the CRD
// with the release, and the API server then deletes every object of the kind.
func releaseWarning(crd *apiextensionsv1.CustomResourceDefinition) string {
	name, namespace := crd.Annotations["meta.helm.sh/release-name"], crd.Annotations["meta.helm.sh/release-namespace"]
	if name == "" || crd.Annotations["helm.sh/resource-policy"] == "keep" {
		return ""
	}
	return fmt.Sprintf("the Helm release %s/%s owns this kind: `helm uninstall` would delete all its objects. Forget the release instead:\n"+
		"    kubectl -n %s delete secret -l owner=helm,name=%s", namespace, name, namespace, name)
}

// RefusedError says which kinds must not be replaced.
type RefusedError struct{ Steps []Step }

// shownFields limits the fields in a message.
const shownFields = 5

func (e *RefusedError) Error() string {
	var text strings.Builder
	for _, s := range e.Steps {
		shown, more := s.Lost, ""
		if len(shown) > shownFields {
			shown, more = shown[:shownFields], fmt.Sprintf(" and %d more", len(s.Lost)-shownFields)
		}
		fmt.Fprintf(&text, "the installed CRD %s cannot be replaced: %s. Yuba's lacks %s%s.\n", s.Name, s.Reason, strings.Join(shown, ", "), more)
	}
	return text.String() + "Nothing was changed. Use a Yuba that has these fields. If no object needs them, drop them from all objects:\n" +
		"    yuba crds install --drop-fields"
}

// Refused returns a [RefusedError] with the refused steps; nil if there are none.
func Refused(steps []Step) error {
	if refused := slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.Verb != Refuse }); len(refused) > 0 {
		return &RefusedError{refused}
	}
	return nil
}

// Plan decides what to do with each kind in the *.yaml files of kinds. It changes nothing.
func Plan(ctx context.Context, config *rest.Config, kinds fs.FS, rights Rights) ([]Step, error) {
	steps, _, err := plan(ctx, config, kinds, rights)
	return steps, err
}

func plan(ctx context.Context, config *rest.Config, kinds fs.FS, rights Rights) (steps []Step, documents [][]byte, err error) {
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("make a client for kinds: %w", err)
	}
	if documents, err = readAll(kinds); err != nil {
		return nil, nil, err
	}
	for _, document := range documents {
		f := facts{digest: digestOf(document), rights: rights}
		if err := yaml.Unmarshal(document, &f.ours); err != nil {
			return nil, nil, fmt.Errorf("read a kind to install: %w", err)
		}
		f.installed, err = client.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, f.ours.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			f.installed = nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("read the installed kind %s: %w", f.ours.Name, err)
		}
		steps = append(steps, decide(f))
	}
	return steps, documents, nil
}

// Takeover installs kinds in an API that others also use. It replaces the definitions that a
// tofu-controller installed, and keeps their objects. If it must refuse one, it changes nothing and
// returns a [RefusedError].
func Takeover(ctx context.Context, config *rest.Config, kinds fs.FS, rights Rights) ([]Step, error) {
	steps, documents, err := plan(ctx, config, kinds, rights)
	if err != nil {
		return nil, err
	}
	if err := Refused(steps); err != nil {
		return steps, err
	}
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for kinds: %w", err)
	}
	var changed [][]byte
	for i, s := range steps {
		if s.Verb != Keep {
			changed = append(changed, documents[i])
		}
	}
	return steps, each(changed, func(document []byte) error {
		name, err := applyKind(ctx, client, document, digestOf(document))
		if err != nil {
			return err
		}
		return waitServed(ctx, client, name)
	})
}

func digestOf(document []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(document)) }
